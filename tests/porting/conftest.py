"""Fixtures that write export files, import them, and export an owner's data."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from chat.actions import deletions, importing
from chat.actions.export import export_json
from chat.actions.importing import ImportOptions, ImportReport
from chat.actions.messages import finish_reply
from chat.errors import BadFile

SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture
def file(tmp_path: Path) -> Callable[[Any], Path]:
    """Return a function that writes a file: bytes unchanged, anything else as JSON."""

    def write(content: Any) -> Path:
        path = tmp_path / "file.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write


@pytest.fixture
def import_document(owner: Any, file: Callable[[Any], Path]) -> Callable[..., ImportReport]:
    """Return a function that imports a document, after checking that its dry run gives the same report."""

    def import_checked(content: Any, who: Any = None, **options: Any) -> ImportReport:
        path = content if isinstance(content, Path) else file(content)
        expected = importing.dry_run(who or owner, path, ImportOptions(**options))
        done = importing.import_file(who or owner, path, ImportOptions(**options))
        assert expected == done
        return done

    return import_checked


def document(owner: Any) -> bytes:
    """Return the export of an owner as JSON bytes."""
    return b"".join(export_json(owner))


def as_json(owner: Any) -> dict[str, Any]:
    """Return the export of an owner as a parsed dict."""
    return dict(json.loads(document(owner)))


def wipe(owner: Any) -> None:
    """Delete all data of an owner; the undo window has passed."""
    deletion = deletions.erase_account(owner)
    deletions.finish_deletion(deletion.pk, timezone.now() + timedelta(minutes=1))


@pytest.fixture
def add_exchange(talk: Any) -> Callable[..., Any]:
    """Return a function that adds a message with a complete reply and returns the conversation."""

    def send_and_reply(text: str, conversation: Any = None) -> Any:
        asked, reply = talk(text, conversation)
        finish_reply(reply, f"Reply to {text}", "complete")
        return asked.conversation

    return send_and_reply


def find_fault(work: Any, owner: Any, path: Any) -> str:
    """Return the first fault of a file with its place: one that refuses the file, or leaves out an item."""
    try:
        report = work(owner, path)
    except BadFile as fault:
        return str(fault)
    return f"{report.refusals[0].what}: {report.refusals[0].why}"
