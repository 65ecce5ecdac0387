"""The reader parses JSON value by value from chunks of any size and reports the position of a fault."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.errors import BadFile
from chat.porting import reader
from chat.porting.reader import Reader

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=15,
)


class Trickle(io.StringIO):
    """A text stream whose read returns a few characters at a time, whatever size is requested."""

    def __init__(self, text, size):
        super().__init__(text)
        self._size = size

    def read(self, size=-1):
        return super().read(self._size)


@given(rows=st.lists(values, max_size=5), size=st.integers(1, 9), indent=st.sampled_from([None, 1]))
def test_a_list_is_read_item_by_item_from_any_chunk_size(rows, size, indent):
    document = Reader(Trickle(json.dumps(rows, indent=indent), size))
    assert [document.value() for _ in document.items()] == rows
    document.end()


@given(members=st.dictionaries(st.text("abc", min_size=1), values, max_size=5), size=st.integers(1, 9))
def test_an_object_is_read_member_by_member(members, size):
    document = Reader(Trickle(json.dumps(members), size))
    assert {name: document.value() for name in document.members()} == members


def read_list(text, size=7):
    document = Reader(Trickle(text, size))
    found = [document.value() for _ in document.items()]
    document.end()
    return found


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[1,\n 2,\n oops]", "line 3, column 2"),
        ('[{"a": 1},\n {"a": }]', "line 2, column 8"),
        ("[1, 2", "line 1, column 6"),
        ('["an end that never', "line 1, column 2"),
        ("[1] [2]", "line 1, column 5"),
        ("[1, NaN]", "line 1, column 5"),
        ("[1 2]", "line 1, column 4"),
        ("[" * 100_000, "line 1, column 2"),
        ("[1, " + "9" * 5000 + "]", "line 1, column 5"),
        ("", "line 1, column 1"),
    ],
)
def test_a_fault_is_reported_with_line_and_column(text, where):
    with pytest.raises(BadFile) as fault:
        read_list(text, 1 << 20)
    assert str(fault.value.where) == where


@given(text=st.text('[]{}",:0123456789 \n\\aetrufln', max_size=40), size=st.integers(1, 9))
def test_any_text_is_parsed_like_json_or_refused(text, size):
    try:
        expected = json.loads(text)
    except ValueError:
        expected = None
    if isinstance(expected, list):
        assert read_list(text, size) == expected
    else:
        with pytest.raises(BadFile):
            read_list(text, size)


def test_a_value_over_the_size_limit_is_refused(monkeypatch):
    monkeypatch.setattr(reader, "MOST_IN_A_VALUE", 100)
    with pytest.raises(BadFile, match="too large"):
        read_list('["' + "x" * 500 + '"]')


def test_null_characters_and_lone_surrogates_are_removed_or_replaced():
    assert read_list('["a\\u0000b", {"x": "\\ud800!"}, "\\ud83d\\ude00"]') == ["ab", {"x": "�!"}, "😀"]
