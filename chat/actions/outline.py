"""Somebody's Markdown within a document of ours: its headings stand below ours, and it ends where it ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=[ \t]|$)")
# A line of these makes a heading of the paragraph above it.
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
# What goes on to its own end, over whatever follows, where a viewer takes HTML.
_OPEN_ENDED = re.compile(r"^( {0,3})(?=<(?:!|\?|/?(?:script|style|pre|textarea)\b))", re.IGNORECASE)
_DEEPEST = 6


def beneath(text: str, level: int) -> str:
    """Return a text as it reads within a section of this level: of blocks of code every letter stays."""
    return "\n".join(_lines(text, level))


def _lines(text: str, level: int) -> Iterator[str]:
    open_fence, above = "", ""
    for line in text.replace("\r\n", "\n").split("\n"):
        fence = _FENCE.fullmatch(line)
        if open_fence:
            if fence and fence[1].startswith(open_fence) and not fence[2].strip():
                open_fence = ""
            yield line
        elif fence and not (fence[1][0] == "`" and "`" in fence[2]):
            open_fence = fence[1]
            yield line
        elif above.strip() and _UNDERLINE.fullmatch(line):
            # A rule, as most mean it, or the signs themselves.
            yield f"\n{line}" if line.strip().startswith("---") else f"\\{line.strip()}"
        else:
            yield _OPEN_ENDED.sub(r"\1\\", _lower(line, level), count=1) if line[:4].strip() else line
        above = "" if open_fence or fence else line
    if open_fence:
        yield open_fence


def _lower(line: str, level: int) -> str:
    return _HEADING.sub(lambda m: m[1] + "#" * min(_DEEPEST, level + len(m[2])), line, count=1)
