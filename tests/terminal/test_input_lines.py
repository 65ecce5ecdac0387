"""Keys typed or pasted into a real terminal become a line."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from chat.commands import COMMANDS
from chat.terminal.screen import LineReader


class InteractiveStream(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Return a function that reads the line that these keys make."""

    def press(keys: str) -> str:
        monkeypatch.setattr("sys.stdout", InteractiveStream())
        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            pipe.send_text(keys)
            return LineReader(COMMANDS, InteractiveStream()).read("› ")

    return press


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("Hello\r", "Hello"),
        (
            "Grüße 👩\u200d👧 \u05e9\u05dc\u05d5\u05dd 漢字\r",
            "Grüße 👩\u200d👧 \u05e9\u05dc\u05d5\u05dd 漢字",
        ),
        ("\x1b[200~one\ntwo\n/forget\x1b[201~\r", "one\ntwo\n/forget"),
        ("red \x1b[31mtext\r", "red text"),
        ("abc\x1b[D\x1b[DX\r", "aXbc"),
        ("lost\x15kept\r", "kept"),
    ],
    ids=["letters", "wide ones", "several lines pasted", "orders pasted", "arrows", "a line thrown away"],
)
def test_keys_make_a_line(read, keys, line):
    assert read(keys) == line


def test_ctrl_d_ends_the_input_and_ctrl_c_interrupts(read):
    with pytest.raises(EOFError):
        read("\x04")
    with pytest.raises(KeyboardInterrupt):
        read("half a line\x03")
