"""The table of the rounds: lines of JSON in a file, to which a later run adds, and their summary."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Round:
    """One round: how it ended, what was acknowledged in it, and what is wrong after it."""

    database: str
    seed: int
    number: int
    way: str
    acts: dict[str, int]
    faults: list[str]
    seconds: float

    def describe(self) -> str:
        """Return the round as a line for a reader."""
        done = ", ".join(f"{name} {count}" for name, count in sorted(self.acts.items()))
        wrong = "; ".join(self.faults) or "nothing wrong"
        return f"{self.number:4} {self.way:36} {sum(self.acts.values()):4} acts: {wrong} ({done})"


class Table:
    """The rounds so far; without a file they are not kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self.rounds = [Round(**json.loads(line)) for line in lines]

    def add(self, one: Round) -> None:
        """Add a round."""
        self.rounds.append(one)
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps(asdict(one)) + "\n")

    def next_number(self, database: str, seed: int) -> int:
        """Return the number of the first round that has not been run with this database and seed."""
        numbers = [one.number for one in self.rounds if (one.database, one.seed) == (database, seed)]
        return max(numbers, default=-1) + 1

    def summarise(self) -> str:
        """Return the number of rounds, acts and faults of each way."""
        ways, acts, faults = Counter[str](), Counter[str](), Counter[str]()
        for one in self.rounds:
            key = f"{one.database:8} {one.way}"
            ways[key] += 1
            acts[key] += sum(one.acts.values())
            faults[key] += len(one.faults)
        rows = [f"{key:48} {ways[key]:6} {acts[key]:6} {faults[key]:6}" for key in sorted(ways)]
        total = f"{'all':48} {ways.total():6} {acts.total():6} {faults.total():6}"
        return "\n".join([f"{'way':48} {'rounds':>6} {'acts':>6} {'faults':>6}", *rows, total])
