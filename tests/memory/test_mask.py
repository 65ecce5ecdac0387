"""Foreign text in a message is hidden before extraction; the user's own statements stay."""

import pytest

from chat.memory.mask import HIDDEN, is_worth_extracting, mask_foreign_text


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
def test_foreign_text_is_hidden(shown: str, hidden: str) -> None:
    assert hidden not in mask_foreign_text(shown)


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
        'I have a 27" monitor, I live in Leeds and my desk is 60" wide.',
        "From: Berlin\nTo: Munich\nI always travel by train because I hate flying.",
    ],
)
def test_own_statements_stay_unchanged(said: str) -> None:
    assert mask_foreign_text(said) == said


def test_a_long_paragraph_is_hidden_and_a_short_one_stays() -> None:
    document = "The tenant lives in Riga and keeps two dogs. " * 20
    masked = mask_foreign_text(f"I'm a notary.\n\n{document}")
    assert masked == f"I'm a notary.\n\n{HIDDEN}"


def test_masking_is_idempotent() -> None:
    once = mask_foreign_text("Look `x` at https://a.example and\n> this\n> and that")
    assert mask_foreign_text(once) == once


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
def test_courtesies_and_commands_are_not_extracted(said: str) -> None:
    assert not is_worth_extracting(said)


def test_under_three_words_only_an_answer_is_extracted() -> None:
    assert not is_worth_extracting("In Toledo")
    assert is_worth_extracting("In Toledo", question="Where do you live?")


@pytest.mark.parametrize("said", ["I'm colour-blind.", "i'm vegan", "Tutoie-moi stp", "Soy celíaca."])
def test_two_words_may_state_a_fact_or_a_form_of_address(said: str) -> None:
    assert is_worth_extracting(said)


@pytest.mark.parametrize("said", ["I'm back", "I'm done!", "I'm hungry", "In Toledo"])
def test_two_words_about_the_moment_are_not_extracted(said: str) -> None:
    assert not is_worth_extracting(said)


def test_a_bare_yes_is_not_extracted_even_as_an_answer() -> None:
    assert not is_worth_extracting("Yes.", question="Do you live in Toledo?")


def test_chinese_words_are_counted_without_spaces() -> None:
    assert is_worth_extracting("我住在成都")


@pytest.mark.parametrize("said", ["わたしはねこがすきです。", "저는 간호사예요", "ฉันเป็นพยาบาล"])
def test_words_of_scripts_without_spaces_are_counted_by_their_characters(said: str) -> None:
    assert is_worth_extracting(said)
