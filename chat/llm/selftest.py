"""Tests llama.cpp in a process of its own: a build with wrong instructions kills that process, not the
server.

`python -m chat.llm.selftest MODEL_PATH` prints one line of JSON: ok, tokens_per_second, load_seconds, text.
Without a path it prints how llama.cpp was built: version, llama_cpp, system.
"""

import argparse
import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PROMPT = "The capital of France is"
TOKENS = 8
_WINDOW = 256


def generate_sample(path: Path) -> dict[str, object]:
    """Load the model with a tiny context and generate a few tokens; raises ValueError when that fails."""
    from llama_cpp import Llama

    began = time.monotonic()
    threads = max(
        1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    model = Llama(str(path), n_ctx=_WINDOW, n_batch=32, n_threads=threads, verbose=False)
    loaded = time.monotonic()
    pieces: list[int] = []
    first = 0.0
    for token in model.generate(model.tokenize(PROMPT.encode()), temp=0.0):
        first = first or time.monotonic()
        pieces.append(token)
        if len(pieces) > TOKENS:
            break
    seconds = time.monotonic() - first
    text = model.detokenize(pieces).decode(errors="replace")
    model.close()
    return {
        "ok": bool(text.strip()),
        "tokens_per_second": round((len(pieces) - 1) / seconds, 1) if seconds else 0.0,
        "load_seconds": round(loaded - began, 2),
        "text": text,
    }


def parse_cpu_features(info: str) -> str:
    """Return the processor features in llama.cpp's description of its build, as "AVX2 FMA REPACK"."""
    return " ".join(re.findall(r"(\w+) = 1\b", info))


def describe_build() -> dict[str, object]:
    """Return the versions of the binding and of llama.cpp, and the processor features compiled in."""
    import llama_cpp

    return {
        "ok": True,
        "version": llama_cpp.__version__,
        "llama_cpp": str(llama_cpp.llama_version().decode()),
        "system": parse_cpu_features(llama_cpp.llama_print_system_info().decode()),
    }


@contextlib.contextmanager
def _errors_on_stderr() -> Iterator[None]:
    """Redirect the library's output to standard error, so that standard output holds the one line of JSON
    only.
    """
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


def main() -> int:
    """Run the program; returns 0 when the model generated text."""
    parser = argparse.ArgumentParser(prog="python -m chat.llm.selftest", description=__doc__)
    parser.add_argument("model", type=Path, nargs="?")
    path = parser.parse_args().model
    try:
        with _errors_on_stderr():
            result = generate_sample(path) if path else describe_build()
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print(json.dumps(result))
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
