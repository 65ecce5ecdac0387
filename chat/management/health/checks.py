"""The checks of `manage.py doctor` on the machine, the database and the model; each returns one finding."""

import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from chat.actions.model_servers import make_provider
from chat.actions.own_model import run_engine_probe
from chat.actions.provider import is_choice_shared
from chat.errors import BadAddress, ProviderError, ServerAway
from chat.llm import weights
from chat.llm.remote.address import parse_addresses
from chat.llm.remote.errors import without_message
from chat.llm.remote.protocol import Capabilities, ConstraintSupport
from memoryapp.base.env import (
    cache_dir,
    data_path,
    engine_lock_path,
    model_dir,
)
from memoryapp.base.locking import try_lock
from memoryapp.base.machine import GIB, total_memory
from memoryapp.base.provider import ServerChoice, choice_path

from .data_folder import check_key_file
from .findings import Finding, broken, note, ok


def check_model(*, deep: bool) -> Finding:
    """Check the weights of the chosen chat model."""
    try:
        entry = weights.choose_model(os.environ)
        path = weights.require(entry)
        if deep:
            weights.verify(entry)
    except weights.WeightsError as error:
        return broken("model", str(error))
    checked = "sha256 compared" if deep and entry.files else "size compared"
    return ok("model", f"{entry.name}, {path.stat().st_size / 1e6:,.0f} MB, {checked}: {path}")


def check_embedder(*, deep: bool) -> Finding:
    """Check the weights of the embedder; without them memory compares words only."""
    try:
        entry = weights.embedder()
        weights.require(entry)
        if deep:
            weights.verify(entry)
    except weights.WeightsMissing as error:
        return note("embedder", f"{error} Until then memory compares words.")
    except weights.WeightsError as error:
        return broken("embedder", str(error))
    path = weights.path_of(entry)
    return ok("embedder", f"{entry.name}: {path if entry.module else path.parent}")


def check_decode() -> Finding:
    """Decode once with the model in a separate process."""
    try:
        path = weights.model_path()
    except weights.WeightsError:
        return note("decode", "skipped: there is no model to try.")
    with try_lock(engine_lock_path()) as free:
        if not free:
            return ok("decode", "skipped: the engine is running already, and a machine has one.")
        found, sentence = run_engine_probe(path)
    if sentence:
        return broken("decode", sentence)
    return ok("decode", f"{found['tokens_per_second']} tokens a second, loaded in {found['load_seconds']} s")


_FORMS = {
    ConstraintSupport.NONE: "no form is kept to, so answers are checked",
    ConstraintSupport.SCHEMA: "lists of words are kept to",
    ConstraintSupport.PATTERN: "patterns are kept to",
    ConstraintSupport.GRAMMAR: "grammars are kept to",
}


def check_remote(choice: ServerChoice) -> Iterator[Finding]:
    """Connect to each of the chosen servers, and check the file with their key."""
    try:
        addresses = parse_addresses(choice.url)
    except BadAddress as problem:
        where = "PROVIDER_URL" if choice.fixed else "the address in the settings"
        yield broken("model", f"{problem} Correct {where}.")
        return
    provider = make_provider(choice, addresses)
    try:
        for server in provider.servers:
            try:
                yield _describe_server(server.address.host, server.connect())
            except ProviderError as problem:
                away = " Is the server running?" if isinstance(problem, ServerAway) else ""
                yield broken("model", f"{server.address.host}: {without_message(problem)}{away}")
    finally:
        provider.close()
    if not choice.fixed and not is_choice_shared():
        yield check_key_file(choice_path())


def _describe_server(host: str, found: Capabilities) -> Finding:
    counts = "it counts tokens" if found.counts_tokens else "four characters are taken for a token"
    text = f"{found.model} on {host}: {found.window:,} tokens, {_FORMS[found.constraint]}, {counts}"
    return ok("model", text) if found.offered else note("model", f"{text}. It does not say its window.")


def is_engine_running() -> bool:
    """Return whether a process holds the engine's lock of this data folder."""
    with try_lock(engine_lock_path()) as free:
        return not free


LOW_DISK_BYTES = 1_000_000_000
# Instructions that the engine is compiled for where the processor has them, and the one that it never uses:
# AMX crashes llama.cpp.
SPEEDS = ("avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx512vbmi", "avx512_bf16", "asimddp", "i8mm")
NEVER = "amx_tile"


def check_python() -> Finding:
    """Check that the interpreter is the one in .venv."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    if Path(sys.prefix) != settings.BASE_DIR / ".venv":
        return note("Python", f"{version} in {sys.prefix}, not in .venv. Run python3 manage.py start once.")
    return ok("Python", f"{version}, SQLite {sqlite3.sqlite_version}")


def check_build() -> Finding:
    """Check that the compiled engine can be imported."""
    found, sentence = run_engine_probe()
    if sentence:
        return broken("build", f"{sentence} Run python3 manage.py start, which compiles it.")
    return ok(
        "build", f"llama-cpp-python {found['version']}, llama.cpp {found['llama_cpp']}: {found['system']}"
    )


def check_processor(flags: frozenset[str]) -> Finding:
    """Report which fast instructions the processor has."""
    if not flags:
        return ok("processor", "this system does not list its abilities; the engine uses the common ones")
    useful = [flag for flag in SPEEDS if flag in flags]
    left_out = "; AMX is left out on purpose" if NEVER in flags else ""
    if "sse2" in flags and "avx2" not in flags:
        return note(
            "processor", f"no AVX2, so replies are slow ({' '.join(useful) or 'nothing else'}){left_out}"
        )
    return ok("processor", f"{' '.join(useful) or 'none of the fast instructions'}{left_out}")


def check_memory() -> Finding:
    """Compare the RAM with what the chosen model needs."""
    there, free = total_memory(), psutil.virtual_memory().available
    try:
        entry = weights.choose_model(os.environ)
        weights.require_memory(entry, there)
    except weights.WeightsError as error:
        return broken("memory", str(error))
    text = f"{there / GIB:.1f} GB, {free / GIB:.1f} GB free; {entry.name} needs about {entry.ram_gb} GB"
    if free < entry.ram_gb * GIB and not is_engine_running():
        return note("memory", f"{text}. Close other programs.")
    return ok("memory", text)


def check_disk() -> Finding:
    """Check the free space of the data, weights and cache folders."""
    low = []
    parts = []
    for name, folder in (("data", data_path()), ("weights", model_dir()), ("cache", cache_dir())):
        free = psutil.disk_usage(str(_existing_parent(folder))).free
        parts.append(f"{name} {free / 1e9:.1f} GB free")
        low += [str(folder)] if free < LOW_DISK_BYTES else []
    text = ", ".join(parts)
    return note("disk", f"{text}. Make room on the disk of {', '.join(low)}.") if low else ok("disk", text)


def _existing_parent(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder


SYNCHRONOUS = {0: "off", 1: "normal", 2: "full", 3: "extra"}


def check_database() -> Iterator[Finding]:
    """Check the database's settings, and that all migrations are applied."""
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite" and not Path(name).exists():
        yield broken("database", f"{name} is not there yet. Run python3 manage.py start.")
        return
    try:
        yield (
            _read_pragmas()
            if connection.vendor == "sqlite"
            else ok("database", f"{connection.display_name} {name}")
        )
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        yield broken("database", f"{name} cannot be read: {error}. Restore a backup, or move the file away.")
        return
    if pending:
        yield broken("migrations", f"{len(pending)} are waiting. Run python3 manage.py migrate.")
    else:
        yield ok("migrations", "all applied")


def _read_pragmas() -> Finding:
    with connection.cursor() as cursor:
        values = {}
        for pragma in ("journal_mode", "synchronous", "busy_timeout"):
            cursor.execute(f"PRAGMA {pragma}")
            values[pragma] = cursor.fetchone()[0]
    return judge_sqlite(values, str(getattr(connection, "transaction_mode", None)))


def judge_sqlite(values: dict[str, Any], transaction_mode: str) -> Finding:
    """Check SQLite's settings: WAL, synchronous=NORMAL, busy timeout, BEGIN IMMEDIATE."""
    synchronous = SYNCHRONOUS.get(values["synchronous"], str(values["synchronous"]))
    wrong = [
        text
        for good, text in (
            (values["journal_mode"] == "wal", "journal_mode must be wal"),
            (values["synchronous"] == 1, "synchronous must be normal"),
            (values["busy_timeout"] >= 5000, "busy_timeout must be 5 s or more"),
            (transaction_mode.upper() == "IMMEDIATE", "transaction_mode must be IMMEDIATE"),
        )
        if not good
    ]
    text = (
        f"SQLite, journal {values['journal_mode']}, synchronous {synchronous}, "
        f"busy_timeout {values['busy_timeout'] / 1000:.0f} s, transactions {transaction_mode}"
    )
    return (
        broken("database", f"{text}. {'; '.join(wrong)}: see DATABASES.") if wrong else ok("database", text)
    )
