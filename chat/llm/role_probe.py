"""Finds out which roles a chat template renders. Claims are not trusted: each form is tried.

Of the 70 templates in llama.cpp's sources (models/templates, October 2026), 56 render tool calls in a form of
their own and 42 render system messages inside a chat.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from chat.errors import ModelNotReady, ProviderError

from .roles import JsonObject, RoleSupport, build_message, shorten_id
from .types import ToolCall, Turn

# Each of these words is at least one token in every vocabulary.
_WORDS = "one two three four five six seven eight nine ten " * 3
_WORD_COUNT = len(_WORDS.split())


def probe_roles(render: Callable[[list[JsonObject]], str], *, object_arguments: bool = True) -> RoleSupport:
    """Return what a template supports; `render` returns the prompt of messages or raises ProviderError.

    A form is supported where the prompt has all its texts in the order of the messages. Without
    `object_arguments`, the arguments of calls are only tried as JSON text, as in OpenAI's protocol. Raises
    ModelNotReady where `render` does.
    """

    def is_rendered(*messages: JsonObject) -> bool:
        try:
            prompt = render([*start, *messages])
        except ModelNotReady:
            raise
        except ProviderError:
            return False
        position = 0
        for text in _list_texts(messages):
            found_at = prompt.find(text, position)
            if found_at < 0:
                return False
            position = found_at + len(text)
        return True

    start: list[JsonObject] = []
    ask, reply, thanks = _say("user", "question"), _say("assistant", "reply"), _say("user", "thanks")
    instruction = _say("system", "instruction")
    found = RoleSupport(system=is_rendered(instruction, ask))
    if found.system:
        start = [_say("system", "persona")]
        late = is_rendered(ask, reply, instruction, thanks, _say("system", "more"), _say("assistant", "end"))
        found = replace(found, late_system=late)
    for is_object in (True, False) if object_arguments else (False,):
        call, both = (_call(names, is_object) for names in (["first"], ["first", "second"]))
        first, second = _result("first"), _result("second")
        if is_rendered(ask, call, first, reply, thanks):
            return replace(
                found,
                tools=True,
                text_with_call=is_rendered(ask, {**call, "content": "probe-preface"}, first, reply, thanks),
                parallel_calls=is_rendered(ask, both, first, second, reply, thanks),
                unanswered_result=is_rendered(ask, call, first, thanks),
                object_arguments=is_object,
            )
    return found


def probe_roles_by_size(count: Callable[[list[JsonObject]], int], *, system: bool) -> RoleSupport:
    """Return what a server supports that shows no prompts; `system` says whether it accepts a system message.

    `count` sends messages and returns how many tokens their prompt had, 0 where that is unknown; it raises
    ProviderError for refused messages. A form is supported where the prompt has at least as many tokens as
    the texts have words, so a server that leaves messages out silently does not pass.
    """

    def is_read(texts: int, *messages: JsonObject) -> bool:
        try:
            return count([*messages]) >= texts * _WORD_COUNT
        except ModelNotReady:
            raise
        except ProviderError:
            return False

    ask, reply, thanks = _say("user", "question"), _say("assistant", "reply"), _say("user", "thanks")
    instruction: JsonObject = {"role": "system", "content": _WORDS}
    call = _call(["first", "second"], is_object=False, argument=_WORDS)
    results = ({**_result(name), "content": _WORDS} for name in ("first", "second"))
    has_tools = is_read(5, ask, {**call, "content": _WORDS}, *results, thanks)
    return RoleSupport(
        system=system,
        late_system=system and is_read(2, instruction, ask, reply, instruction, thanks),
        tools=has_tools,
        text_with_call=has_tools,
        parallel_calls=has_tools,
        unanswered_result=has_tools,
    )


def _say(role: str, word: str) -> JsonObject:
    return {"role": role, "content": f"probe-{word}"}


def _call(names: Sequence[str], is_object: bool, argument: str = "") -> JsonObject:
    support = RoleSupport(object_arguments=is_object)
    calls = [
        ToolCall(
            shorten_id(name), f"probe_{name}", json.dumps({"word": argument or f"probe-{name}-argument"})
        )
        for name in names
    ]
    return build_message(Turn("assistant", "", tuple(calls)), "", support, str)


def _result(name: str) -> JsonObject:
    turn = Turn("tool", "", call_id=shorten_id(name), name=f"probe_{name}")
    return build_message(turn, f"probe-{name}-result", RoleSupport(), str)


def _list_texts(messages: Sequence[JsonObject]) -> Iterator[str]:
    """Yield what must be in the prompt, in this order."""
    for message in messages:
        if message["content"]:
            yield message["content"]
        for call in message.get("tool_calls", ()):
            name = call["function"]["name"]
            yield name
            yield f"{name.replace('_', '-')}-argument"
