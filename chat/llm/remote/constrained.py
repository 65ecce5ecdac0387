"""Constrained output over HTTP: the server is asked to follow a grammar, and its answer is checked in any
case.

The program describes answer formats in GBNF, llama.cpp's grammar notation. llama-server takes GBNF itself.
Other servers take a JSON schema with a list of answers or a regular expression, so the GBNF is translated
into a regular expression, and `regex` decides whether an answer matches it or is the beginning of a match.

Supported GBNF: literals, character sets, groups, alternatives, repetitions and named rules without recursion.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

from chat.errors import GrammarError
from chat.llm.types import Finish, Turn

from .events import Json
from .protocol import Capabilities, ConstraintSupport

STRICTER = (
    "(Answer in exactly the form of the answers before: no other words, no quotation marks around it, "
    "nothing before or after it.)"
)
_FENCE = re.compile(r"\A```\w*\n(.*?)\n?```\Z", re.S)
_JSON_TOKENS = 16  # tokens of `{"answer":""}` around the answer itself
_MAX_LISTED_TEXTS = 64
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
_UNREADABLE = "engine-grammar-unreadable"
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_RULE = re.compile(r"^\s*([a-zA-Z][a-zA-Z0-9-]*)\s*::=", re.M)

_Token = tuple[str, str]  # the name of a group of _TOKEN, and its text


@dataclass(frozen=True, slots=True)
class OutputConstraint:
    """One grammar as one server can be held to it: `extra` is added to the body of the request."""

    answers: AnswerFormat
    extra: Json
    in_json: bool = False

    @property
    def extra_tokens(self) -> int:
        """Return how many tokens the JSON around the answer takes."""
        return _JSON_TOKENS if self.in_json else 0

    def extract_answer(self, text: str, finish: Finish) -> str | None:
        """Return the answer in a generated text, None where it does not match the grammar.

        A text that ended at its token limit (`finish` is "length") need only be the beginning of an answer,
        which is what a grammar on the server would have left.
        """
        text = _unwrap_json(text) if self.in_json else text
        matches = self.answers.is_beginning if finish == "length" else self.answers.is_complete
        for candidate in (text, _strip_fence(text)):
            if candidate and matches(candidate):
                return candidate
        return None


def json_schema_format(kind: Json) -> Json:
    """Return the `response_format` for an object with one property `answer` of this schema."""
    return {
        "type": "json_schema",
        "json_schema": {
            "name": "answer",
            "strict": True,
            "schema": {
                "type": "object",
                "properties": {"answer": kind},
                "required": ["answer"],
                "additionalProperties": False,
            },
        },
    }


def build_constraint(found: Capabilities, grammar: str) -> OutputConstraint:
    """Return the strictest constraint that the server supports; raises GrammarError."""
    answers = parse_grammar(grammar)
    if found.constraint is ConstraintSupport.GRAMMAR:
        # Reasoning would have to match the grammar too, so it is switched off.
        extra: Json = {"grammar": grammar, "chat_template_kwargs": {"enable_thinking": False}}
        return OutputConstraint(answers, extra)
    if found.constraint >= ConstraintSupport.SCHEMA and answers.texts:
        schema = {"type": "string", "enum": list(answers.texts)}
        return OutputConstraint(answers, {"response_format": json_schema_format(schema)}, in_json=True)
    if found.constraint >= ConstraintSupport.PATTERN:
        schema = {"type": "string", "pattern": answers.pattern}
        return OutputConstraint(answers, {"response_format": json_schema_format(schema)}, in_json=True)
    return OutputConstraint(answers, {})


def add_format_reminder(turns: Sequence[Turn]) -> list[Turn]:
    """Return the same prompt with a reminder of the answer's format at its end."""
    last = turns[-1]
    return [*turns[:-1], Turn(last.role, f"{last.content}\n{STRICTER}")]


def _unwrap_json(text: str) -> str:
    """Return the answer in `{"answer": …}`, also where the JSON was cut off; "" where there is none."""
    for end in ("", '"}', "}"):
        try:
            found = json.loads(text + end)
        except ValueError:
            continue
        answer = found.get("answer") if isinstance(found, dict) else None
        return answer if isinstance(answer, str) else ""
    return ""


def _strip_fence(text: str) -> str:
    """Return an answer without the white space and the code fence that models put around it."""
    text = text.strip()
    fenced = _FENCE.match(text)
    return fenced[1].strip() if fenced else text


class AnswerFormat:
    """The set of texts that one grammar allows.

    `pattern` is its regular expression, in the subset that Python and JSON schemas share; `texts` are all
    allowed texts where there are at most 64 of them, else None.
    """

    def __init__(self, pattern: str, texts: tuple[str, ...] | None) -> None:
        self.pattern = f"^{pattern}$"
        self.texts = texts
        self._regex = regex.compile(pattern)

    def is_complete(self, text: str) -> bool:
        """Return whether the text is a whole answer."""
        return self._regex.fullmatch(text) is not None

    def is_beginning(self, text: str) -> bool:
        """Return whether the text is an answer or the beginning of one."""
        return self._regex.fullmatch(text, partial=True) is not None


@lru_cache(maxsize=64)
def parse_grammar(grammar: str) -> AnswerFormat:
    """Return the format that a GBNF grammar describes from its rule `root` on; raises GrammarError."""
    heads = list(_RULE.finditer(grammar))
    ends = [head.start() for head in heads[1:]] + [len(grammar)]
    rules = {head[1]: grammar[head.end() : end] for head, end in zip(heads, ends, strict=False)}
    root = _GrammarParser(rules).parse_rule("root", ())
    return AnswerFormat(root.pattern, root.texts)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a grammar as a regular expression, with all its texts where they are few."""

    pattern: str
    texts: tuple[str, ...] | None


class _GrammarParser:
    """A recursive-descent parser; a method returns the part at token `at` and the index behind it."""

    def __init__(self, rules: dict[str, str]) -> None:
        self._rules = rules

    def parse_rule(self, name: str, parents: tuple[str, ...]) -> _Part:
        if name not in self._rules or name in parents:
            raise GrammarError(_UNREADABLE)
        tokens = _tokenize(self._rules[name])
        part, end = self._parse_choice(tokens, 0, (*parents, name))
        if end != len(tokens):
            raise GrammarError(_UNREADABLE)
        return part

    def _parse_choice(self, tokens: list[_Token], at: int, parents: tuple[str, ...]) -> tuple[_Part, int]:
        part, at = self._parse_sequence(tokens, at, parents)
        options = [part]
        while at < len(tokens) and tokens[at] == ("mark", "|"):
            part, at = self._parse_sequence(tokens, at + 1, parents)
            options.append(part)
        if len(options) == 1:
            return part, at
        texts = _limit([part.texts for part in options], itertools.chain.from_iterable)
        return _Part(f"({'|'.join(part.pattern for part in options)})", texts), at

    def _parse_sequence(self, tokens: list[_Token], at: int, parents: tuple[str, ...]) -> tuple[_Part, int]:
        parts: list[_Part] = []
        while at < len(tokens) and tokens[at] not in (("mark", "|"), ("mark", ")")):
            part, at = self._parse_item(tokens, at, parents)
            if at < len(tokens) and tokens[at][0] == "times":
                part, at = _repeat(part, tokens[at][1]), at + 1
            parts.append(part)
        texts = _limit([part.texts for part in parts], lambda lists: map("".join, itertools.product(*lists)))
        return _Part("".join(part.pattern for part in parts), texts), at

    def _parse_item(self, tokens: list[_Token], at: int, parents: tuple[str, ...]) -> tuple[_Part, int]:
        kind, text = tokens[at]
        if kind == "literal":
            literal = "".join(_split_characters(text[1:-1]))
            return _Part("".join(map(_escape, literal)), (literal,)), at + 1
        if kind == "set":
            return _translate_set(text[1:-1]), at + 1
        if kind == "name":
            return self.parse_rule(text, parents), at + 1
        if text == "(":
            part, end = self._parse_choice(tokens, at + 1, parents)
            if end < len(tokens) and tokens[end] == ("mark", ")"):
                return part, end + 1
        raise GrammarError(_UNREADABLE)


def _limit(
    lists: list[tuple[str, ...] | None],
    combine: Callable[[list[tuple[str, ...]]], Iterable[str]],
) -> tuple[str, ...] | None:
    """Return the combined texts of some parts, None where a part has too many or all together have."""
    few = [texts for texts in lists if texts is not None]
    if len(few) < len(lists):
        return None
    texts = tuple(dict.fromkeys(itertools.islice(combine(few), _MAX_LISTED_TEXTS + 1)))
    return texts if len(texts) <= _MAX_LISTED_TEXTS else None


def _repeat(part: _Part, times: str) -> _Part:
    """Return a part with its quantifier, which GBNF and regular expressions write alike."""
    optional = times == "?" or times.replace(" ", "") in ("{0,1}",)
    texts = ("", *part.texts) if optional and part.texts is not None else None
    return _Part(f"({part.pattern}){times}", texts)


def _tokenize(text: str) -> list[_Token]:
    found: list[_Token] = []
    at, text = 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise GrammarError(_UNREADABLE)
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


def _split_characters(text: str) -> list[str]:
    """Return the characters of a literal or a set, escapes resolved."""
    return [_ESCAPES.get(m[1], m[1]) if m[1] else m[0] for m in re.finditer(r"\\(.)|.", text, re.S)]


def _translate_set(text: str) -> _Part:
    """Return the regular expression of a set such as `^a-z\\n`, its escapes rewritten."""
    negated = text.startswith("^")
    pieces = re.findall(r"\\.|.", text[negated:], re.S)
    inside, listed, at = "", [], 0
    while at < len(pieces):
        first = _split_characters(pieces[at])[0]
        if at + 2 < len(pieces) and pieces[at + 1] == "-":
            inside += f"{_escape(first)}-{_escape(_split_characters(pieces[at + 2])[0])}"
            at += 3
            continue
        inside += _escape(first)
        listed.append(first)
        at += 1
    has_range = len(listed) < len(pieces)
    texts = None if negated or has_range or len(listed) > _MAX_LISTED_TEXTS else tuple(sorted(set(listed)))
    return _Part(f"[{'^' if negated else ''}{inside}]", texts)


def _escape(char: str) -> str:
    if char in "\n\r\t":
        return {"\n": r"\n", "\r": r"\r", "\t": r"\t"}[char]
    return f"\\{char}" if char in r"\^$.|?*+()[]{}-/" else char
