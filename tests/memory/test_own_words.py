"""A sentence that the model often misreads becomes a fact in the user's own words."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory import own_words
from chat.memory.fact_dates import NO_DATES, find_fact_dates, tell_with_date
from chat.memory.formatting import (
    extract_own_words,
    format_for_display,
    format_for_quotation,
    format_own_words,
)
from chat.memory.kind_classifier import classify_kind
from chat.memory.kind_rules import guess_kind, settle_kind
from chat.memory.kinds import KINDS
from tests.memory.scripted_extraction import extract_with_answers


def list_texts(found):
    return [candidate.text for candidate in found.candidates]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            "no cream though, dairy and I parted ways years ago",
            "“no cream though, dairy and I parted ways years ago”",
        ),
        ("Llevo dos años con las oposiciones a bombera.", "“Llevo dos años con las oposiciones a bombera”"),
        (
            "if it's prod I'm touching, show me the rollback command before the apply command.",
            "“if it's prod I'm touching, show me the rollback command before the apply command”",
        ),
        (
            "gluten is out, coeliac, found out the hard way at my own wedding",
            "“gluten is out, coeliac, found out the hard way at my own wedding”",
        ),
    ],
)
def test_a_hard_sentence_is_kept_as_it_was_written(embedder, message, text):
    found, provider = extract_with_answers(message)
    assert list_texts(found) == [text]
    assert found.candidates[0].in_own_words
    assert not provider.calls


def test_the_model_reads_a_short_sentence_in_the_first_person(embedder):
    found, provider = extract_with_answers(
        "I translate poems into Swedish.", "job: User translates poems into Swedish"
    )
    assert list_texts(found) == ["User translates poems into Swedish"]
    assert len(provider.calls) == 1


def test_the_model_reads_a_long_sentence_that_states_a_change(embedder):
    _, provider = extract_with_answers(
        "finally got the keys to the new flat in antwerp, we moved in on saturday",
        "home: User lives in Antwerp",
    )
    assert provider.calls


def test_the_own_words_are_kept_where_no_note_is_accepted(embedder):
    found, _ = extract_with_answers(
        "My sister Noor is a welder in Ghent.",
        "family: User has a brother in Peru",
        "family: User has a brother in Peru",
    )
    assert list_texts(found) == ["“My sister Noor is a welder in Ghent”"]


def test_the_model_reads_all_sentences_without_an_embedder():
    _, provider = extract_with_answers("gluten is out, coeliac, found out at my wedding", "none")
    assert provider.calls


@pytest.mark.parametrize(
    "message",
    [
        "make it shorter and less stiff please",
        "the build fails again on the second job, no idea why",
        "Me.",
        "what is the tallest building in Chicago?",
        "what should I bring to Fenna's birthday dinner, any idea?",
        "off the record, gluten is out since I'm coeliac",
    ],
)
def test_a_sentence_without_a_lasting_fact_is_not_kept(embedder, message):
    found, _ = extract_with_answers(message, "none")
    assert list_texts(found) == []


def test_a_clause_that_only_asks_is_cut_off(embedder):
    found, _ = extract_with_answers(
        "can you find me a quiet hoover, since my girlfriend Fenna works nights at the hospital"
    )
    [text] = list_texts(found)
    assert "girlfriend Fenna works nights" in text
    assert "hoover" not in text


def test_a_secret_in_a_hard_sentence_is_not_kept(embedder):
    found, _ = extract_with_answers("the wifi at our farm, password is Tulip4711x, reaches the barn")
    assert "Tulip" not in "".join(list_texts(found))


def test_own_words_never_replace_a_value(embedder):
    for sentence in ("thirty years a ship's cook", "Cork is home since march", "70 next week, imagine"):
        assert not KINDS[classify_kind(format_own_words(sentence, 300), embedder)].single


def test_own_words_with_a_relative_date_have_the_day_on_which_they_were_written(embedder):
    quoted = own_words.quote_sentence(
        "my own bakery opens tomorrow after nine years of saving", "en", date(2026, 11, 29), True, []
    )
    assert quoted is not None
    assert quoted.text == "“my own bakery opens tomorrow after nine years of saving” (29 November 2026)"
    assert extract_own_words(quoted.text) == "my own bakery opens tomorrow after nine years of saving"


def test_a_sentence_that_is_known_is_not_kept_twice(embedder):
    said = "gluten is out, coeliac, found out the hard way at my own wedding."
    found, _ = extract_with_answers(f"{said} {said}")
    assert len(found.candidates) == 1


def test_a_card_shows_own_words_between_quotation_marks():
    assert format_for_display("“I keep nine geese”") == "“I keep nine geese”"
    assert format_for_quotation("“I keep nine geese”") == "I keep nine geese"
    assert format_for_quotation("“we open tomorrow” (3 May 2026)") == "we open tomorrow (3 May 2026)"
    assert format_for_quotation("User lives in Oslo", inside=True) == "lives in Oslo"


@pytest.mark.parametrize("sentence", ["my name is Ewa Lindqvist", "Cork is home since march", "I'm 70 now"])
def test_no_rule_and_no_classifier_gives_own_words_a_kind_with_one_value(embedder, sentence):
    text = format_own_words(sentence, 300)
    assert not KINDS[guess_kind(text)].single
    assert not KINDS[settle_kind("name", text)].single


def test_the_model_reads_what_is_too_short_to_be_quoted(embedder):
    found, provider = extract_with_answers("Peanut allergy, severe.", "health: User has a peanut allergy")
    assert provider.calls
    assert list_texts(found) == ["User has a peanut allergy"]


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        (
            "we might move to Norway next year, my wife is a geologist there",
            "goal?: User wants to move to Norway",
        ),
        ("I stopped smoking five years ago.", "none"),
    ],
)
def test_a_refused_note_and_an_ending_do_not_come_back_as_own_words(embedder, message, answer):
    found, _ = extract_with_answers(message, answer, answer)
    assert not [text for text in list_texts(found) if "might move" in text or "smoking" in text]


def test_what_was_asked_to_be_remembered_stays_explicit(embedder):
    said = "Remember that the dog of our family is called Rex and eats no chicken at all since the operation."
    found, _ = extract_with_answers(said, "none", "none")
    assert [candidate.explicit for candidate in found.candidates] == [True]


def test_words_beside_masked_text_are_not_quoted(embedder):
    found, _ = extract_with_answers(
        'the motto of our family, "never sell the last cow of the herd", has hung in our kitchen since 1980'
    )
    assert list_texts(found) == []


def test_the_day_of_own_words_is_no_date_of_the_fact():
    text = "“my own bakery opened two years ago” (14 March 2026)"
    assert find_fact_dates(text, "event", date(2026, 3, 14)) == NO_DATES
    assert tell_with_date("“our dog is 3 years old”", date(2026, 3, 14)) == "“our dog is 3 years old”"


def test_inches_stay_inches_in_own_words():
    assert format_own_words('a 15" laptop', 300) == "“a 15″ laptop”"


@given(st.text(max_size=400))
def test_own_words_are_recognised_again(sentence):
    text = format_own_words(sentence, 300)
    assert len(text) <= 300
    assert extract_own_words(text) == text[1:-1]
    dated = format_own_words(sentence, 300, "3 May 2026")
    assert len(dated) <= 300
    assert text[1:-1].startswith(extract_own_words(dated))
    assert not set(text[1:-1]) & set('“”„"')


@given(st.text(alphabet="ab, .!?\n", max_size=80))
def test_trimming_returns_a_part_of_the_sentence(sentence):
    assert own_words._trim_to_statement(sentence or "a") in (sentence or "a")
