"""Tells the model to admit that it does not know what it was never told about the user.

In six replies to three questions such as "What's my sister's name?" the default model invented two answers;
with this sentence behind the question none.
"""

from __future__ import annotations

from chat.llm.embedder import embed_text
from chat.llm.registry import registry
from chat.models import Message
from chat.past_chats.need_classifier import estimate_need, load_weights

from .answer_rules import NOT_TOLD, detect_first_language
from .fact_snapshot import RelevantFacts
from .turn_note import read_note_facts

_QUESTION_MARKS = ("?", "？", "؟")
# The least values of `Estimate.needs` and `Estimate.asks` of a question about the user. They were chosen on
# 62 messages: those of `tuning_replies.jsonl` and of a similar file.
_LEAST_NEED, _LEAST_ASKS = 0.0, 1.5


def describe_unknown(message: Message, relevant: RelevantFacts, note: str) -> str:
    """Return the sentence for a question about the user to which no known fact is relevant, else "".

    For the first message of a conversation without quotations; `note` is its note, which must state no fact.
    Embeds the message: call it outside a transaction.
    """
    if relevant.ask.about_user or read_note_facts(note):
        return ""
    if any(relevant.relevance.values()) or not message.content.rstrip().endswith(_QUESTION_MARKS):
        return ""
    embedder = registry.embedder()
    weights = load_weights(embedder.name) if embedder else None
    if embedder is None or weights is None:
        return ""
    try:
        estimate = estimate_need(embed_text(embedder, message.content), weights)
    except OSError:
        # The embedder was removed since it was found.
        return ""
    if estimate.needs < _LEAST_NEED or estimate.asks < _LEAST_ASKS:
        return ""
    return NOT_TOLD.get(detect_first_language([message.content]), NOT_TOLD["en"])
