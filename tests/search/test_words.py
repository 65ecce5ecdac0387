"""Words are folded to one form for case, accents and width; scripts without spaces split into characters."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.search.words import LONGEST, iter_words, split_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The BOAT's wind", "the boat s wind"),
        ("Straße, CAFÉ, naïve Ärzte", "strasse cafe naive arzte"),
        ("cafe\u0301", "cafe"),
        ("Łódź, Đà Nẵng, Søren, Ærø, Œuvre", "lodz da nang soren aero oeuvre"),
        ("IĞDIR ığdır İstanbul", "igdir igdir istanbul"),
        ("我住在上海 since 2020", "我 住 在 上 海 since 2020"),
        ("東京でラーメン", "東 京 で ラ ー メ ン"),
        ("か\u3099", "が"),
        ("한국어를", "한 국 어 를"),
        ("ภาษาไทย", "ภ า ษ า ไ ท ย"),
        ("हिन्दी में", "हिन्दी में"),
        ("Ёлка и ЙОД", "елка и иод"),
        ("Ελλάδα", "ελλαδα"),
        ("مُحَمَّد", "محمد"),
        ("C++ and C# at 50 %", "c + + and c # at 50 %"),
        ("snake_case e-mail a@b.de", "snake case e mail a @ b de"),
        ("👍🏽 ok", "👍 ok"),
        ("ﬁne ＡＢＣ ½", "fine abc 1 2"),
        ("… -- ''", ""),
    ],
)
def test_texts_are_split_into_folded_words(text, expected):
    assert " ".join(split_words(text)) == expected


@given(st.text())
def test_splitting_words_again_changes_nothing(text):
    found = split_words(text)
    for word in found:
        assert 0 < len(word) <= LONGEST
        assert not any(c.isspace() or c in "\"'\\()*:^-" for c in word)
    again = split_words(" ".join(found))
    assert again == found


@given(st.text())
def test_word_positions_are_in_order_and_in_range(text):
    plain = unicodedata.normalize("NFC", text)
    last = 0
    for word in iter_words(plain):
        assert last <= word.start < word.end <= len(plain) or word.start < last == word.end
        last = word.end
    assert [word.form for word in iter_words(plain)] == split_words(text)
