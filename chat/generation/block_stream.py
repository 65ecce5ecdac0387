"""A growing text as blocks of safe HTML. Finished blocks and finished lines of code are rendered once."""

from __future__ import annotations

import re

from .markdown import (
    MAX_HIGHLIGHTED,
    clean,
    find_first_line,
    highlight,
    parse_blocks,
    render_tokens,
    split_blocks,
)

# A line as CommonMark defines it. str.splitlines() also splits at form feeds and U+2028.
_LINE = re.compile(r"(?<![^\r\n])[^\r\n]*(?:\r\n?|\n)")
# Finished lines of code that are highlighted with the next ones: Pygments needs what is before a line.
_CONTEXT_LINES = 12
# Without an indentation, which would be taken away from the lines too.
_FENCE_START = re.compile(r"\A(?P<marker>`{3,}+|~{3,}+)[^\n]*+\n")
# Characters that end a line or are replaced for Markdown, but not in the code of `OpenFence`.
_ODD = re.compile(r"[\r\x00]")


class OpenFence:
    """The code block that a text ends with, as long as it is not closed.

    Finished lines are highlighted once, with the lines before them as context. A token that spans more lines
    than the context may be coloured wrongly until the block is closed.
    """

    def __init__(self, marker: str, code: str, rendered: str, language: str) -> None:
        """`marker` is what opens the block, `code` its text after that line, and `rendered` its HTML."""
        self._closing = re.compile(rf" {{0,3}}{marker[0]}{{{len(marker)},}}[ \t]*")
        self._language = language
        self._head = rendered[: rendered.index(">", rendered.index("<code")) + 1]
        self._settled = ""  # HTML of the finished lines
        self._context = ""  # the last finished lines
        self._open = ""  # what comes after them
        self._length = 0
        self._add(code)

    @classmethod
    def find(cls, text: str) -> OpenFence | None:
        """Return the open code block that a text consists of, None for any other text."""
        opening = _FENCE_START.match(text)
        if opening is None or _ODD.search(text):
            return None
        runs = parse_blocks(text)
        if len(runs) != 1 or runs[0][0].type != "fence":
            return None
        language = runs[0][0].info.strip().split(maxsplit=1)[0] if runs[0][0].info.strip() else ""
        code = text[opening.end() :]
        fence = cls(opening["marker"], code, render_tokens(runs[0]), language)
        return None if fence._has_closing_line(code) else fence

    def feed(self, piece: str) -> str | None:
        """Append a piece and return the HTML of the block; None where the block may have been closed."""
        last_line = self._open.rpartition("\n")[2]
        if _ODD.search(piece) or self._has_closing_line(last_line + piece):
            return None
        self._add(piece)
        return self._render()

    def _has_closing_line(self, lines: str) -> bool:
        return any(self._closing.fullmatch(line) for line in lines.split("\n"))

    def _add(self, piece: str) -> None:
        self._length += len(piece)
        self._open += piece
        done, line_end, rest = self._open.rpartition("\n")
        if not line_end:
            return
        self._settled += self._highlight(done + line_end)
        context = (self._context + done).split("\n")[-_CONTEXT_LINES:]
        self._context, self._open = "".join(f"{line}\n" for line in context), rest

    def _render(self) -> str:
        return f"{self._head}{self._settled}{self._highlight(self._open)}</code></pre></div>\n"

    def _highlight(self, code: str) -> str:
        """Return the HTML of these lines, which follow the context."""
        if not code:
            return ""
        language = self._language if self._length <= MAX_HIGHLIGHTED else ""
        rendered = clean(highlight(self._context + code, language))
        lines = rendered.split("\n")
        return "\n".join(lines[self._context.count("\n") :])


class BlockStream:
    """A growing text as the blocks of `render_blocks`.

    Blocks that can no longer change are not rendered again.
    """

    def __init__(self) -> None:
        self.text = ""
        self.blocks: list[str] = []
        self._settled = 0  # how many first blocks can no longer change
        self._offset = 0  # the index of the first character of the first unsettled block
        self._has_references = False
        self._fence: OpenFence | None = None

    def feed(self, piece: str) -> int | None:
        """Append a piece and return the index of the first block that changed, None when none did."""
        self.text += piece
        if self._fence is not None:
            if (rendered := self._fence.feed(piece)) is not None:
                return self._replace_last(rendered)
            self._fence = None
        environment: dict[str, object] = {}
        parts = split_blocks(self.text[self._offset :], environment)
        if environment.get("references") and not self._has_references:
            # A link definition ("[a]: address") affects the whole text, so no block is settled any more.
            self._has_references, self._settled, self._offset = True, 0, 0
            parts = split_blocks(self.text)
        fresh = [rendered for rendered, _ in parts]
        old = self.blocks[self._settled :]
        changed = next(
            (i for i, (a, b) in enumerate(zip(old, fresh, strict=False)) if a != b), min(len(old), len(fresh))
        )
        first = self._settled + changed if changed < max(len(old), len(fresh)) else None
        self.blocks[self._settled :] = fresh
        if not self._has_references and ("\n" in piece or "\r" in piece):
            self._settle()
            if len(fresh) and len(self.blocks) == self._settled + 1:
                self._fence = OpenFence.find(self.text[self._offset :])
        return first

    def _replace_last(self, rendered: str) -> int | None:
        if self.blocks[-1] == rendered:
            return None
        self.blocks[-1] = rendered
        return len(self.blocks) - 1

    def _settle(self) -> None:
        """Settle the blocks before the last one, judged by whole lines: "#" may still become "#tag"."""
        lines = _LINE.findall(self.text[self._offset :])
        runs = parse_blocks("".join(lines))
        if len(runs) > 1:
            self._offset += sum(map(len, lines[: find_first_line(runs[-1])]))
            self._settled += len(runs) - 1
