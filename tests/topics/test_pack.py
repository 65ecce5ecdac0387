"""Packed contents are unpacked unchanged, or damage is detected."""

from __future__ import annotations

import gzip
import hashlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.topics.pack import CorruptArchive, pack_contents, unpack_contents

# Any text, lone surrogates too: what a model writes is not always well formed.
texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=300)
contents = st.dictionaries(st.integers(1, 10_000), texts, max_size=20)


@given(contents)
def test_any_text_is_unpacked_unchanged_and_in_order(given_contents):
    stored = pack_contents(given_contents)
    back = unpack_contents(stored.data, stored.sha256)
    assert back == given_contents
    assert list(back) == sorted(given_contents)


@given(contents)
def test_equal_contents_give_equal_bytes_whatever_their_order(given_contents):
    backwards = dict(reversed(list(given_contents.items())))
    assert pack_contents(given_contents) == pack_contents(backwards)


def test_another_checksum_is_refused():
    stored = pack_contents({1: "Hello"})
    with pytest.raises(CorruptArchive, match="checksum"):
        unpack_contents(stored.data, "0" * 64)


def test_another_content_under_the_old_checksum_is_refused():
    other = gzip.compress(b'[[1,"Goodbye"]]')
    with pytest.raises(CorruptArchive, match="checksum"):
        unpack_contents(other, pack_contents({1: "Hello"}).sha256)


@given(st.data())
def test_a_changed_or_missing_byte_is_detected(data):
    stored = pack_contents({1: "The ferry leaves at nine.", 2: "Bring the tickets."})
    place = data.draw(st.integers(0, len(stored.data) - 1))
    flip = data.draw(st.integers(1, 255))
    damaged = bytearray(stored.data)
    damaged[place] ^= flip
    for broken in (bytes(damaged), stored.data[:place]):
        with suppress(CorruptArchive):
            assert unpack_contents(broken, stored.sha256) == {
                1: "The ferry leaves at nine.",
                2: "Bring the tickets.",
            }


def test_the_checksum_is_of_what_was_packed():
    assert pack_contents({7: "ja"}).sha256 == hashlib.sha256(b'[[7,"ja"]]').hexdigest()
