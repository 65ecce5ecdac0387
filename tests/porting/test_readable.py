"""The Markdown export reads as what it is: nothing that was said reaches beyond its place."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from chat.actions import apps
from chat.actions.export_markdown import export_markdown
from chat.actions.facts import add_fact
from chat.actions.messages import finish_reply, send_message
from chat.actions.outline import beneath
from chat.models import App

pytestmark = pytest.mark.django_db


def exported(owner):
    return b"".join(export_markdown(owner)).decode()


def headings(text):
    """Return the headings as a viewer that takes HTML sees them, by their level."""
    tokens = MarkdownIt("commonmark").parse(text)
    return [(int(t.tag[1]), tokens[n + 1].content) for n, t in enumerate(tokens) if t.type == "heading_open"]


def speakers(text):
    tokens = MarkdownIt("commonmark").parse(text)
    said = [t.content for t in tokens if t.type == "inline" and t.content.startswith("**")]
    return [content.split("**")[1] for content in said]


@pytest.fixture
def chat(owner, talk):
    def say(*replies):
        conversation = None
        for reply in replies:
            asked, answer = talk("Go on", conversation)
            conversation = asked.conversation
            finish_reply(answer, reply, "stopped")
        return exported(owner)

    return say


def test_headings_in_messages_stand_below_those_of_the_chats(chat):
    text = chat("# Plan\n\n## Flour\n\nC# is not one, nor is #this.\n\nRye\n===\n\nWheat\n---\n\nOats")
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
def test_what_was_broken_off_ends_with_its_message(chat, broken):
    text = chat(f"See:\n\n{broken}", "And then?")
    assert speakers(text) == ["You", "Assistant", "You", "Assistant"]


def test_of_code_every_letter_stays(chat):
    code = "```sh\n# a comment\n<script>\nx\n---\ny\n===\n```"
    assert code in chat(f"Try\n{code}\n")
    code = "    # indented code\n    <pre>"
    assert code in chat(f"Try:\n\n{code}")


def test_a_text_that_begins_with_code_keeps_its_indentation(chat):
    assert "\n\n    x = 1\n" in chat("    x = 1")


@pytest.mark.parametrize(
    "text", ["", "plain", "a\n\nb", "- a\n- b", "| a |\n|---|\n| b |", "> # quoted", "1 < 2"]
)
def test_what_is_harmless_stays_as_it_is(text):
    assert beneath(text, 3) == text


def test_many_apps_and_chats_are_each_told_under_their_name(owner):
    for number in range(12):
        app = apps.create(owner, f"Room {number}")
        App.objects.filter(pk=app.pk).update(persona=f"# You are number {number}.")
        _asked, reply = send_message(owner, f"Hello {number}", app=app)
        finish_reply(reply, "# Yes", "complete")
    add_fact(owner, "I like green tea")
    text = exported(owner)
    names = [said for level, said in headings(text) if level == 2]
    assert names == ["Memories", *(f"App: {app}" for app in App.objects.order_by("created_at")), "Chats"]
    assert [said for level, said in headings(text) if level == 3 and "Hello" in said] == [
        f"Hello {number}" for number in range(12)
    ]
    assert not [said for level, said in headings(text) if level == 1][1:]
