"""Markdown to safe HTML: parsed without raw HTML, code highlighted, and cleaned with an allow-list."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import lru_cache

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight as pygments_highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

_FORMATTER = HtmlFormatter(nowrap=True)
_MAX_HIGHLIGHTED = 20_000  # characters; highlighting longer code takes too long
_MAX_CACHED = 8_000  # characters of a message whose HTML is cached
# A line as CommonMark defines it. str.splitlines() also splits at form feeds and U+2028.
_LINE = re.compile(r"(?<![^\r\n])[^\r\n]*(?:\r\n?|\n)")
_TAGS = {
    *(
        "p",
        "br",
        "hr",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "li",
        "blockquote",
        "strong",
        "em",
        "s",
    ),
    *("a", "code", "pre", "span", "div", "table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {
    "a": {"href", "title"},
    "code": {"class"},
    "span": {"class"},
    "div": {"class"},
    "ol": {"start"},
    "th": {"class"},
    "td": {"class"},
}


@lru_cache(maxsize=32)  # while a reply is written, its last code block is rendered again with each piece
def _highlight(code: str, language: str, _attributes: str) -> str:
    if not language or len(code) > _MAX_HIGHLIGHTED:
        return html.escape(code)
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return html.escape(code)
    return str(pygments_highlight(code, lexer, _FORMATTER))


# "js-default" escapes raw HTML; "commonmark" and "gfm-like" would pass it through.
_PARSER = MarkdownIt(
    "js-default", {"highlight": _highlight, "linkify": False, "breaks": True, "typographer": False}
)
_PARSER.enable(["table", "strikethrough"])


def _clean(rendered: str) -> str:
    return nh3.clean(
        rendered,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def _render_tokens(tokens: Sequence[Token]) -> str:
    rendered = _PARSER.renderer.render(tokens, _PARSER.options, {})
    rendered = rendered.replace("<pre>", '<div class="highlight"><pre>').replace("</pre>", "</pre></div>")
    rendered = rendered.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")
    return _clean(_convert_alignment(rendered))


def _convert_alignment(rendered: str) -> str:
    """Turn the inline alignment of table cells into classes: the page allows no inline style."""
    for side in ("left", "right", "center"):
        rendered = rendered.replace(f' style="text-align:{side}"', f' class="{side}"')
    return rendered


def to_html(text: str) -> str:
    """Return a whole text as safe HTML."""
    return "\n".join(block for block in render_blocks(text))


def render_blocks(text: str) -> list[str]:
    """Return each top-level block of a text as safe HTML of its own."""
    return [rendered for rendered, _ in _split(text)]


def render_blocks_cached(text: str) -> list[str]:
    """Return the HTML blocks of a finished message; recently rendered messages come from a cache."""
    return list(_render_cached(text)) if len(text) <= _MAX_CACHED else render_blocks(text)


# About ten pages of messages, at most about 20 MB.
@lru_cache(maxsize=600)
def _render_cached(text: str) -> tuple[str, ...]:
    return tuple(render_blocks(text))


def _split(text: str, environment: dict[str, object] | None = None) -> list[tuple[str, int]]:
    """Return (HTML, first line) of each top-level block."""
    return [(_render_tokens(run), _first_line(run)) for run in _parse_blocks(text, environment)]


def _parse_blocks(text: str, environment: dict[str, object] | None = None) -> list[list[Token]]:
    """Return the tokens of each top-level block."""
    result: list[list[Token]] = []
    run: list[Token] = []
    for token in _PARSER.parse(text, {} if environment is None else environment):
        run.append(token)
        if token.level == 0 and token.nesting <= 0:
            result.append(run)
            run = []
    return result


def _first_line(run: Sequence[Token]) -> int:
    return run[0].map[0] if run[0].map else 0


_BLOCK_END = re.compile(r"</(?:p|li|h[1-6]|pre|blockquote|t[dhr])>|<br|<hr")


def to_plain_text(text: str) -> str:
    """Return the visible words of a text without Markdown, each block and table cell on a line of its own."""
    apart = _BLOCK_END.sub(lambda m: f"\n{m[0]}", to_html(text))
    return html.unescape(nh3.clean(apart, tags=set()))


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

    def feed(self, piece: str) -> int | None:
        """Append a piece and return the index of the first block that changed, None when none did."""
        self.text += piece
        environment: dict[str, object] = {}
        parts = _split(self.text[self._offset :], environment)
        if environment.get("references") and not self._has_references:
            # A link definition ("[a]: address") affects the whole text, so no block is settled any more.
            self._has_references, self._settled, self._offset = True, 0, 0
            parts = _split(self.text)
        fresh = [rendered for rendered, _ in parts]
        old = self.blocks[self._settled :]
        changed = next(
            (i for i, (a, b) in enumerate(zip(old, fresh, strict=False)) if a != b), min(len(old), len(fresh))
        )
        first = self._settled + changed if changed < max(len(old), len(fresh)) else None
        self.blocks[self._settled :] = fresh
        if not self._has_references and ("\n" in piece or "\r" in piece):
            self._settle()
        return first

    def _settle(self) -> None:
        """Settle the blocks before the last one, judged by whole lines: "#" may still become "#tag"."""
        lines = _LINE.findall(self.text[self._offset :])
        runs = _parse_blocks("".join(lines))
        if len(runs) > 1:
            self._offset += sum(map(len, lines[: _first_line(runs[-1])]))
            self._settled += len(runs) - 1
