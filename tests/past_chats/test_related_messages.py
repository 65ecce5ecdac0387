"""The search page finds by meaning too: by itself where few messages have the words, else on request."""

from __future__ import annotations

import pytest

from chat.models import Conversation
from chat.past_chats.related_messages import find_related_messages

RADIATOR = "The radiator in the living room stays cold although the boiler runs."


def read(client, **query) -> str:
    return client.get("/search/", query).content.decode()


def test_a_search_without_a_shared_word_finds_by_meaning(ours, remember):
    remember(RADIATOR, "Bleed it first.")
    remember("Which wine goes with fish?", "A dry Riesling.")
    page = read(ours, q="heating is broken")
    assert "Similar in meaning" in page
    assert page.index("radiator") > page.index("Similar in meaning")
    assert "Nothing contains all these words." in page


def test_a_question_typed_as_a_sentence_finds_its_answer(ours_htmx, remember):
    remember("Der Klempner wollte 240 Euro für das neue Ventil.", "Das ist viel.")
    assert "240 Euro" in read(ours_htmx, q="Wie viel hat der Klempner nochmal verlangt?")


def test_many_results_leave_it_to_the_user(ours, remember):
    for n in range(6):
        remember(f"The heating was checked in year {n}.", "Good.")
    remember(RADIATOR, "Bleed it first.")
    page = read(ours, q="heating")
    assert "Similar in meaning" not in page
    assert "Search by meaning too" in page
    page = read(ours, q="heating", meaning="on")
    assert "Similar in meaning" in page
    assert "Search by meaning too" not in page


def test_a_result_is_not_listed_twice(owner, remember):
    chat = remember(RADIATOR, "Bleed it first.")
    message = chat.messages.get(seq=1)
    assert message.pk not in {hit.id for hit in find_related_messages(owner, "cold radiator", {message.pk})}


def test_words_without_any_meaning_find_nothing(ours, remember):
    remember(RADIATOR, "Bleed it first.")
    assert "Nothing was found." in read(ours, q="xqzv")


def test_other_owners_and_deleted_chats_are_not_found(owner, other, remember):
    chat = remember(RADIATOR, "Bleed it first.", owner=other)
    assert find_related_messages(owner, "cold radiator") == []
    assert find_related_messages(other, "cold radiator")
    chat.delete()
    assert find_related_messages(other, "cold radiator") == []


@pytest.mark.parametrize("fields", [{"cleared_through": 2}, {"memory_mode": "off"}])
def test_what_the_model_does_not_see_is_still_found_by_its_owner(owner, remember, fields):
    chat = remember(RADIATOR, "Bleed it first.")
    Conversation.objects.filter(pk=chat.pk).update(**fields)
    assert find_related_messages(owner, "the heating stays cold")


def test_without_an_embedder_the_words_are_searched_only(ours, store_chat, scripted):
    store_chat(RADIATOR, "Bleed it first.")
    assert "radiator" in read(ours, q="radiator")
    assert "Similar in meaning" not in read(ours, q="heating")
