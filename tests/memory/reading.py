"""Reads a message with a model that answers as a test wants."""

from __future__ import annotations

from collections import deque
from datetime import date

from chat.llm.scripted import ScriptedProvider
from chat.memory.extract import Extraction, extract

TODAY = date(2026, 3, 14)


def look(said: str, *answers: str | Exception, question: str = "") -> tuple[Extraction, ScriptedProvider]:
    """Return what was found in a message, and the provider that was asked."""
    provider = ScriptedProvider(completions=deque(answers))
    return extract(provider, said, question=question, today=TODAY), provider
