"""A provider that cannot be bound and did not keep to the form: a failure, and no more tries."""

from __future__ import annotations

from collections import deque
from datetime import date

import pytest

from chat.context import title
from chat.llm.scripted import ScriptedProvider
from chat.llm.types import FormNotKept, Usage
from chat.memory.extract import extract
from chat.memory.reader import UNREADABLE
from chat.models import Message, Role


@pytest.fixture
def formless():
    """A model that never keeps to a form."""
    failure = FormNotKept(Usage(prompt_tokens=10))
    return ScriptedProvider(default_completion=failure, titles=deque([failure]))


def test_a_message_that_was_not_read_says_so_and_gives_nothing(formless):
    found = extract(formless, "I live in Oslo.", today=date(2026, 3, 1))
    assert found.error == UNREADABLE
    assert found.candidates == []
    assert len(formless.calls) == 1


def test_no_title_is_made_up(formless):
    messages = [Message(role=Role.USER, content="How do I get wine out of a carpet?")]
    with pytest.raises(title.TitleFailed):
        title.find_title(formless, messages)
