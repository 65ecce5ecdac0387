"""Runs labelled recall cases through the product's own prompt: facts known, one message, what stood in it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chat.actions.owners import default_app
from chat.context.prompt import Prompt, build
from chat.llm.embedder import Embedder
from chat.llm.types import Provider
from chat.memory.kind_rules import guess_kind
from chat.memory.kinds import KINDS
from chat.memory.subjects import subject_of
from chat.models import Conversation, Fact, Message

FOLDER = Path(__file__).parents[1] / "memory" / "data"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case: what should have stood in the prompt and did not, what did and should not."""

    case: str
    missing: list[str]
    intruding: list[str]
    prompt: Prompt

    @property
    def correct(self) -> bool:
        """Return whether the prompt said what it should and nothing that it should not."""
        return not self.missing and not self.intruding


def cases(name: str) -> list[dict[str, Any]]:
    """Return the cases of a file of the test data."""
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()]


def run(owner: Any, case: dict[str, Any], provider: Provider, embedder: Embedder | None) -> Outcome:
    """Let the owner know the case's facts and nothing else, and build the prompt of its message."""
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
            subject=subject_of(kind, text),
            confidence=0.6,
            origin="manual",
            pinned=marked.startswith("*"),
            embedding=None if vectors is None else vectors[i].tobytes(),
            embedder=embedder.name if embedder else "",
        )
    conversation = Conversation.objects.create(owner=owner, app=default_app(owner))
    message = Message.objects.create(conversation=conversation, seq=1, role="user", content=case["message"])
    prompt = build(conversation, message, provider)
    said = f"{prompt.block.text}\n{prompt.note}"
    return Outcome(
        case["id"],
        [s for s in case["in_prompt"] if not contains(said, s)],
        [s for s in case["not_in_prompt"] if contains(said, s)],
        prompt,
    )


def contains(text: str, wanted: str) -> bool:
    """Tell whether the text says it, whatever the case; up to three letters match whole words only."""
    if len(wanted) <= 3 and wanted.isascii():
        return bool(re.search(rf"\b{re.escape(wanted)}\b", text, re.IGNORECASE))
    return wanted.casefold() in text.casefold()
