"""Tells the model what memory does about the requests in a message, so that its reply claims nothing else."""

from __future__ import annotations

from chat.memory.memory_requests import RequestKind, find_requests
from chat.models import MemoryMode

_DONE = {
    RequestKind.REMEMBER: "Memory saves what the user asks you to remember here. Confirm it in a few words.",
    RequestKind.FORGET: (
        "Memory looks for what the user asks you to forget here, and shows below your reply what it deleted, "
        "or asks there which fact is meant. Say that in a few words, and claim nothing else."
    ),
    RequestKind.KEEP_OUT: "Memory does not save what the user asks you not to save here.",
}
_NOT_DONE = "Memory is off in this chat: nothing is saved or deleted. Say so in a few words."


def describe_requests(text: str, memory_mode: str) -> str:
    """Return the sentences about the requests in a user's message, "" without any."""
    kinds = dict.fromkeys(request.kind for request in find_requests(text) if request.kind in _DONE)
    if not kinds:
        return ""
    if memory_mode != MemoryMode.ON:
        return f"[{_NOT_DONE}]"
    return f"[{' '.join(_DONE[kind] for kind in kinds)}]"
