"""Markdown to safe HTML: parsed with raw HTML off, highlighted, and cleaned with an allow-list (traps B2)."""

from __future__ import annotations

import html
from collections.abc import Sequence

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight as pygments_highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

_FORMATTER = HtmlFormatter(nowrap=True)
_LONGEST_HIGHLIGHT = 20_000  # characters; beyond it colouring costs more than it gives
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


def _highlight(code: str, language: str, _attributes: str) -> str:
    if not language or len(code) > _LONGEST_HIGHLIGHT:
        return html.escape(code)
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return html.escape(code)
    return str(pygments_highlight(code, lexer, _FORMATTER))


# js-default escapes raw HTML; commonmark and gfm-like would pass it through (traps B2, ran).
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
    return _clean(_aligned(rendered))


def _aligned(rendered: str) -> str:
    """Turn the inline alignment of table cells into classes: the page allows no inline style."""
    for side in ("left", "right", "center"):
        rendered = rendered.replace(f' style="text-align:{side}"', f' class="{side}"')
    return rendered


def to_html(text: str) -> str:
    """Return a whole text as safe HTML."""
    return "\n".join(block for block in blocks(text))


def blocks(text: str) -> list[str]:
    """Return each top-level block of a text as safe HTML of its own."""
    return [rendered for rendered, _ in _split(text)]


def _split(text: str) -> list[tuple[str, int]]:
    """Return (HTML, first line) of each top-level block."""
    environment: dict[str, object] = {}
    result: list[tuple[str, int]] = []
    run: list[Token] = []
    for token in _PARSER.parse(text, environment):
        run.append(token)
        if token.level == 0 and token.nesting <= 0:
            start = run[0].map[0] if run[0].map else 0
            result.append((_render_tokens(run), start))
            run = []
    return result


class BlockStream:
    """A text that grows, as blocks of HTML; only the last block is rendered again with each piece."""

    def __init__(self) -> None:
        self.text = ""
        self.blocks: list[str] = []
        self._settled = 0  # blocks that cannot change any more
        self._offset = 0  # where the text of the first unsettled block begins

    def feed(self, piece: str) -> int | None:
        """Take the next piece and return the index of the first block that changed, None when none did."""
        self.text += piece
        tail = self.text[self._offset :]
        parts = _split(tail)
        fresh = [rendered for rendered, _ in parts]
        old = self.blocks[self._settled :]
        changed = next(
            (i for i, (a, b) in enumerate(zip(old, fresh, strict=False)) if a != b), min(len(old), len(fresh))
        )
        first = self._settled + changed if changed < max(len(old), len(fresh)) else None
        self.blocks[self._settled :] = fresh
        if len(parts) > 1:
            # A block is settled once another one has begun after it.
            line = parts[-1][1]
            self._offset += sum(len(part) for part in tail.splitlines(keepends=True)[:line])
            self._settled += len(parts) - 1
        return first
