"""Markdown from the model is rendered as safe HTML."""

from __future__ import annotations

import pytest

from chat.generation.markdown import render_blocks, to_html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "Hello <img src=x onerror=alert(1)> there",
        "<div style='position:fixed'>over everything</div>",
        "| a |\n| - |\n| <b onclick=x>b</b> |",
        "```html\n<script>alert(1)</script>\n```",
        "`<script>`",
    ],
)
def test_raw_html_is_shown_as_text(text):
    rendered = to_html(text)
    assert "<script" not in rendered
    assert "<img" not in rendered
    assert "<b " not in rendered
    assert "<div style" not in rendered
    assert "&lt;" in rendered


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "vbscript:x", "data:text/html,<b>", "file:///etc/passwd"],
)
def test_a_link_without_a_web_address_has_no_href(address):
    assert "href" not in to_html(f"[click]({address})")


def test_a_web_link_keeps_its_address_and_sends_no_referrer():
    rendered = to_html("[docs](https://example.org/a?b=1)")
    assert 'href="https://example.org/a?b=1"' in rendered
    assert "noreferrer" in rendered
    assert "noopener" in rendered


def test_external_images_are_not_loaded():
    assert "<img" not in to_html("![secret](https://example.org/track.png)")


def test_code_in_a_known_language_is_coloured():
    rendered = to_html("```python\ndef f(): return 1\n```")
    assert '<span class="k">def</span>' in rendered
    assert '<code class="language-python">' in rendered


def test_code_in_an_unknown_language_is_plain_and_escaped():
    rendered = to_html("```nonsense\na < b\n```")
    assert "a &lt; b" in rendered
    assert "<span" not in rendered


def test_very_long_code_is_not_coloured():
    rendered = to_html("```python\n" + "x = 1\n" * 5000 + "```")
    assert "<span" not in rendered
    assert rendered.count("x = 1") == 5000


def test_a_table_has_a_scroll_container_and_alignment_classes():
    rendered = to_html("| a | b |\n| :- | -: |\n| 1 | 2 |")
    assert rendered.startswith('<div class="table"><table>')
    assert rendered.rstrip().endswith("</table></div>")
    assert '<td class="left">1</td>' in rendered
    assert '<td class="right">2</td>' in rendered


def test_a_line_break_in_the_text_is_a_line_break_on_the_page():
    assert "one<br>" in to_html("one\ntwo")


def test_each_top_level_block_is_rendered_separately():
    rendered = render_blocks("# Title\n\nText\n\n- a\n- b\n")
    assert [b.split(">")[0] for b in rendered] == ["<h1", "<p", "<ul"]


def test_a_fence_language_cannot_add_attributes():
    rendered = to_html('```py"onmouseover="x\ncode\n```')
    assert "onmouseover=" not in rendered.replace("&quot;onmouseover=", "")
