"""Holding an answer to a grammar over HTTP: bound where the server can, checked in any case."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from chat.llm.types import Finish, Turn

from . import gbnf
from .capabilities import Binding, Capabilities, schema
from .events import Json
from .forms import Form

STRICTER = (
    "(Answer in exactly the form of the answers before: no other words, no quotation marks around it, "
    "nothing before or after it.)"
)
_FENCE = re.compile(r"\A```\w*\n(.*?)\n?```\Z", re.S)
_JSON_TOKENS = 16  # of `{"answer":""}` around the answer itself


@dataclass(frozen=True, slots=True)
class Bound:
    """One grammar, as one server can be held to it."""

    form: Form
    extra: Json
    in_json: bool = False

    @property
    def room(self) -> int:
        """Return how many tokens the answer takes beside its own."""
        return _JSON_TOKENS if self.in_json else 0

    def answer(self, text: str, finish: Finish) -> str | None:
        """Return the answer in a text that came, None where it is not of the form; half an answer where it
        ended at the limit of its length, as a grammar would have left it."""
        text = _unwrapped(text) if self.in_json else text
        whole = finish != "length"
        fits = self.form.accepts if whole else self.form.begins
        for tried in (text, _tidy(text)):
            if tried and fits(tried):
                return tried
        return None


def bind(found: Capabilities, grammar: str) -> Bound:
    """Return how a server is held to a grammar; raises gbnf.Unreadable."""
    form = gbnf.read(grammar)
    if found.binding is Binding.GRAMMAR:
        # Thinking aloud would have to fit into the grammar too.
        return Bound(form, {"grammar": grammar, "chat_template_kwargs": {"enable_thinking": False}})
    if found.binding >= Binding.SCHEMA and (words := form.words()):
        return Bound(form, {"response_format": schema({"type": "string", "enum": words})}, in_json=True)
    if found.binding >= Binding.PATTERN:
        kind = {"type": "string", "pattern": form.pattern()}
        return Bound(form, {"response_format": schema(kind)}, in_json=True)
    return Bound(form, {})


def stricter(turns: Sequence[Turn]) -> list[Turn]:
    """Return the same question with a word on the form of its answer."""
    last = turns[-1]
    return [*turns[:-1], Turn(last.role, f"{last.content}\n{STRICTER}")]


def _unwrapped(text: str) -> str:
    for end in ("", '"}', "}"):
        try:
            found = json.loads(text + end)
        except ValueError:
            continue
        answer = found.get("answer") if isinstance(found, dict) else None
        return answer if isinstance(answer, str) else ""
    return ""


def _tidy(text: str) -> str:
    """Return an answer without the blanks and the fence that models put around it."""
    text = text.strip()
    fenced = _FENCE.match(text)
    return fenced[1].strip() if fenced else text
