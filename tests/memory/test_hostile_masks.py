"""Masking takes any text, leaves no secret, and takes twice the time for twice the text."""

from __future__ import annotations

import string
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chat.memory.mask import HIDDEN, count_words, is_worth_extracting, mask_foreign_text
from chat.memory.secrets import REDACTED, contains_secret, redact_secrets

from .hostile_texts import texts

LETTERS = string.ascii_letters + string.digits
# A search that takes longer for twice the text than this many times; quadratic time takes 4 times.
MOST, SHORTEST = 3.0, 0.05
PREFIXES = (
    "sk-",
    "pk_",
    "rk-live-",
    "ghp_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "AIza",
    "hf_",
    "pypi-",
    "npm_",
)
SENTENCES = (
    "my password is {}",
    "Password: {}",
    "The PIN is {}.",
    "my API key: {}",
    "mein Passwort lautet {}",
    "Kennwort: „{}“",
    "mon mot de passe est {}",
    "mi contraseña es {}",
    "la mia password è «{}»",
    "a minha senha é {}",
    "我的密码是{}",
    'the client secret is "{}"',
    "wifi password {}",
    "login token={}",
)


def add_check_digit(digits: str) -> str:
    """Return the digits with the one behind them that makes a card number."""
    doubled = [int(d) * 2 - 9 * (int(d) > 4) for d in digits[::-2]]
    rest = [int(d) for d in digits[-2::-2]]
    return digits + str(-(sum(doubled) + sum(rest)) % 10)


@st.composite
def cards(draw) -> str:
    number = add_check_digit(draw(st.text("0123456789", min_size=12, max_size=18)))
    between = draw(st.sampled_from(["", " ", "-"]))
    return between.join(number[i : i + 4] for i in range(0, len(number), 4))


keys = st.builds(str.__add__, st.sampled_from(PREFIXES), st.text(LETTERS, min_size=32, max_size=48))
passwords = st.builds(
    "{}{}{}".format,
    st.sampled_from(LETTERS),
    st.text(LETTERS + "!#$%&*+-_?", min_size=4, max_size=20),
    st.sampled_from("0123456789"),
)


@settings(max_examples=300)
@given(texts)
def test_any_text_is_redacted_and_redacting_again_changes_nothing(text):
    redacted = redact_secrets(text)
    assert redact_secrets(redacted) == redacted
    assert contains_secret(text) == (REDACTED in text or redacted != text)


@settings(max_examples=300)
@given(texts)
def test_any_text_is_masked_and_nothing_is_added_but_the_mark(text):
    masked = mask_foreign_text(text)
    rest = text
    for kept in masked.replace("\n\n", HIDDEN).split(HIDDEN):
        # In their order, so that every offset of a kept part lies within the text.
        place = rest.find(kept.strip())
        assert place >= 0, kept
        rest = rest[place + len(kept.strip()) :]
    assert count_words(masked) >= 0
    assert is_worth_extracting(masked) in (True, False)


@settings(max_examples=200)
@given(before=texts, card=cards(), after=texts)
def test_no_card_number_survives(before, card, after):
    assert f" x {card} y " not in redact_secrets(f"{before} x {card} y {after}")


@settings(max_examples=200)
@given(before=texts, key=keys, after=texts)
def test_no_key_of_a_known_service_survives(before, key, after):
    assert key not in redact_secrets(f"{before} {key} {after}")


@settings(max_examples=300)
@given(before=texts, sentence=st.sampled_from(SENTENCES), password=passwords, after=texts)
@example(before="", sentence="wifi password {}", password="000000", after="")
@example(before="", sentence="wifi password {}", password="0!!!!0", after="")
def test_no_password_in_a_sentence_survives(before, sentence, password, after):
    redacted = redact_secrets(f"{before}\n{sentence.format(password)}\n{after}")
    assert sentence.format(password) not in redacted


@pytest.mark.parametrize("function", [redact_secrets, mask_foreign_text, is_worth_extracting])
def test_twice_a_hostile_text_takes_about_twice_the_time(function):
    pieces = (
        *(
            "a",
            " ",
            "1 ",
            "12-",
            "“",
            "“x”",
            "「",
            "«",
            "'",
            "` ",
            "[redacted",
            "password ",
            "password is is ",
        ),
        *(
            "my secret of ",
            "sk-",
            "eyJa.",
            "bearer ",
            "-----BEGIN KEY-----",
            "From: ",
            "\n> ",
            "\n\n",
            "\r\n",
        ),
        *(
            "Dear ",
            "\nDear x",
            "On 3 wrote",
            "Summarise ",
            "a@b.",
            "https://",
            "\u0301",
            "\ud800",
            "密码是",
            "ok ",
        ),
    )
    slow = [piece for piece in pieces if is_slow(function, piece)]
    assert slow == []


def is_slow(function, piece: str) -> bool:
    """Return whether the function takes more than MOST times as long for twice as many pieces."""
    short, long = (piece * (length // len(piece)) + "\x00" for length in (10_000, 20_000))
    took = measure(function, long)
    return took >= SHORTEST and took > MOST * measure(function, short)


def measure(function, text: str) -> float:
    """Return the least processor time of three calls."""
    times = []
    for _ in range(3):
        began = time.process_time()
        function(text)
        times.append(time.process_time() - began)
        if times[-1] < SHORTEST:
            break
    return min(times)


@pytest.mark.parametrize("password", ["my$ecret1", "a-0000", "to!morrow9", "not4you"])
def test_a_password_that_begins_with_an_ordinary_word_is_redacted(password):
    assert password not in redact_secrets(f"My password is {password}.")


@pytest.mark.parametrize(
    "sentence",
    ["My password is not safe.", "The PIN is wrong.", "My password is lost, sorry.", "My token is in"],
)
def test_a_sentence_about_a_password_stays(sentence):
    assert redact_secrets(sentence) == sentence
