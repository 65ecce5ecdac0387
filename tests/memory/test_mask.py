"""What the user shows is hidden before anything is read; what the user says stays."""

import pytest

from chat.memory.mask import HIDDEN, is_worth_reading, mask


@pytest.mark.parametrize(
    ("shown", "hidden"),
    [
        ("Look:\n```python\nowner = 'Petra'\n```\nthanks", "Petra"),
        ("An open fence:\n```\nowner = 'Petra'", "Petra"),
        ("Why is `city = 'Riga'` red?", "Riga"),
        ("> I live in Riga\nNonsense, isn't it?", "Riga"),
        ('She said "I have lived in Riga for years" to me', "Riga"),
        ("He wrote «je vis à Riga depuis dix ans» hier", "Riga"),
        ("Er sagte: „Ich wohne seit Jahren in Riga“ und ging", "Riga"),
        ("他说「我一直住在里加这个城市」", "里加"),
        ("Summarise this: 'I'm Petra and I've lived in Riga all my life'", "Riga"),
        ("Translate into Polish: I live in Riga with my cat", "Riga"),
        ("See https://riga.example/petra for more", "riga"),
        ("Write to petra@riga.example please", "petra"),
        ("From: Petra <p@x.example>\nSubject: Flat\nI live in Riga", "Riga"),
        ("Any idea?\n\nOn Monday, 2 March Petra wrote:\nI live in Riga", "Riga"),
        ("Shorten this, please.\n\nDear Ms Amadi,\nI live in Riga.\nKind regards,\nPetra", "Riga"),
        ("Kürzer bitte:\nSehr geehrte Frau Amadi,\nich wohne in Riga.\nPetra", "Riga"),
        ("It says\nTraceback (most recent call last):\nValueError: Riga", "Riga"),
        ("2026-01-02 10:00:01 ERROR city=Riga", "Riga"),
        ("Where is Riga? Answer in three sentences.", "three"),
        ("And is it large? Two sentences.", "Two"),
        ("Please explain it in one short paragraph", "short"),
        ("Was ist Lärche? Antworte in einem Satz.", "Satz"),
    ],
)
def test_what_is_shown_is_hidden(shown: str, hidden: str) -> None:
    assert hidden not in mask(shown)


@pytest.mark.parametrize(
    "said",
    [
        "I'm Petra and I don't live in Riga, it's my sister's town.",
        'I play "Moon River" on the cello.',
        "Always answer in two sentences.",
        "I want answers in two sentences.",
        "From now on reply in one sentence.",
        "My poem has four lines.",
        "Dear all,\nI live in Riga.\nPetra",
        "My rule: no meetings before ten.",
        "J'habite à Riga et j'aime l'hiver.",
    ],
)
def test_what_is_said_stays_word_for_word(said: str) -> None:
    assert mask(said) == said


def test_a_long_pasted_paragraph_is_hidden_and_the_remark_beside_it_stays() -> None:
    document = "The tenant lives in Riga and keeps two dogs. " * 20
    masked = mask(f"I'm a notary.\n\n{document}")
    assert masked == f"I'm a notary.\n\n{HIDDEN}"


def test_masking_twice_changes_nothing_more() -> None:
    once = mask("Look `x` at https://a.example and\n> this\n> and that")
    assert mask(once) == once


@pytest.mark.parametrize(
    "said",
    [
        "hello",
        "hi there!",
        "ok thanks",
        "Merci beaucoup",
        "vielen Dank!",
        "谢谢",
        "go on",
        "/clear",
        "ok, sounds good",
        HIDDEN,
    ],
)
def test_courtesies_and_commands_are_not_worth_reading(said: str) -> None:
    assert not is_worth_reading(said)


def test_under_three_words_only_an_answer_is_worth_reading() -> None:
    assert not is_worth_reading("In Toledo")
    assert is_worth_reading("In Toledo", question="Where do you live?")


@pytest.mark.parametrize("said", ["I'm colour-blind.", "i'm vegan", "Tutoie-moi stp", "Soy celíaca."])
def test_two_words_may_say_what_somebody_is_or_how_to_speak_to_them(said: str) -> None:
    assert is_worth_reading(said)


@pytest.mark.parametrize("said", ["I'm back", "I'm done!", "I'm hungry", "In Toledo"])
def test_two_words_about_the_moment_are_not_worth_reading(said: str) -> None:
    assert not is_worth_reading(said)


def test_a_bare_yes_is_not_worth_reading_even_as_an_answer() -> None:
    assert not is_worth_reading("Yes.", question="Do you live in Toledo?")


def test_chinese_needs_no_spaces_to_be_worth_reading() -> None:
    assert is_worth_reading("我住在成都")
