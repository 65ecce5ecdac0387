"""Finds all regular expressions of the program, and makes texts that are hostile to each.

A search takes quadratic time where it begins at every character of a run and reads the rest of the run each
time. For each part of a pattern that repeats without limit the texts repeat what it matches, behind what the
pattern matches before it, and end with a character that nothing matches.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from re import _constants as names  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

import chat
import memoryapp

END = "\x00"
_UNLIMITED = 50
_DEEPEST = 4
_SAMPLES = " a1\n.-,'\"a:"
_OF_CATEGORY = {
    names.CATEGORY_SPACE: str.isspace,
    names.CATEGORY_DIGIT: str.isdigit,
    names.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
    names.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
    names.CATEGORY_NOT_DIGIT: lambda c: not c.isdigit(),
    names.CATEGORY_NOT_WORD: lambda c: not (c.isalnum() or c == "_"),
}
_REPEATS = (names.MAX_REPEAT, names.MIN_REPEAT, names.POSSESSIVE_REPEAT)
_LOOKS = (names.ASSERT, names.ASSERT_NOT)


def find_patterns() -> dict[str, re.Pattern[str]]:
    """Return the patterns that modules of the program hold, by the module and the name."""
    found: dict[tuple[str, int], tuple[str, re.Pattern[str]]] = {}
    for module in _import_modules():
        for name, value in list(vars(module).items()):
            for pattern in _collect(value):
                found.setdefault((pattern.pattern, pattern.flags), (f"{module.__name__}:{name}", pattern))
    by_name: dict[str, re.Pattern[str]] = {}
    for name, pattern in found.values():
        by_name[name if name not in by_name else f"{name} {len(by_name)}"] = pattern
    return by_name


def _import_modules() -> Iterator[ModuleType]:
    for package in (chat, memoryapp):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not re.search(r"\.(?:migrations|commands|__main__|bootstrap)\b", info.name):
                yield importlib.import_module(info.name)


def _collect(value: Any, depth: int = 0) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif depth < _DEEPEST:
        inner: list[Any] = []
        if isinstance(value, dict):
            inner = list(value.values())
        elif isinstance(value, list | tuple | set | frozenset):
            inner = list(value)
        elif is_dataclass(value) and not isinstance(value, type):
            inner = [getattr(value, field.name, None) for field in fields(value)]
        for one in inner:
            yield from _collect(one, depth + 1)


def build_hostile_texts(pattern: re.Pattern[str], length: int) -> Iterator[str]:
    """Yield texts of about so many characters."""
    seen = set()
    for before, pump in _find_pumps(parser.parse(pattern.pattern, pattern.flags), ""):
        if (before, pump) not in seen:
            seen.add((before, pump))
            yield before + pump * (length // len(pump)) + END


def _find_pumps(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    for operation, value in tree:
        if operation in _REPEATS:
            least, most, repeated = value
            if most >= _UNLIMITED:
                signs = [s for s in _SAMPLES if _is_set_with(repeated, s)]
                # At each edge of a word in such a run, a pattern that begins with \b begins anew.
                edges = {
                    word + sign for word in signs if word.isalnum() for sign in signs if not sign.isalnum()
                }
                pumps = {_write(repeated) or "a", *signs, *edges}
                for pump in sorted(pumps):
                    yield before, pump
                    yield "", before + pump
            yield from _find_pumps(repeated, before)
            before += _write(repeated) * least
        elif operation is names.BRANCH:
            for branch in value[1]:
                yield from _find_pumps(branch, before)
            before += _write(value[1][0])
        elif operation is names.SUBPATTERN:
            yield from _find_pumps(value[3], before)
            before += _write(value[3])
        elif operation in _LOOKS:
            yield from _find_pumps(value[1], before)
        else:
            before += _write_part(operation, value)


def _write(tree: Any) -> str:
    """Return a short text that a part of a pattern matches; assertions are ignored."""
    return "".join(_write_part(operation, value) for operation, value in tree)


def _write_part(operation: Any, value: Any) -> str:
    if operation is names.LITERAL:
        return chr(value)
    if operation is names.IN:
        return next((s for s in _SAMPLES if _is_in(value, s)), "") or _first_of(value)
    if operation in (names.ANY, names.NOT_LITERAL):
        return "a"
    if operation is names.SUBPATTERN:
        return _write(value[3])
    if operation in _REPEATS:
        return _write(value[2]) * value[0]
    if operation is names.BRANCH:
        return _write(value[1][0])
    return _write(value) if operation is names.ATOMIC_GROUP else ""


def _first_of(items: Any) -> str:
    for operation, value in items:
        if operation in (names.LITERAL, names.RANGE):
            return chr(value if operation is names.LITERAL else value[0])
    return "a"


def _is_set_with(tree: Any, sign: str) -> bool:
    parts = list(tree)
    if len(parts) != 1:
        return False
    operation, value = parts[0]
    return operation is names.ANY or (operation is names.IN and _is_in(value, sign))


def _is_in(items: Any, sign: str) -> bool:
    is_negated, is_found = False, False
    for operation, value in items:
        if operation is names.NEGATE:
            is_negated = True
        elif operation is names.LITERAL:
            is_found |= chr(value) == sign
        elif operation is names.RANGE:
            is_found |= value[0] <= ord(sign) <= value[1]
        elif operation is names.CATEGORY and value in _OF_CATEGORY:
            is_found |= _OF_CATEGORY[value](sign)
    return is_found != is_negated
