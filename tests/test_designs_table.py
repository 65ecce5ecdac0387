""".github/docs/designs.md has a row for each requirement, and names only files and functions that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from memoryapp.base.env import ROOT

DOCUMENT = ROOT / ".github" / "docs" / "designs.md"
VERDICTS = {"works", "differs on purpose", "partly", "missing"}
_DESIGN = re.compile(r"^\| Design (\d): .* \| (\d+) \|$", re.MULTILINE)
_ROW = re.compile(r"^\| \d+\.\d+ \|.*$", re.MULTILINE)
_REFERENCE = re.compile(r"`([^`]+)`")
_REFERENCES = re.compile(r"`[^`]+`(?:, `[^`]+`)*")


class Requirement(NamedTuple):
    """One row of a table."""

    number: str
    section: str
    text: str
    verdict: str
    where: str
    test: str
    note: str


def read_requirements() -> list[Requirement]:
    rows = [line.removeprefix("|").removesuffix("|") for line in _ROW.findall(DOCUMENT.read_text())]
    return [Requirement(*(cell.strip() for cell in row.split("|"))) for row in rows]


@cache
def find_names(path: Path) -> set[str]:
    """Return the functions, classes and variables of a module, and `Class.member` for members of classes."""

    def names_in(body: list[ast.stmt], prefix: str = "") -> set[str]:
        found = set()
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(prefix + node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {prefix + target.id for target in targets if isinstance(target, ast.Name)}
            if isinstance(node, ast.ClassDef):
                found |= names_in(node.body, f"{prefix}{node.name}.")
        return found

    return names_in(ast.parse(path.read_text()).body)


def find_fault(reference: str) -> str:
    """Return what is wrong with a reference such as `chat/text.py:clean_for_storage`, "" if it is correct."""
    name, _, member = reference.partition(":")
    path = ROOT / name
    if not path.is_file():
        return f"{name} does not exist"
    return f"{name} has no {member}" if member and member not in find_names(path) else ""


def find_faults(requirement: Requirement) -> list[str]:
    """Return what is wrong with a row, each fault with the row's number."""
    faults = []
    if requirement.verdict not in VERDICTS:
        faults.append(f"{requirement.verdict!r} is no verdict")
    if not (requirement.section and requirement.text):
        faults.append("the section or the requirement is empty")
    if requirement.verdict == "works" and requirement.where == "none":
        faults.append("it works nowhere")
    if requirement.verdict != "works" and not requirement.note:
        faults.append("the note with the reason is empty")
    for cell in (requirement.where, requirement.test):
        if cell != "none" and not _REFERENCES.fullmatch(cell):
            faults.append(f"{cell!r} is no list of references")
        faults += filter(None, map(find_fault, _REFERENCE.findall(cell)))
    faults += [
        f"{name} is no test" for name in _REFERENCE.findall(requirement.test) if not name.startswith("tests/")
    ]
    return [f"{requirement.number}: {fault}" for fault in faults]


def test_each_design_has_as_many_rows_as_stated():
    stated = {design: int(count) for design, count in _DESIGN.findall(DOCUMENT.read_text())}
    assert [r.number for r in read_requirements()] == [
        f"{design}.{n}" for design, count in stated.items() for n in range(1, count + 1)
    ]
    assert len(stated) == 5
    assert sum(stated.values()) == 230


def test_each_row_has_a_verdict_and_names_existing_files_and_functions():
    assert [fault for requirement in read_requirements() for fault in find_faults(requirement)] == []


@pytest.mark.parametrize(
    ("reference", "fault"),
    [
        ("chat/text.py", ""),
        ("chat/text.py:clean_for_storage", ""),
        ("chat/api/manager.py:MemoryManager.load_session", ""),
        ("chat/api/manager.py:load_session", "chat/api/manager.py has no load_session"),
        ("chat/texts.py", "chat/texts.py does not exist"),
    ],
)
def test_a_wrong_reference_is_found(reference: str, fault: str):
    assert find_fault(reference) == fault


def test_a_wrong_row_is_found():
    wrong = Requirement("9.1", "Schema", "Facts are blue.", "planned", "none", "`chat/text.py`", "")
    assert find_faults(wrong) == [
        "9.1: 'planned' is no verdict",
        "9.1: the note with the reason is empty",
        "9.1: chat/text.py is no test",
    ]
