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
MAX_HIGHLIGHTED = 20_000  # characters; highlighting longer code takes too long
_MAX_CACHED = 8_000  # characters of a message whose HTML is cached
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


def highlight(code: str, language: str, _attributes: str = "") -> str:
    """Return code as escaped HTML with spans, none of which spans lines; plain for an unknown language."""
    if not language or len(code) > MAX_HIGHLIGHTED:
        return html.escape(code)
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return html.escape(code)
    return str(pygments_highlight(code, lexer, _FORMATTER))


# "js-default" escapes raw HTML; "commonmark" and "gfm-like" would pass it through.
_PARSER = MarkdownIt(
    "js-default", {"highlight": highlight, "linkify": False, "breaks": True, "typographer": False}
)
_PARSER.enable(["table", "strikethrough"])


def clean(rendered: str) -> str:
    """Return HTML with the allowed elements and attributes only."""
    return nh3.clean(
        rendered,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def render_tokens(tokens: Sequence[Token]) -> str:
    """Return the HTML of one top-level Markdown block, reduced to the allowed elements and attributes."""
    rendered = _PARSER.renderer.render(tokens, _PARSER.options, {})
    rendered = rendered.replace("<pre>", '<div class="highlight"><pre>').replace("</pre>", "</pre></div>")
    rendered = rendered.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")
    return clean(_convert_alignment(rendered))


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
    return [rendered for rendered, _ in split_blocks(text)]


def render_blocks_cached(text: str) -> list[str]:
    """Return the HTML blocks of a finished message; recently rendered messages come from a cache."""
    return list(_render_cached(text)) if len(text) <= _MAX_CACHED else render_blocks(text)


# About ten pages of messages, at most about 20 MB.
@lru_cache(maxsize=600)
def _render_cached(text: str) -> tuple[str, ...]:
    return tuple(render_blocks(text))


def split_blocks(text: str, environment: dict[str, object] | None = None) -> list[tuple[str, int]]:
    """Return (HTML, first line) of each top-level block."""
    return [(render_tokens(run), find_first_line(run)) for run in parse_blocks(text, environment)]


def parse_blocks(text: str, environment: dict[str, object] | None = None) -> list[list[Token]]:
    """Return the tokens of each top-level block."""
    result: list[list[Token]] = []
    run: list[Token] = []
    for token in _PARSER.parse(text, {} if environment is None else environment):
        run.append(token)
        if token.level == 0 and token.nesting <= 0:
            result.append(run)
            run = []
    return result


def find_first_line(run: Sequence[Token]) -> int:
    """Return the number of the first line of a block."""
    return run[0].map[0] if run[0].map else 0


_BLOCK_END = re.compile(r"</(?:p|li|h[1-6]|pre|blockquote|t[dhr])>|<br|<hr")


def to_plain_text(text: str) -> str:
    """Return the visible words of a text without Markdown, each block and table cell on a line of its own."""
    apart = _BLOCK_END.sub(lambda m: f"\n{m[0]}", to_html(text))
    return html.unescape(nh3.clean(apart, tags=set()))
