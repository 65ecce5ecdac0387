"""Rounds of `python -m tests.crash`: nothing is lost, doubled, stuck or back after a kill at any moment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.crash.__main__ import run
from tests.crash.table import Round, Table

pytestmark = pytest.mark.slow

ROUNDS, SEED = 6, 11


def test_rounds_with_a_kill_leave_everything_as_it_was_acknowledged(tmp_path):
    table = Table(tmp_path / "rounds.jsonl")
    lines: list[str] = []
    assert run(ROUNDS, SEED, table=table, report=lines.append, share_of_work=0.25) == []
    assert [one.number for one in table.rounds] == [*range(ROUNDS), ROUNDS - 1]
    assert sum(sum(one.acts.values()) for one in table.rounds) >= ROUNDS
    assert len(lines) == ROUNDS + 1


def test_a_table_goes_on_after_its_last_round(tmp_path: Path):
    path = tmp_path / "rounds.jsonl"
    table = Table(path)
    table.add(Round("sqlite", 1, 0, "kill", {"say": 2}, [], 4.0))
    table.add(Round("sqlite", 1, 1, "stop, kill", {"say": 3}, ["lost message"], 5.0))
    again = Table(path)
    assert again.rounds == table.rounds
    assert (again.next_number("sqlite", 1), again.next_number("sqlite", 2)) == (2, 0)
    assert again.summarise().splitlines()[-1].split() == ["all", "2", "5", "1"]
    assert json.loads(path.read_text().splitlines()[0])["way"] == "kill"
