"""What tests of exports and imports share: files of a document, and an import of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from chat.actions import deletions, importing
from chat.actions.export import export
from chat.actions.importing import Options, Outcome
from chat.actions.messages import finish_reply

SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture
def file(tmp_path: Path) -> Callable[[Any], Path]:
    """Returns a writer of files: bytes as they are, anything else as JSON."""

    def write(content: Any) -> Path:
        path = tmp_path / "file.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write


@pytest.fixture
def taken(owner: Any, file: Callable[[Any], Path]) -> Callable[..., Outcome]:
    """Returns an importer of a document into the owner's memory; a dry run before it must say the same."""

    def take(content: Any, who: Any = None, **options: Any) -> Outcome:
        path = content if isinstance(content, Path) else file(content)
        said = importing.dry_run(who or owner, path, Options(**options))
        done = importing.carry_out(who or owner, path, Options(**options))
        assert said == done
        return done

    return take


def document(owner: Any) -> bytes:
    """Return an owner's export."""
    return b"".join(export(owner))


def as_json(owner: Any) -> dict[str, Any]:
    """Return an owner's export, read."""
    return dict(json.loads(document(owner)))


def wipe(owner: Any) -> None:
    """Delete all that is kept of an owner, for good."""
    deletion = deletions.erase_all(owner)
    deletions.finish(deletion.pk, timezone.now() + timedelta(minutes=1))


@pytest.fixture
def spoken(talk: Any) -> Callable[..., Any]:
    """Returns a sayer of one exchange."""

    def say(text: str, conversation: Any = None) -> Any:
        asked, reply = talk(text, conversation)
        finish_reply(reply, f"Reply to {text}", "complete")
        return asked.conversation

    return say
