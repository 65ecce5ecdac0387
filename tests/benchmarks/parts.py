"""What the server's anonymous memory is made of, each part measured by adding it to a fresh process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

KIB_PER_CELL = 28  # 16-bit keys and values of the default model (design §4)


def anonymous() -> int:
    """Return this process's anonymous memory in MiB."""
    found = re.search(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) // 1024 if found else 0


def measure() -> dict[str, int]:
    """Return the parts in MiB, from a process of its own."""
    out = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.parts"], capture_output=True, check=True, text=True
    )
    parts: dict[str, int] = json.loads(out.stdout.splitlines()[-1])
    return parts


def main() -> None:
    """Add one part after the other and print what each has added."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
    import django

    django.setup()
    import memoryapp.asgi  # noqa: F401 - what a serving process has loaded
    from chat.llm import weights
    from chat.llm.embedder import Embedder
    from chat.llm.engine import BACKGROUND_SEQUENCES
    from chat.llm.llama import BACKGROUND_CELLS, SEQUENCES, default_threads, default_window
    from chat.llm.native import BATCH, Native

    parts = {"Python": anonymous()}
    paths = {p.suffix: p for p in (weights.path_of(weights.embedder(), f) for f in weights.embedder().files)}
    Embedder(paths[".onnx"], paths[".json"]).embed(["warm"])
    parts["embedder"] = anonymous() - sum(parts.values())
    path, cells = weights.model_path(), 2 * default_window()
    tiny = Native(path, cells=256, sequences=1, threads=default_threads())
    tiny.decode([1], 0, 0)
    parts["repacked weights"] = anonymous() - sum(parts.values())
    tiny.close()
    before = anonymous()
    full = Native(path, cells=cells, sequences=SEQUENCES, threads=default_threads())
    full.decode([1] * BATCH, 0, 0)
    apart = full.sibling(BACKGROUND_CELLS, sequences=BACKGROUND_SEQUENCES)
    apart.decode([1] * BATCH, 0, 0)
    parts["cells"] = (cells + BACKGROUND_CELLS) * KIB_PER_CELL // 1024
    added = anonymous() - before
    parts["compute buffers"] = max(0, added - parts["cells"] - parts["repacked weights"])
    apart.close()
    full.close()
    print(json.dumps(parts))


if __name__ == "__main__":
    main()
