"""Reads the grammars of our line formats, for servers that cannot be bound by one: is an answer of that form?

GBNF without recursion: literals, classes, groups, alternatives, repetitions, named rules.
"""

from __future__ import annotations

import re
from functools import lru_cache

from chat.llm.types import ProviderError

from .forms import Chars, Choice, Form, Node, Repeat, Row

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<literal>"(?:[^"\\]|\\.)*")
    | (?P<set>\[\^?(?:[^\]\\]|\\.)*\])
    | (?P<name>[a-zA-Z][a-zA-Z0-9-]*)
    | (?P<times>[?*+]|\{\d+(?:,\d*)?\})
    | (?P<mark>[()|])
    )""",
    re.X,
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_RULE = re.compile(r"^\s*([a-zA-Z][a-zA-Z0-9-]*)\s*::=", re.M)


class Unreadable(ProviderError):
    """A grammar that is not of this kind; a mistake in the program, not of a user."""

    def __init__(self) -> None:
        super().__init__("The answer format could not be read by the model's engine.")


@lru_cache(maxsize=64)
def read(grammar: str) -> Form:
    """Return the form that a grammar describes, beginning at `root`; raises Unreadable."""
    places = list(_RULE.finditer(grammar))
    if not places:
        raise Unreadable
    ends = [place.start() for place in places[1:]] + [len(grammar)]
    rules = {p[1]: grammar[p.end() : end] for p, end in zip(places, ends, strict=True)}
    return Form(_Reader(rules).rule("root", ()))


class _Reader:
    """Turns the rules' texts into nodes, each rule where it is named."""

    def __init__(self, rules: dict[str, str]) -> None:
        self._rules = rules

    def rule(self, name: str, within: tuple[str, ...]) -> Node:
        if name not in self._rules or name in within:
            raise Unreadable
        tokens = _tokens(self._rules[name])
        node, rest = self._choice(tokens, 0, (*within, name))
        if rest != len(tokens):
            raise Unreadable
        return node

    def _choice(self, tokens: list[tuple[str, str]], at: int, within: tuple[str, ...]) -> tuple[Node, int]:
        options: list[Node] = []
        while True:
            node, at = self._sequence(tokens, at, within)
            options.append(node)
            if at < len(tokens) and tokens[at] == ("mark", "|"):
                at += 1
                continue
            return (options[0] if len(options) == 1 else Choice(tuple(options))), at

    def _sequence(self, tokens: list[tuple[str, str]], at: int, within: tuple[str, ...]) -> tuple[Node, int]:
        parts: list[Node] = []
        while at < len(tokens) and tokens[at] not in (("mark", "|"), ("mark", ")")):
            node, at = self._item(tokens, at, within)
            if at < len(tokens) and tokens[at][0] == "times":
                node, at = Repeat(node, *_times(tokens[at][1])), at + 1
            parts.append(node)
        return Row(tuple(parts)), at

    def _item(self, tokens: list[tuple[str, str]], at: int, within: tuple[str, ...]) -> tuple[Node, int]:
        kind, text = tokens[at]
        if kind == "literal":
            return Row(tuple(Chars(frozenset(c)) for c in _characters(text[1:-1]))), at + 1
        if kind == "set":
            return _set(text[1:-1]), at + 1
        if kind == "name":
            return self.rule(text, within), at + 1
        if text == "(":
            node, after = self._choice(tokens, at + 1, within)
            if after < len(tokens) and tokens[after] == ("mark", ")"):
                return node, after + 1
        raise Unreadable


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at, text = 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise Unreadable
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


def _times(text: str) -> tuple[int, int | None]:
    if text in "?*+":
        return {"?": (0, 1), "*": (0, None), "+": (1, None)}[text]
    least, comma, most = text[1:-1].partition(",")
    return int(least), (int(most) if most else None) if comma else int(least)


def _characters(text: str) -> list[str]:
    return [_ESCAPES.get(m[1], m[1]) if m[1] else m[0] for m in re.finditer(r"\\(.)|.", text, re.S)]


def _set(text: str) -> Chars:
    negated = text.startswith("^")
    pieces = re.findall(r"\\.|.", text[negated:], re.S)
    listed, ranges, at = set(), [], 0
    while at < len(pieces):
        first = _characters(pieces[at])[0]
        if at + 2 < len(pieces) and pieces[at + 1] == "-":
            ranges.append((first, _characters(pieces[at + 2])[0]))
            at += 3
            continue
        listed.add(first)
        at += 1
    return Chars(frozenset(listed), tuple(ranges), negated)
