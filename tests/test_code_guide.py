"""chat/README.md names only modules and functions that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
GUIDE = ROOT / "chat" / "README.md"
CITED = re.compile(r"`([a-z_]+(?:/[a-z_]+)*\.py)(?::(\w+))?`")


def find_references() -> list[tuple[str, str]]:
    return sorted(set(CITED.findall(GUIDE.read_text())))


def find_module(name: str) -> Path | None:
    return next((path for path in (GUIDE.parent / name, ROOT / name) if path.is_file()), None)


def test_the_guide_has_references():
    assert len(find_references()) > 20


@pytest.mark.parametrize(("name", "function"), find_references())
def test_referenced_modules_and_functions_exist(name, function):
    path = find_module(name)
    assert path is not None
    assert not function or re.search(rf"^(?:async )?(?:def|class) {function}\b", path.read_text(), re.M)
