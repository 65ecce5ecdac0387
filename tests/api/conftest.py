"""The Python API with the local owner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chat.actions.owners import default_app
from chat.api import MemoryManager
from chat.models import Conversation
from chat.models import Message as Row

LONG = 1000  # messages of `long_session`
EACH = 10  # tokens of one of them: 40 characters


@pytest.fixture
def manager(owner: Any) -> MemoryManager:
    """A MemoryManager, with the local owner in the database."""
    return MemoryManager()


@pytest.fixture
def make_session(owner: Any) -> Callable[..., Conversation]:
    """Return a function that stores a session of rows of (role, content), with any further fields."""

    def make(*said: tuple[str, str] | dict[str, Any], **fields: Any) -> Conversation:
        made = Conversation.objects.create(owner=owner, app=default_app(owner), **fields)
        given = [one if isinstance(one, dict) else {"role": one[0], "content": one[1]} for one in said]
        Row.objects.bulk_create(
            Row(conversation=made, seq=seq, **one) for seq, one in enumerate(given, start=1)
        )
        return made

    return make


@pytest.fixture
def long_session(make_session: Callable[..., Conversation]) -> Conversation:
    """A session of a thousand messages of ten tokens each, whose strategy is `simple`."""
    said = ((("user", "assistant")[n % 2], f"{n:05}".ljust(4 * EACH, ".")) for n in range(LONG))
    return make_session(*said, strategy="simple")


@pytest.fixture
def rows_read(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    """Collect the message rows that the code under test loads from the database."""
    loaded: list[Row] = []
    original = Row.from_db.__func__  # type: ignore[attr-defined]

    def from_db(cls: type[Row], db: Any, names: Any, values: Any) -> Row:
        row: Row = original(cls, db, names, values)
        loaded.append(row)
        return row

    monkeypatch.setattr(Row, "from_db", classmethod(from_db))
    return loaded
