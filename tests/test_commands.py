"""What is a command, what a message, and what neither."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.utils.translation import override

from chat.commands import COMMANDS, NoCommand, parse


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
def test_a_slash_and_a_word_is_a_command(text, means):
    assert parse(text) == means


@pytest.mark.parametrize(
    "text",
    ["Hello", "/etc/hosts what is this", "/ what", "//", "/usr/bin", "/3 of it", " /clear", "see /clear", ""],
)
def test_everything_else_is_a_message(text):
    assert parse(text) is None


def test_an_unknown_command_says_so_and_how_to_send_it():
    with pytest.raises(NoCommand, match=r"no command /tmp\. .*a space before it"):
        parse("/tmp is full")


@pytest.mark.parametrize("text", ["/remember", "/unlearn  "])
def test_a_command_that_wants_words_says_which(text):
    with pytest.raises(NoCommand, match="Write after"):
        parse(text)


@pytest.mark.parametrize("text", ["/forget my old address", "/new ideas for dinner", "/Help me with this"])
def test_a_command_that_stands_alone_swallows_no_words(text):
    with pytest.raises(NoCommand, match=r"stands alone\. .*a space before it"):
        parse(text)


def test_each_command_says_what_it_does():
    assert all(str(command.does) for command in COMMANDS)
    assert len({command.name for command in COMMANDS}) == len(COMMANDS)
