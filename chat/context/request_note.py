"""What a prompt says about requests to memory in the user's message.

The reply must claim nothing that memory does not do. What is only to be remembered gets a fixed answer: in
its own words the default model spoke as if it were the user ("I remember that my husband Theo …") in 4 of 10
replies, and with these in 1 of 10.
"""

from __future__ import annotations

from collections.abc import Collection

from chat.memory.language import detect_language
from chat.memory.memory_requests import RequestKind, find_requests
from chat.models import MemoryMode

_DONE = {
    RequestKind.REMEMBER: "Memory saves what the user asks you to remember here.",
    RequestKind.FORGET: (
        "Memory looks for what the user asks you to forget here, and shows below your reply what it deleted, "
        "or asks there which fact is meant. Say that in a few words, and claim nothing else."
    ),
    RequestKind.KEEP_OUT: "Memory does not save what the user asks you not to save here.",
}
_NOT_DONE = "Memory is off in this chat: nothing is saved or deleted. Say so in a few words."
_FIXED_ANSWER = "If that is all, answer only: “{}”"
# For languages without a fixed answer. An English one with "in the user's language" was answered in English.
_OWN_ANSWER = "Confirm it in a few words, without repeating it."
# "I'll remember that." by the code of the language.
_ACKNOWLEDGEMENTS = {
    "de": "Das merke ich mir.",
    "en": "I'll remember that.",
    "es": "Lo recordaré.",
    "fr": "Je m'en souviendrai.",
    "it": "Me lo ricorderò.",
    "ja": "覚えておきます。",
    "ko": "기억해 둘게요.",
    "nl": "Dat onthoud ik.",
    "pl": "Zapamiętam to.",
    "pt": "Vou lembrar-me disso.",
    "ru": "Я это запомню.",
    "tr": "Bunu aklımda tutacağım.",
    "zh": "我会记住的。",
}


def list_request_kinds(text: str) -> list[RequestKind]:
    """Return the kinds of requests in a user's message for which `_DONE` has a sentence, each once."""
    return list(dict.fromkeys(request.kind for request in find_requests(text) if request.kind in _DONE))


def describe_requests(kinds: Collection[RequestKind], text: str, memory_mode: str) -> str:
    """Return what the prompt says about a message with requests of these kinds, "" without kinds."""
    if not kinds:
        return ""
    if memory_mode != MemoryMode.ON:
        return f"[{_NOT_DONE}]"
    sentences = [_DONE[kind] for kind in kinds]
    if RequestKind.REMEMBER in kinds:
        # With another request the reply has more to say.
        sentences.append(_tell_how_to_confirm(text) if len(kinds) == 1 else _OWN_ANSWER)
    return f"[{' '.join(sentences)}]"


def _tell_how_to_confirm(text: str) -> str:
    phrase = _ACKNOWLEDGEMENTS.get(detect_language(text))
    return _FIXED_ANSWER.format(phrase) if phrase else _OWN_ANSWER
