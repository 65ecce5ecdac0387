"""The words of a message are reduced to stems, by which earlier conversations are searched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory.language import NAMES
from chat.memory.text_similarity import tokenize
from chat.past_chats.ranking import compile_beginnings
from chat.past_chats.stems import extract_stems, stem_in_language


@pytest.mark.parametrize(
    ("language", "asked", "said"),
    [
        ("en", "deciding", "decided"),
        ("en", "courses", "course"),
        ("de", "Wohnung", "Wohnungen"),
        ("fr", "décider", "décidé"),
        ("es", "cuentas", "cuenta"),
        ("ru", "книгу", "книги"),
    ],
)
def test_forms_of_a_word_share_their_stem(language, asked, said):
    [(stem, beginning)] = extract_stems(asked, language).items()
    assert stem_in_language(said.casefold(), language) == stem
    assert said.casefold().startswith(beginning)


def test_function_words_are_left_out():
    assert set(extract_stems("What is the name of my course?", "en")) == {"cours"}


def test_scripts_without_blanks_give_pairs_of_characters():
    assert set(extract_stems("慢面团", "zh")) == {"慢面", "面团"}


@given(st.text(max_size=80), st.sampled_from(sorted(NAMES)))
def test_each_word_begins_with_its_beginning(text, language):
    words = [word.casefold() for word in tokenize(text)]
    spaceless = "".join(words)
    for stem, beginning in extract_stems(text, language).items():
        assert beginning
        assert any(word.startswith(beginning) for word in words) or stem in spaceless


def test_a_pattern_finds_whole_words_and_overlapping_pairs():
    pattern = compile_beginnings(["happ", "慢面", "面团"])
    found = [next(filter(None, match.groups())) for match in pattern.finditer("Happily unhappy 慢面团")]
    assert found == ["Happily", "慢面", "面团"]
    assert compile_beginnings([]) is None
