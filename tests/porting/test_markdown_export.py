"""In the Markdown export no message's Markdown affects the text outside the message."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from chat.actions import apps
from chat.actions.export_markdown import export_markdown, nest_markdown
from chat.actions.facts import add_fact
from chat.actions.messages import finish_reply, send_message
from chat.models import App

pytestmark = pytest.mark.django_db


def export_text(owner):
    return b"".join(export_markdown(owner)).decode()


def headings(text):
    """Return level and text of each heading as a CommonMark viewer with HTML support sees them."""
    tokens = MarkdownIt("commonmark").parse(text)
    return [(int(t.tag[1]), tokens[n + 1].content) for n, t in enumerate(tokens) if t.type == "heading_open"]


def speakers(text):
    tokens = MarkdownIt("commonmark").parse(text)
    said = [t.content for t in tokens if t.type == "inline" and t.content.startswith("**")]
    return [content.split("**")[1] for content in said]


@pytest.fixture
def export_replies(owner, talk):
    def create_and_export(*replies):
        conversation = None
        for reply in replies:
            asked, answer = talk("Go on", conversation)
            conversation = asked.conversation
            finish_reply(answer, reply, "stopped")
        return export_text(owner)

    return create_and_export


def test_headings_in_messages_are_below_conversation_headings(export_replies):
    text = export_replies(
        "# Plan\n\n## Flour\n\nC# is not one, nor is #this.\n\nRye\n===\n\nWheat\n---\n\nOats"
    )
    assert [level for level, _said in headings(text) if level < 4] == [1, 2, 2, 2, 3]
    assert [(level, said) for level, said in headings(text) if level > 3] == [(4, "Plan"), (5, "Flour")]
    assert "C# is not one, nor is #this." in text


@pytest.mark.parametrize(
    "broken",
    [
        "```python\nprint(1)",
        "````\n```\nx\n```",
        "~~~\n```\n",
        "<!-- a comment",
        "<script>\nlet x = 1;",
        "<style>",
        "<pre>\nx",
        "<![CDATA[",
    ],
)
def test_unclosed_blocks_end_with_their_message(export_replies, broken):
    text = export_replies(f"See:\n\n{broken}", "And then?")
    assert speakers(text) == ["You", "Assistant", "You", "Assistant"]


def test_code_is_exported_unchanged(export_replies):
    code = "```sh\n# a comment\n<script>\nx\n---\ny\n===\n```"
    assert code in export_replies(f"Try\n{code}\n")
    code = "    # indented code\n    <pre>"
    assert code in export_replies(f"Try:\n\n{code}")


def test_leading_indented_code_keeps_its_indentation(export_replies):
    assert "\n\n    x = 1\n" in export_replies("    x = 1")


@pytest.mark.parametrize(
    "text", ["", "plain", "a\n\nb", "- a\n- b", "| a |\n|---|\n| b |", "> # quoted", "1 < 2"]
)
def test_texts_without_headings_or_open_blocks_are_unchanged(text):
    assert nest_markdown(text, 3) == text


def test_each_app_and_conversation_is_exported_under_its_name(owner):
    for number in range(12):
        app = apps.create_app(owner, f"Room {number}")
        App.objects.filter(pk=app.pk).update(persona=f"# You are number {number}.")
        _asked, reply = send_message(owner, f"Hello {number}", app=app)
        finish_reply(reply, "# Yes", "complete")
    add_fact(owner, "I like green tea")
    text = export_text(owner)
    names = [said for level, said in headings(text) if level == 2]
    assert names == ["Memories", *(f"App: {app}" for app in App.objects.order_by("created_at")), "Chats"]
    assert [said for level, said in headings(text) if level == 3 and "Hello" in said] == [
        f"Hello {number}" for number in range(12)
    ]
    assert not [said for level, said in headings(text) if level == 1][1:]
