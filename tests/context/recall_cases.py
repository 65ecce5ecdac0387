"""Runs labelled recall cases: each builds the prompt for some facts and one message and checks its facts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chat.actions.owners import default_app
from chat.context.prompt import Prompt, build_prompt
from chat.llm.embedder import Embedder
from chat.llm.types import Provider
from chat.memory.kind_rules import guess_kind
from chat.memory.kinds import KINDS
from chat.memory.subjects import extract_subject
from chat.models import Conversation, Fact, Message

FOLDER = Path(__file__).parents[1] / "memory" / "data"


@dataclass(frozen=True, slots=True)
class RecallOutcome:
    """The result of a case: texts that the prompt should contain and does not, and the reverse."""

    case: str
    missing: list[str]
    intruding: list[str]
    prompt: Prompt

    @property
    def correct(self) -> bool:
        """Whether the prompt contains all that it should and nothing that it should not."""
        return not self.missing and not self.intruding


def load_cases(name: str) -> list[dict[str, Any]]:
    """Return the cases of `tests/memory/data/<name>.jsonl`."""
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()]


def run_case(
    owner: Any, case: dict[str, Any], provider: Provider, embedder: Embedder | None
) -> RecallOutcome:
    """Replace the owner's facts by those of the case, and check the prompt of its message."""
    Fact.objects.for_owner(owner).delete()
    texts = [text.removeprefix("*") for text in case["facts"]]
    vectors = embedder.embed(texts) if embedder else None
    for i, (marked, text) in enumerate(zip(case["facts"], texts, strict=True)):
        kind = guess_kind(text)
        Fact.objects.create(
            owner=owner,
            text=text,
            kind=kind,
            category=KINDS[kind].category,
            subject=extract_subject(kind, text),
            confidence=0.6,
            origin="manual",
            pinned=marked.startswith("*"),
            embedding=None if vectors is None else vectors[i].tobytes(),
            embedder=embedder.name if embedder else "",
        )
    conversation = Conversation.objects.create(owner=owner, app=default_app(owner))
    message = Message.objects.create(conversation=conversation, seq=1, role="user", content=case["message"])
    prompt = build_prompt(conversation, message, provider)
    memory_text = f"{prompt.block.text}\n{prompt.note}"
    return RecallOutcome(
        case["id"],
        [s for s in case["in_prompt"] if not contains(memory_text, s)],
        [s for s in case["not_in_prompt"] if contains(memory_text, s)],
        prompt,
    )


def contains(text: str, wanted: str) -> bool:
    """Whether a text contains `wanted` in any case; up to three letters match whole words only."""
    if len(wanted) <= 3 and wanted.isascii():
        return bool(re.search(rf"\b{re.escape(wanted)}\b", text, re.IGNORECASE))
    return wanted.casefold() in text.casefold()
