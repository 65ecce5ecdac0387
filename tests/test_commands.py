"""Which texts are slash commands, which are messages, and which are refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.utils.translation import override

from chat.commands import COMMANDS, parse
from chat.errors import UnknownCommand


@pytest.fixture(autouse=True)
def _in_english() -> Iterator[None]:
    with override("en"):
        yield


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("/clear", ("clear", "")),
        ("/Clear ", ("clear", "")),
        ("/remember I live in Oslo", ("remember", "I live in Oslo")),
        ("/remember\nI live\nin Oslo", ("remember", "I live\nin Oslo")),
    ],
)
def test_a_slash_and_a_known_word_is_a_command(text, means):
    assert parse(text) == means


@pytest.mark.parametrize(
    "text",
    ["Hello", "/etc/hosts what is this", "/ what", "//", "/usr/bin", "/3 of it", " /clear", "see /clear", ""],
)
def test_everything_else_is_a_message(text):
    assert parse(text) is None


def test_an_unknown_command_is_refused_with_a_hint():
    with pytest.raises(UnknownCommand, match=r"no command /tmp\. .*a space before it"):
        parse("/tmp is full")


@pytest.mark.parametrize("text", ["/remember", "/unlearn  "])
def test_a_command_without_its_text_is_refused(text):
    with pytest.raises(UnknownCommand, match="Write after"):
        parse(text)


@pytest.mark.parametrize("text", ["/forget my old address", "/new ideas for dinner", "/Help me with this"])
def test_a_command_with_unexpected_text_is_refused(text):
    with pytest.raises(UnknownCommand, match=r"stands alone\. .*a space before it"):
        parse(text)


def test_each_command_has_a_description():
    assert all(str(command.does) for command in COMMANDS)
    assert len({command.name for command in COMMANDS}) == len(COMMANDS)
