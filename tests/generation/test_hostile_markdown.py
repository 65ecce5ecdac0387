"""Any Markdown and HTML of a reply becomes closed, harmless HTML, also while it is streamed."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urlsplit

from hypothesis import example, given, settings
from hypothesis import strategies as st

from chat.generation.block_stream import BlockStream
from chat.generation.markdown import _ATTRIBUTES, _TAGS, render_blocks, to_html, to_plain_text

_VOID = {"br", "hr"}
_ADDRESSES = (
    *(
        "javascript:alert(1)",
        "JaVa\tScRiPt:alert(1)",
        "\x01javascript:alert(1)",
        "data:text/html,<script>",
        "vbscript:x",
    ),
    *(
        "&#106;avascript:alert(1)",
        "java&Tab;script:x",
        "//evil.example",
        "https://a.b/?a=1&b=2",
        "mailto:a@b.c",
        "/c/1",
    ),
    *(
        "javascript&colon;alert(1)",
        "%6aavascript:x",
        "file:///etc/passwd",
        "http://[::1",
        "https://a.b/\u202egpj.exe",
    ),
)
_HTML = (
    *(
        "<script>",
        "</script>",
        "<script",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        "<!--",
        "-->",
        "<![CDATA[",
    ),
    *(
        "<style>*{display:none}</style>",
        "<div style='position:fixed'>",
        "</div></div></main>",
        "<iframe srcdoc='",
        "<base href=//x>",
    ),
    *(
        "<textarea>",
        "<title>",
        "<plaintext>",
        "<math><mtext><table><mglyph><style>",
        "<template>",
        "<form action=//x>",
        "<a href='",
    ),
    *(
        "</p>",
        "</code></pre>",
        "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
        "<?xml",
        "&lt;script&gt;",
        "&#0;",
    ),
)
_MARKDOWN = (
    *(
        "[a](",
        ")",
        "![",
        "](",
        "<",
        ">",
        "[x]: ",
        '"onmouseover="x',
        "'",
        "`",
        "```",
        '```py" onclick="x\n',
        "~~~",
        "````",
        "**",
    ),
    *(
        "| a | b |\n|:-|-:|\n",
        "|",
        "> ",
        "> > > ",
        "- ",
        "1. ",
        "# ",
        "~~",
        "\\",
        "\n",
        "\n\n",
        "    ",
        "\t",
        "***",
        "---\n",
        "&amp;",
    ),
    *(
        "\x00",
        "\ufffd",
        "\u202e",
        "\u0301",
        "\r",
        "\x0c",
        "\u2028",
        "[^1]",
        "![x][y]",
        "__",
        "*" * 30,
        "[" * 30,
        "> " * 30,
    ),
)
pieces = st.lists(
    st.sampled_from(_HTML)
    | st.sampled_from(_MARKDOWN)
    | st.sampled_from(_ADDRESSES)
    | st.builds("[a]({})".format, st.sampled_from(_ADDRESSES))
    | st.builds("<{}>".format, st.sampled_from(_ADDRESSES))
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    max_size=16,
)


class Checker(HTMLParser):
    """Records everything that is not allowed, and the elements that are open."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _TAGS:
            self.faults.append(f"<{tag}>")
        allowed = _ATTRIBUTES.get(tag, set()) | ({"rel"} if tag == "a" else set())
        for name, value in attrs:
            if name not in allowed:
                self.faults.append(f"{tag}.{name}")
            if name == "href" and urlsplit(value or "").scheme not in ("http", "https", "mailto", ""):
                self.faults.append(f"href {value!r}")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}>")

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"<!--{data}")

    def handle_decl(self, decl: str) -> None:
        self.faults.append(f"<!{decl}")

    def handle_pi(self, data: str) -> None:
        self.faults.append(f"<?{data}")

    def unknown_decl(self, data: str) -> None:
        self.faults.append(f"<![{data}")


def find_faults(rendered: str) -> list[str]:
    """Return what is wrong in a block of HTML: what is not allowed, and elements that are not closed."""
    checker = Checker()
    checker.feed(rendered)
    checker.close()
    return [*checker.faults, *(f"open <{tag}>" for tag in checker.open)]


@settings(max_examples=200)
@given(pieces)
@example(["[a](http://[::1)"])
def test_every_block_is_closed_and_has_allowed_elements_only(parts):
    blocks = render_blocks("".join(parts))
    assert [fault for block in blocks for fault in find_faults(block)] == []


@settings(max_examples=150)
@given(pieces)
def test_every_state_of_a_streamed_reply_is_closed_and_the_last_one_is_the_whole(parts):
    stream = BlockStream()
    for part in parts:
        stream.feed(part)
        assert [fault for block in stream.blocks for fault in find_faults(block)] == []
    assert stream.blocks == render_blocks("".join(parts))


@settings(max_examples=100)
@given(pieces)
def test_the_text_without_markdown_has_no_elements_that_the_page_would_show(parts):
    text = "".join(parts)
    assert isinstance(to_plain_text(text), str)
    assert find_faults(to_html(text)) == []


def test_the_check_finds_what_is_not_allowed():
    for bad in (
        *("<script>x</script>", "<p onclick='x'>a</p>", "<a href='javascript:x'>a</a>", "<p>", "</div>"),
        *("<p style='x'>a</p>", "<!-- a -->", "<b><i></b></i>"),
    ):
        assert find_faults(bad), bad
