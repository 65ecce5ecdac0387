"""A name that only past chats know makes a message quote them, whatever else it says."""

from __future__ import annotations

import pytest

from chat.past_chats.names import find_names, mentions_any
from tests.past_chats.conftest import list_quoted


def knows(word: str) -> bool:
    return word in {"London", "Python", "Remind"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("What mustn't I serve when Tamsin visits?", {"tamsin"}),
        ("Write to Pettifer's sister in London.", {"pettifer"}),
        ("Ask Dr. Kowalski about d'Élodie and O'Brien.", {"kowalski", "élodie", "brien"}),
        ("Mungo ate it.", set()),
        ("I told you: Mungo ate it. Brannoch did not.", set()),
        ("¿Cuándo se usa Python?", set()),
        ("I've seen NoneType and LibreOffice, and I'm fed up.", set()),
        ("Was verlangt der Eigentümer für meine Töpferräume?", set()),
        ("歯の治療、いつ？", set()),
    ],
)
def test_names_are_capitalised_words_inside_of_a_sentence_that_are_not_generally_known(text, names):
    assert find_names(text, knows) == names


def test_a_text_mentions_a_name_as_a_word_in_any_case():
    assert mentions_any("TAMSIN's cake", {"tamsin"})
    assert not mentions_any("Tamsinia", {"tamsin"})


def test_a_plain_request_about_a_name_of_past_chats_is_quoted_for(remember, ask):
    remember("My friend Tamsin gets hives from sesame.", "Then leave the tahini out.")
    remember("How do I prune roses?", "In March, above an outer bud.")
    quoted = list_quoted(ask("Write a short menu for the evening with Tamsin, please."))
    assert any("sesame" in text for text in quoted)


def test_a_name_that_no_past_chat_has_changes_nothing(remember, ask):
    remember("How do I prune roses?", "In March, above an outer bud.")
    assert list_quoted(ask("Write a short menu for the evening with Tamsin, please.")) == []


def test_embedders_know_common_words_and_famous_names(embedder):
    assert all(map(embedder.knows_word, ("London", "Python", "Monday", "Mozart")))
    assert not any(map(embedder.knows_word, ("Tamsin", "Pettifer", "Okafor")))
