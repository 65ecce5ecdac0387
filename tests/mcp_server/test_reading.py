"""Half a letter in a line of an assistant is a mark, and no line is left without an answer for it."""

from __future__ import annotations

import io
import json

import pytest

from chat.mcp.reading import lines_of, mended


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"tea \ud83c", "tea \ufffd"),
        (r"\uDF4F tea", "\ufffd tea"),
        (r"\ud83c\udf4f apples", "🍏 apples"),
        (r"C:\\ud800", "C:\\ud800"),
    ],
    ids=["a first half", "a second half", "both halves", "no half at all"],
)
def test_halves_of_letters_are_marks(written, read):
    assert json.loads(mended(b'{"text": "%s"}\n' % written.encode()))["text"] == read


@pytest.mark.parametrize(
    "line", [b'{"text": "tea"}\n', b"\n", b"no JSON \\ud800\n", b"[" * 100_000 + b"\\ud800"]
)
def test_other_lines_are_left_as_they_are(line):
    assert mended(line) is line


def test_lines_come_one_at_a_time_and_what_is_no_letter_is_a_mark():
    lines = lines_of(io.BytesIO(b"caf\xe9\n" + "naïve 🍏\n".encode() + b"last"))
    assert [lines.readline() for _ in range(4)] == ["caf\ufffd\n", "naïve 🍏\n", "last", ""]
