"""Runs the extraction of facts with a scripted model."""

from __future__ import annotations

from collections import deque
from datetime import date

from chat.llm.scripted import ScriptedProvider
from chat.memory.candidates import Extraction
from chat.memory.extract import extract_facts

TODAY = date(2026, 3, 14)


def extract_with_answers(
    said: str, *answers: str | Exception, question: str = ""
) -> tuple[Extraction, ScriptedProvider]:
    """Extract facts from a message; the model gives these answers in order. Returns the provider as well."""
    provider = ScriptedProvider(completions=deque(answers))
    return extract_facts(provider, said, question=question, today=TODAY), provider
