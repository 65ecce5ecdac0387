"""README and the documents in .github agree with the code: named files exist, all settings are listed."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryapp.base.env import ROOT
from memoryapp.bootstrap.cli import COMMANDS

GUIDES = ROOT / ".github" / "docs"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / ".github").glob("*.md")), *sorted(GUIDES.glob("*.md"))]
_LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")
_READ_FROM_ENVIRONMENT = re.compile(r'(?:\benv\w+|environ\.get|\benv\.get)\(\s*"([A-Z][A-Z_]+)"')
_PATH = re.compile(r"(?<![\w/.$-])((?:tests|chat|memoryapp|static|\.ci)/[\w./-]*\w)")
# Read from the environment, but not meant to be set for memoryapp.
_NOT_SETTINGS = {"DISPLAY", "WAYLAND_DISPLAY", "TERM", "LOCALAPPDATA", "PATH"}


def _prose(text: str) -> str:
    """Return a document without its code blocks."""
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def _anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings, made as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _prose(path.read_text()), re.MULTILINE)
    kept = string.ascii_lowercase + string.digits + "-_"
    return {"".join(c for c in h.lower().replace(" ", "-") if c in kept) for h in headings}


def _local_links(path: Path) -> Iterator[tuple[Path, str]]:
    for link in _LINK.findall(_prose(path.read_text())):
        if "://" not in link:
            name, _, anchor = link.partition("#")
            yield (path.parent / name).resolve() if name else path, anchor


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files_and_headings(document: Path):
    for target, anchor in _local_links(document):
        assert target.exists(), target
        assert not anchor or anchor in _anchors(target), f"{target.name}#{anchor}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_named_files_exist(document: Path):
    named = _PATH.findall(document.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_each_guide_is_linked_from_the_readme():
    linked = {target for target, _ in _local_links(ROOT / "README.md")}
    assert [guide.name for guide in GUIDES.glob("*.md") if guide not in linked] == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().split()) <= 1200


def test_each_environment_variable_is_in_the_list_of_settings():
    sources = [ROOT / "manage.py", *(ROOT / "memoryapp").rglob("*.py"), *(ROOT / "chat").rglob("*.py")]
    read = {name for source in sources for name in _READ_FROM_ENVIRONMENT.findall(source.read_text())}
    assert len(read) > 25
    listed = set(re.findall(r"`([A-Z][A-Z_]+)`", (GUIDES / "settings.md").read_text()))
    assert read - _NOT_SETTINGS - listed == set()


def test_each_command_is_in_the_list_of_commands():
    listed = set(re.findall(r"`(\w+)`", (GUIDES / "commands.md").read_text()))
    assert {name for name, _does in COMMANDS} - listed == set()
