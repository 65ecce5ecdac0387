"""Fits turns to the roles that a chat template supports, and finds out which ones it supports.

Not every template has system messages inside a chat, tool calls or results of tools; the rest goes into a
user turn as text with a label. How a tool call is rendered depends only on the turns up to the one after its
results, so that the beginning of a prompt stays the same from turn to turn.

A template's claims are not trusted: each form is tried. Of the 70 templates in llama.cpp's sources
(models/templates, October 2026), 56 render tool calls in a form of their own and 42 render system messages
inside a chat.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chat.errors import ModelNotReady, ProviderError

from .types import ToolCall, Turn

JsonObject = dict[str, Any]
# Some templates accept only ids of calls with nine letters or digits.
_ID_LENGTH = 9


@dataclass(frozen=True, slots=True)
class RoleSupport:
    """What a chat template renders in its own form, at the place of the message and completely."""

    system: bool = True  # a system message at the beginning
    late_system: bool = False  # a system message after other messages
    tools: bool = False  # a tool call and its result
    text_with_call: bool = False  # text in the message that calls a tool
    parallel_calls: bool = False  # several calls in one message
    unanswered_result: bool = False  # a user message directly after a result
    object_arguments: bool = False  # arguments as an object, not as JSON text

    def without_optional_roles(self) -> RoleSupport:
        """Return the support that uses only user and assistant turns and, where it is supported, a system
        turn at the beginning.
        """
        return RoleSupport(system=self.system)


def adapt_turns(turns: Sequence[Turn], support: RoleSupport) -> list[Turn]:
    """Return the turns in the roles that a template supports; adjacent turns of one role are merged.

    Ids of calls become nine letters and digits, and each result gets the id of its call.
    """
    adapted: list[Turn] = []
    place = 0
    while place < len(turns):
        turn = turns[place]
        end = place + 1
        if turn.calls:
            while end < len(turns) and turns[end].role == "tool":
                end += 1
        following = turns[end].role if end < len(turns) else "user"
        for one in _adapt_group(turns[place:end], following, adapted, support):
            _append(adapted, one)
        place = end
    if support.system or not adapted or adapted[0].role != "system":
        return adapted
    if len(adapted) > 1 and adapted[1].role == "user":
        return [Turn("user", f"{adapted[0].content}\n\n{adapted[1].content}"), *adapted[2:]]
    return [Turn("user", adapted[0].content), *adapted[1:]]


def build_message(turn: Turn, content: str, support: RoleSupport, clean: Callable[[str], str]) -> JsonObject:
    """Return an adapted turn as a message for a chat template, with this content.

    `clean` is applied to the texts of its calls: it breaks the control tokens in them.
    """
    message: JsonObject = {"role": turn.role, "content": content}
    if turn.role == "tool":
        message |= {"tool_call_id": turn.call_id, "name": clean(turn.name)}
    if turn.calls:
        message["tool_calls"] = [_build_call(call, support, clean) for call in turn.calls]
    return message


def uses_optional_roles(turns: Sequence[Turn]) -> bool:
    """Return whether a prompt has turns that a template may lack."""
    talk = [turn for turn in turns if turn.role != "system"]
    is_system_late = any(turn.role == "system" for turn in turns[len(turns) - len(talk) :])
    return is_system_late or any(turn.role == "tool" or turn.calls for turn in talk)


def label_turn(turn: Turn) -> str:
    """Return the whole text of a turn; what is no text of a user or an assistant gets a label."""
    if turn.role == "tool":
        return f"[Result of {turn.name or 'a tool'}]\n{turn.content}"
    calls = [f"[Tool call: {call.name or 'unnamed'} {call.arguments}]" for call in turn.calls]
    return "\n\n".join([*([turn.content] if turn.content or not calls else []), *calls])


def _adapt_group(
    group: Sequence[Turn], following: str, before: Sequence[Turn], support: RoleSupport
) -> Iterator[Turn]:
    """Yield the turns for one turn, or for a call with the results directly after it."""
    first = group[0]
    if first.calls:
        resolved = _resolve_group(group)
        has_text = bool(first.content) or (bool(before) and before[-1].role == "assistant")
        if (
            resolved is not None
            and support.tools
            and (support.text_with_call or not has_text)
            and (support.parallel_calls or len(first.calls) == 1)
            and (support.unanswered_result or following != "user")
        ):
            yield from resolved
            return
        if first.content:
            yield Turn("assistant", first.content)
        names = {call.id: call.name for call in first.calls}
        yield Turn("user", label_turn(replace(first, content="")))
        for result in group[1:]:
            name = result.name or names.get(result.call_id) or first.calls[0].name
            yield Turn("user", label_turn(replace(result, name=name)))
    elif first.role == "tool":
        yield Turn("user", label_turn(first))
    elif first.role == "system" and not support.late_system and any(t.role != "system" for t in before):
        yield Turn("user", f"[System message]\n{first.content}")
    else:
        yield first


def _append(adapted: list[Turn], turn: Turn) -> None:
    last = adapted[-1] if adapted else None
    if last is None or last.role != turn.role or turn.role == "tool" or last.calls:
        adapted.append(turn)
    else:
        has_text = bool(turn.content) or not turn.calls
        content = f"{last.content}\n\n{turn.content}" if has_text else last.content
        adapted[-1] = replace(turn, content=content)


def _resolve_group(group: Sequence[Turn]) -> list[Turn] | None:
    """Return a call and its results with short ids; None unless each call has a name, an object as arguments
    and exactly one result.
    """
    call_turn, results = group[0], group[1:]
    calls = call_turn.calls
    if len(results) != len(calls) or not all(c.name and c.parse_arguments() is not None for c in calls):
        return None
    by_id = {call.id: call for call in calls}
    if len(calls) == 1:
        # A result without an id, or with one that was lost in an import, belongs to the only call.
        by_id = {results[0].call_id: calls[0]}
    if len(by_id) != len(calls) or {result.call_id for result in results} != by_id.keys():
        return None
    short = {id_: shorten_id(id_) for id_ in by_id}
    named = [ToolCall(short[id_], call.name, call.arguments) for id_, call in by_id.items()]
    return [
        replace(call_turn, calls=tuple(named)),
        *(replace(r, call_id=short[r.call_id], name=r.name or by_id[r.call_id].name) for r in results),
    ]


def shorten_id(call_id: str) -> str:
    """Return the id of a call that templates get for any id: nine letters and digits."""
    return hashlib.sha256(call_id.encode(errors="replace")).hexdigest()[:_ID_LENGTH]


def _build_call(call: ToolCall, support: RoleSupport, clean: Callable[[str], str]) -> JsonObject:
    arguments: Any = _clean_strings(call.parse_arguments() or {}, clean)
    if not support.object_arguments:
        arguments = json.dumps(arguments, ensure_ascii=False)
    function = {"name": clean(call.name), "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def _clean_strings(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _clean_strings(one, clean) for key, one in value.items()}
    if isinstance(value, list):
        return [_clean_strings(one, clean) for one in value]
    return value


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
