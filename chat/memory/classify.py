"""Determines the kind of a fact that the user typed; the text is stored as typed."""

from __future__ import annotations

from chat.errors import ModelNotReady, ProviderError, Unfinished
from chat.llm.types import GenerationOptions, Lane, Provider, StopFlag
from chat.memory import extraction_prompt
from chat.memory.extractor import SLOT, parse_answer
from chat.memory.kind_rules import guess_kind, settle_kind
from chat.memory.kinds import KINDS, CategoryName
from chat.memory.language import detect_language
from chat.memory.secrets import redact_secrets
from chat.memory.subjects import extract_subject

__all__ = ["classify_fact", "guess_kind"]


def classify_fact(
    provider: Provider, text: str, stop: StopFlag | None = None
) -> tuple[str, CategoryName, str]:
    """Return (kind, category, subject) of a sentence, determined by the model in the interactive lane.

    Blocks while the model answers: call it from a worker thread. Uses `guess_kind` where the model fails or
    its answer is unusable. Raises `ModelNotReady` and `Unfinished`.
    """
    kind = _ask_for_kind(provider, text, stop) or guess_kind(text)
    return kind, KINDS[kind].category, extract_subject(kind, text)


def _ask_for_kind(provider: Provider, text: str, stop: StopFlag | None) -> str:
    try:
        completion = provider.complete(
            extraction_prompt.build_prompt(redact_secrets(text)),
            GenerationOptions(
                slot=SLOT,
                lane=Lane.INTERACTIVE,
                max_tokens=extraction_prompt.MAX_TOKENS,
                grammar=extraction_prompt.build_grammar(detect_language(text)),
                stop=stop,
            ),
        )
    except (ModelNotReady, Unfinished):
        raise
    except ProviderError:
        return ""
    proposals = parse_answer(completion.text) if completion.finish == "stop" else None
    return settle_kind(proposals[0].kind, text) if proposals else ""
