"""A provider without grammars whose answer is invalid: a failure without more retries."""

from __future__ import annotations

from collections import deque
from datetime import date

import pytest

from chat.context import title
from chat.errors import FormatNotKept, UnusableOutput
from chat.llm.scripted import ScriptedProvider
from chat.llm.types import Usage
from chat.memory.extract import extract_facts
from chat.memory.extractor import UNREADABLE
from chat.models import Message, Role


@pytest.fixture
def formless():
    """A model whose answers are never valid."""
    failure = FormatNotKept(Usage(prompt_tokens=10))
    return ScriptedProvider(default_completion=failure, titles=deque([failure]))


def test_an_extraction_without_a_valid_answer_has_an_error_and_no_candidates(formless):
    found = extract_facts(formless, "I live in Oslo.", today=date(2026, 3, 1))
    assert found.error == UNREADABLE
    assert found.candidates == []
    assert len(formless.calls) == 1


def test_no_title_is_made_without_a_valid_answer(formless):
    messages = [Message(role=Role.USER, content="How do I get wine out of a carpet?")]
    with pytest.raises(UnusableOutput):
        title.generate_title(formless, messages)
