"""The kind of a fact written by hand; its text stays as the user wrote it (seed 004, "Manual Adding")."""

from __future__ import annotations

from chat.llm.types import Lane, ModelNotReady, Provider, ProviderError, StopFlag, Unfinished
from chat.memory import prompt
from chat.memory.kind_rules import guess_kind, settle_kind
from chat.memory.kinds import KINDS, CategoryName
from chat.memory.language import detect
from chat.memory.reader import SLOT, parse
from chat.memory.secrets import redact
from chat.memory.subjects import subject_of

__all__ = ["classify", "guess_kind"]


def classify(provider: Provider, text: str, stop: StopFlag | None = None) -> tuple[str, CategoryName, str]:
    """Return (kind, category, subject) of a sentence, by the model in the interactive lane.

    Blocks while the model answers. Falls back on the sentence's own words when the model fails or answers
    with nothing usable. Raises `ModelNotReady` and `Unfinished` while there is no model to ask.
    """
    kind = _asked(provider, text, stop) or guess_kind(text)
    return kind, KINDS[kind].category, subject_of(kind, text)


def _asked(provider: Provider, text: str, stop: StopFlag | None) -> str:
    try:
        completion = provider.complete(
            prompt.turns(redact(text)),
            slot=SLOT,
            lane=Lane.INTERACTIVE,
            max_tokens=prompt.MAX_TOKENS,
            grammar=prompt.grammar(detect(text)),
            stop=stop,
        )
    except (ModelNotReady, Unfinished):
        raise
    except ProviderError:
        return ""
    notes = parse(completion.text) if completion.finish == "stop" else None
    return settle_kind(notes[0].kind, text) if notes else ""
