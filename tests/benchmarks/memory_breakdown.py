"""The parts of the server's anonymous memory, each measured by adding it to a new process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

KIB_PER_CELL = 28  # 16-bit keys and values of one token in the default model


def read_anonymous_mib() -> int:
    """Return this process's anonymous memory in MiB."""
    found = re.search(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) // 1024 if found else 0


def measure() -> dict[str, int]:
    """Measure the parts in a new process and return them in MiB."""
    out = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.memory_breakdown"],
        capture_output=True,
        check=True,
        text=True,
    )
    parts: dict[str, int] = json.loads(out.stdout.splitlines()[-1])
    return parts


def main() -> None:
    """Load one part after the other and print as JSON how many MiB each has added."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
    import django

    django.setup()
    import memoryapp.asgi  # noqa: F401 - what a serving process has loaded
    from chat.llm import weights
    from chat.llm.embedder import load_embedder
    from chat.llm.engine import BACKGROUND_SEQUENCES
    from chat.llm.llama import BACKGROUND_CELLS, SEQUENCES
    from chat.llm.machine_defaults import default_threads, default_window
    from chat.llm.native import BATCH, Native

    parts = {"Python": read_anonymous_mib()}
    if (embedder := load_embedder(weights.embedder())) is not None:
        embedder.embed(["warm"])
    parts["embedder"] = read_anonymous_mib() - sum(parts.values())
    path, cells = weights.model_path(), 2 * default_window()
    tiny = Native(path, cells=256, sequences=1, threads=default_threads())
    tiny.decode([1], 0, 0)
    parts["repacked weights"] = read_anonymous_mib() - sum(parts.values())
    tiny.close()
    before = read_anonymous_mib()
    full = Native(path, cells=cells, sequences=SEQUENCES, threads=default_threads())
    full.decode([1] * BATCH, 0, 0)
    apart = full.sibling(BACKGROUND_CELLS, sequences=BACKGROUND_SEQUENCES)
    apart.decode([1] * BATCH, 0, 0)
    parts["cells"] = (cells + BACKGROUND_CELLS) * KIB_PER_CELL // 1024
    added = read_anonymous_mib() - before
    parts["compute buffers"] = max(0, added - parts["cells"] - parts["repacked weights"])
    apart.close()
    full.close()
    print(json.dumps(parts))


if __name__ == "__main__":
    main()
