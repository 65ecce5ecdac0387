"""Python, the compiled engine, the processor, memory and disk."""

import os
import sqlite3
import sys
from pathlib import Path

import psutil
from django.conf import settings

from chat.actions.proving import run_probe
from chat.llm import weights
from memoryapp.env import cache_dir, data_path, model_dir
from memoryapp.machine import GIB, total_memory

from .engine import engine_runs
from .finding import Finding, broken, note, ok

LOW_DISK_BYTES = 1_000_000_000
# What the engine is compiled for where the processor has it (design §4), and what it must never use.
SPEEDS = ("avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx512vbmi", "avx512_bf16", "asimddp", "i8mm")
NEVER = "amx_tile"


def python() -> Finding:
    """The interpreter, which must be .venv's."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    if Path(sys.prefix) != settings.BASE_DIR / ".venv":
        return note("Python", f"{version} in {sys.prefix}, not in .venv. Run python3 manage.py start once.")
    return ok("Python", f"{version}, SQLite {sqlite3.sqlite_version}")


def build() -> Finding:
    """The compiled engine."""
    found, sentence = run_probe()
    if sentence:
        return broken("build", f"{sentence} Run python3 manage.py start, which compiles it.")
    return ok(
        "build", f"llama-cpp-python {found['version']}, llama.cpp {found['llama_cpp']}: {found['system']}"
    )


def processor(flags: frozenset[str]) -> Finding:
    """What the processor lists of what the engine can use."""
    if not flags:
        return ok("processor", "this system does not list its abilities; the engine uses the common ones")
    useful = [flag for flag in SPEEDS if flag in flags]
    left_out = "; AMX is left out on purpose" if NEVER in flags else ""
    if "sse2" in flags and "avx2" not in flags:
        return note(
            "processor", f"no AVX2, so replies are slow ({' '.join(useful) or 'nothing else'}){left_out}"
        )
    return ok("processor", f"{' '.join(useful) or 'none of the fast instructions'}{left_out}")


def memory() -> Finding:
    """RAM against what the chosen model needs."""
    there, free = total_memory(), psutil.virtual_memory().available
    try:
        entry = weights.choose_model(os.environ)
        weights.require_memory(entry, there)
    except weights.WeightsError as error:
        return broken("memory", str(error))
    text = f"{there / GIB:.1f} GB, {free / GIB:.1f} GB free; {entry.name} needs about {entry.ram_gb} GB"
    if free < entry.ram_gb * GIB and not engine_runs():
        return note("memory", f"{text}. Close other programs.")
    return ok("memory", text)


def disk() -> Finding:
    """Room where data and weights lie."""
    low = []
    parts = []
    for name, folder in (("data", data_path()), ("weights", model_dir()), ("cache", cache_dir())):
        free = psutil.disk_usage(str(_nearest(folder))).free
        parts.append(f"{name} {free / 1e9:.1f} GB free")
        low += [str(folder)] if free < LOW_DISK_BYTES else []
    text = ", ".join(parts)
    return note("disk", f"{text}. Make room on the disk of {', '.join(low)}.") if low else ok("disk", text)


def _nearest(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder
