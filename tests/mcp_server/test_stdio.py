"""Lone surrogates and invalid bytes in the input are replaced, and every line is answered."""

from __future__ import annotations

import io
import json

import pytest

from chat.mcp.server import mend_line, open_lines


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
def test_lone_surrogates_are_replaced(written, read):
    assert json.loads(mend_line(b'{"text": "%s"}\n' % written.encode()))["text"] == read


@pytest.mark.parametrize(
    "line", [b'{"text": "tea"}\n', b"\n", b"no JSON \\ud800\n", b"[" * 100_000 + b"\\ud800"]
)
def test_other_lines_stay_unchanged(line):
    assert mend_line(line) is line


def test_lines_are_read_one_at_a_time_and_invalid_bytes_are_replaced():
    lines = open_lines(io.BytesIO(b"caf\xe9\n" + "naïve 🍏\n".encode() + b"last"))
    assert [lines.readline() for _ in range(4)] == ["caf\ufffd\n", "naïve 🍏\n", "last", ""]
