"""`python -m tests.crash --rounds N --seed S`: rounds of random work and trouble, and a table of the faults.

In every round two users work at the same time while the server is killed at a random moment or at a labelled
step, stopped, or left without room on its disk, with a wrong clock or without its database. After each
restart what was not acknowledged is sent again, and the database is compared with what was acknowledged.

Ten rounds are a series with a data folder of its own; at its end all deadlines pass and nothing may be left.
With `--table FILE` the rounds are added to a file, and a later run goes on after the last one there.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from .endings import choose_ending
from .harness import Harness
from .scripted_model import run_scripted_model
from .table import Round, Table

_SERIES = 10
_SEEDS_APART = 100_003


def run(
    rounds: int,
    seed: int,
    *,
    database: str = "sqlite",
    table: Table | None = None,
    report: Callable[[str], object] = print,
    keep: Path | None = None,
    share_of_work: float = 1.0,
) -> list[str]:
    """Run so many rounds and report a line for each; return all faults.

    `keep` is a folder that gets the data of series with a fault. With a smaller `share_of_work` the users do
    less before the trouble.
    """
    table = table or Table(None)
    first = table.next_number(database, seed)
    faults: list[str] = []
    with run_scripted_model() as model:
        for start in range(first, first + rounds, _SERIES):
            numbers = range(start, min(start + _SERIES, first + rounds))
            with tempfile.TemporaryDirectory(prefix="memoryapp-crash-") as name:
                folder = Path(name) / "disk"
                series_seed = seed * _SEEDS_APART + start
                harness = Harness(folder, series_seed, model.url, database, share_of_work=share_of_work)
                try:
                    series = _Series(harness, table, database, seed, report)
                    found = series.run(numbers)
                    if found and keep is not None:
                        shutil.copytree(folder, keep / f"{database}-{seed}-{start}", dirs_exist_ok=True)
                    faults += found
                finally:
                    harness.close()
    return faults


class _Series:
    """Rounds in one data folder."""

    def __init__(
        self, harness: Harness, table: Table, database: str, seed: int, report: Callable[[str], object]
    ) -> None:
        self._harness, self._table, self._report = harness, table, report
        self._database, self._seed = database, seed
        self._done: Counter[str] = Counter()
        self._began = time.monotonic()

    def run(self, numbers: range) -> list[str]:
        """Run these rounds and let all deadlines pass; return the faults. Trouble ends the series."""
        faults: list[str] = []
        number, way = numbers[0], "first start"
        try:
            self._harness.start(step=choose_ending(number, self._database)[1])
            for number in numbers:
                ending, _ = choose_ending(number, self._database)
                way = getattr(ending, "__name__", "")
                way = ending(self._harness, choose_ending(number + 1, self._database)[1])
                self._harness.settle()
                found = self._harness.check()
                faults += found
                self._add(number, way, found)
            way = "end of a series"
            found = self._harness.finish()
        except RuntimeError as trouble:
            found = [str(trouble)]
        self._add(number, way, found)
        return faults + found

    def _add(self, number: int, way: str, faults: list[str]) -> None:
        now, done = time.monotonic(), self._harness.count_done()
        acts, seconds = dict(done - self._done), round(now - self._began, 1)
        self._done, self._began = done, now
        one = Round(self._database, self._seed, number, way, acts, faults, seconds)
        self._table.add(one)
        self._report(one.describe())


def main() -> int:
    """Run the rounds that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--table", type=Path, help="the file to which the rounds are added")
    parser.add_argument("--keep", type=Path, help="a folder for the data of series with a fault")
    chosen = parser.parse_args()
    # Otherwise the disk would stay mounted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    table = Table(chosen.table)
    faults = run(
        chosen.rounds, chosen.seed, database=chosen.database, table=table, report=_print, keep=chosen.keep
    )
    print(table.summarise())
    return 1 if faults else 0


def _print(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
