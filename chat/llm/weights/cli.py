"""The command `weights list|fetch|verify|path`, used by `manage.py` and, without Django, by the bootstrap."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from .entries import (
    Entry,
    catalog,
    choose_model,
    embedder,
    entry_named,
    is_present,
    path_of,
    require,
    require_memory,
)
from .errors import WeightsError
from .progress import ProgressBar, format_megabytes

DEFAULT_NAMES = ("chat", "embedder")
MISSING = 3  # exit code of `path` when a file is missing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to a parser."""
    parser.add_argument("action", choices=("list", "fetch", "verify", "path"))
    parser.add_argument(
        "names",
        nargs="*",
        help="models of the catalogue, `chat` for the chosen one, or `embedder`; without any: those two",
    )


def run(action: str, names: Sequence[str]) -> int:
    """Run one action and return the exit code; errors are printed on standard error."""
    try:
        if action == "list":
            print(format_table())
            return 0
        chosen = [resolve_name(name) for name in names or DEFAULT_NAMES]
        if action == "path":
            return _paths(chosen)
        for entry in chosen:
            _fetch(entry) if action == "fetch" else _verify(entry)
    except WeightsError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. What has arrived is kept; run the same command again to go on.", file=sys.stderr)
        return 130
    return 0


def resolve_name(name: str) -> Entry:
    """Return the model of that name; `chat` is the chosen one. Raises UnknownModel and NotEnoughMemory."""
    if name == "embedder":
        return embedder()
    if name != "chat":
        return entry_named(name)
    chosen = choose_model(os.environ)
    require_memory(chosen)
    return chosen


def _paths(chosen: Sequence[Entry]) -> int:
    code = 0
    for entry in chosen:
        # A package is installed with the program: there is nothing to fetch.
        there = bool(entry.module) or is_present(entry)
        print(path_of(entry) if there else "")
        code = code if there else MISSING
    return code


def format_table() -> str:
    """Return the catalogue as text: name, size, memory, licence, presence and title.

    Models in use have a star.
    """
    chosen, comparing = _try(lambda: choose_model(os.environ)), _try(embedder)
    rows = []
    for entry in catalog().values():
        mark = "*" if entry in (chosen, comparing) else " "
        here = "here" if is_present(entry) else "not fetched"
        size = "installed" if entry.module else f"{format_megabytes(entry.bytes)} MB"
        rows.append(
            f"{mark} {entry.name:<20} {size:>9}  {entry.ram_gb:>4} GB RAM  {entry.licence:<11} {here:<12} "
            f"{entry.title}"
        )
    if chosen is not None and chosen.own_path is not None:
        here = "here" if is_present(chosen) else "missing"
        rows.append(f"* {chosen.name:<20} MODEL_PATH={chosen.own_path} ({here})")
    return "\n".join(rows) + (
        "\n* in use. Choose another with MODEL=<name> or MODEL_PATH=<file.gguf>, "
        "and what compares sentences with EMBEDDER=<name>."
    )


def _try(choose: Callable[[], Entry]) -> Entry | None:
    """Return what a choice names, None where it names no model."""
    try:
        return choose()
    except WeightsError:
        return None


def _fetch(entry: Entry) -> None:
    from .fetching import discard_wrong, fetch

    if entry.own_path is not None or entry.module:
        require(entry)
    if is_present(entry):
        return
    for path in discard_wrong(entry):
        print(f"{path.name} was damaged and is fetched again.")
    print(f"Fetching {entry.title} ({format_megabytes(entry.bytes)} MB, {entry.licence})", flush=True)
    fetch(entry, ProgressBar(), on_wait=lambda: print("Another program is fetching it; waiting.", flush=True))


def _verify(entry: Entry) -> None:
    from .fetching import verify

    verify(entry, ProgressBar())
    print(f"{entry.name}: ok ({path_of(entry).parent})")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="weights", description=__doc__)
    add_arguments(parser)
    options = parser.parse_args(arguments)
    return run(options.action, options.names)
