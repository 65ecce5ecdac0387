"""A search finds parts of words, such as "straße" in "Heinestraße", after the whole words."""

from __future__ import annotations

import pytest

from chat.search.search import HitKind, find

from .conftest import find_texts

pytestmark = pytest.mark.django_db


def test_parts_of_words_follow_where_few_messages_match(owner, add_exchange):
    add_exchange("Weather", "The sailboat needs wind.")
    assert find_texts(owner, "win sailboat") == ["The [sailboat] needs [win]d."]
    assert find_texts(owner, "boat") == ["The sail[boat] needs wind."]
    # Quoted words are whole ones, and two letters are too few.
    assert find_texts(owner, '"boat"') == find_texts(owner, "oa") == []


def test_a_part_of_a_german_word_or_of_an_identifier_is_found(owner, add_exchange):
    add_exchange("Wohnung", "Wir wohnen in der Heinestraße. Call getUserById there.")
    assert all("[Heinestraße]" in find_texts(owner, typed)[0] for typed in ("straße", "strasse"))
    assert "getUser[ById]" in find_texts(owner, "ById")[0]


def test_of_many_messages_with_a_part_of_a_word_the_newest_are_found(owner, add_exchange):
    chat = add_exchange("Boats", "A sailboat.")
    for _ in range(16):
        add_exchange("A sailboat.", "A sailboat.", chat)
    found = find(owner, "ilboat", kinds=[HitKind.MESSAGE])
    assert (len(found.hits), found.many) == (30, True)


def test_whole_words_come_before_parts_of_words(owner, add_exchange):
    chat = add_exchange("Boats", "A boat.")
    add_exchange("Boats", "A sailboat.", chat)
    assert find_texts(owner, "boat")[-1] == "A sail[boat]."
    assert find_texts(owner, '"sai"') == []
