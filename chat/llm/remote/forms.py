"""The language of a line format: which texts are of it, which may begin one of it, and all of them if few.

It is regular, so a text is followed character by character through a set of states: whatever a model writes
costs time in proportion to its length, and also half an answer can be judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

# What a repetition without end is unrolled to where all words of a language are wanted.
_MOST_WORDS = 64


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of a set, or out of all others."""

    listed: frozenset[str]
    ranges: tuple[tuple[str, str], ...] = ()
    negated: bool = False

    def takes(self, char: str) -> bool:
        """Return whether this character may stand here."""
        found = char in self.listed or any(low <= char <= high for low, high in self.ranges)
        return found is not self.negated


@dataclass(frozen=True, slots=True)
class Row:
    """One after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Any one of them."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """So often at least, and at most; None has no end."""

    inner: Node
    least: int
    most: int | None


Node = Chars | Row | Choice | Repeat


class Form:
    """The language of one grammar."""

    def __init__(self, root: Node) -> None:
        self._root = root
        # Each state has a set of characters that lead on, or none and lead on by itself.
        self._steps: list[list[tuple[Chars | None, int]]] = []
        start = self._state()
        self._start, self._end = start, self._build(root, start)

    def accepts(self, text: str) -> bool:
        """Return whether the text is a whole answer."""
        return self._end in self._after(text)

    def begins(self, text: str) -> bool:
        """Return whether a whole answer can begin so."""
        return bool(self._after(text))

    def words(self) -> list[str] | None:
        """Return all answers there are, where they are few; None where they are not."""
        found: list[str] = []
        for word in _spelled(self._root):
            if word is None or len(found) == _MOST_WORDS:
                return None
            found.append(word)
        return list(dict.fromkeys(found))

    def pattern(self) -> str:
        """Return the same language as a regular expression that both Python and JSON schemas understand."""
        return f"^{_expression(self._root)}$"

    def _after(self, text: str) -> set[int]:
        states = self._closed({self._start})
        for char in text:
            states = self._closed(
                {after for at in states for chars, after in self._steps[at] if chars and chars.takes(char)}
            )
            if not states:
                break
        return states

    def _closed(self, states: set[int]) -> set[int]:
        waiting = list(states)
        while waiting:
            for chars, after in self._steps[waiting.pop()]:
                if chars is None and after not in states:
                    states.add(after)
                    waiting.append(after)
        return states

    def _state(self) -> int:
        self._steps.append([])
        return len(self._steps) - 1

    def _build(self, node: Node, at: int) -> int:
        """Add the states of a node behind `at`; return the one where it has been read."""
        if isinstance(node, Chars):
            after = self._state()
            self._steps[at].append((node, after))
            return after
        if isinstance(node, Row):
            for part in node.parts:
                at = self._build(part, at)
            return at
        if isinstance(node, Choice):
            end = self._state()
            for option in node.options:
                begin = self._state()
                self._steps[at].append((None, begin))
                self._steps[self._build(option, begin)].append((None, end))
            return end
        return self._repeat(node, at)

    def _repeat(self, node: Repeat, at: int) -> int:
        for _ in range(node.least):
            at = self._build(node.inner, at)
        end = self._state()
        self._steps[at].append((None, end))
        if node.most is None:
            again = self._state()
            self._steps[at].append((None, again))
            back = self._build(node.inner, again)
            self._steps[back] += [(None, again), (None, end)]
            return end
        for _ in range(node.most - node.least):
            at = self._build(node.inner, at)
            self._steps[at].append((None, end))
        return end


def _spelled(node: Node) -> Iterator[str | None]:
    """Yield the words of a node; None where they have no end or are too many to be listed."""
    if isinstance(node, Chars):
        if node.negated or node.ranges:
            yield None
        yield from sorted(node.listed)
    elif isinstance(node, Choice):
        for option in node.options:
            yield from _spelled(option)
    elif isinstance(node, Row):
        yield from _joined(node.parts)
    elif node.most is None or node.most > 1:
        yield None
    else:
        if not node.least:
            yield ""
        if node.most:
            yield from _spelled(node.inner)


def _joined(parts: tuple[Node, ...]) -> Iterator[str | None]:
    if not parts:
        yield ""
        return
    for first in _spelled(parts[0]):
        if first is None:
            yield None
            return
        for rest in _joined(parts[1:]):
            yield None if rest is None else first + rest


def _expression(node: Node) -> str:
    if isinstance(node, Chars):
        inside = "".join(map(_escaped, sorted(node.listed)))
        inside += "".join(f"{_escaped(low)}-{_escaped(high)}" for low, high in node.ranges)
        return (
            inside
            if len(node.listed) == 1 and not node.ranges and not node.negated
            else (f"[{'^' if node.negated else ''}{inside}]")
        )
    if isinstance(node, Row):
        return "".join(map(_expression, node.parts))
    if isinstance(node, Choice):
        return f"({'|'.join(map(_expression, node.options))})"
    most = "" if node.most is None else str(node.most)
    return f"({_expression(node.inner)}){{{node.least},{most}}}"


def _escaped(char: str) -> str:
    if char in "\n\r\t":
        return {"\n": r"\n", "\r": r"\r", "\t": r"\t"}[char]
    return f"\\{char}" if char in r"\^$.|?*+()[]{}-/" else char
