"""Secrets are redacted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory.secrets import REDACTED, contains_secret, redact_secrets


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("My API key is sk-live-9aBBccDD00eeFF", "sk-live"),
        ("use ghp_abcdefghijklmnopqrstuvwxyz0123 for it", "ghp_"),
        ("Authorization: Bearer abcdef.ghijkl-mnop", "ghijkl"),
        ("my password is Tulip4711!", "Tulip"),
        ("Password: correcthorse", "correcthorse"),
        ("my password for the shop is correcthorse", "correcthorse"),
        ("my password manager login is hunter22", "hunter22"),
        ("the client secret is correcthorse", "correcthorse"),
        ("The secret of the API is swordfish", "swordfish"),
        ("mein Passwort bei Amazon lautet Sonnenblume", "Sonnenblume"),
        ("mi contraseña en el trabajo es girasol", "girasol"),
        ("my password these days is sunflower", "sunflower"),
        ("the wifi password hunter22", "hunter22"),
        ("mein Passwort lautet Sonne99", "Sonne99"),
        ("mon mot de passe est Soleil99", "Soleil99"),
        ("mi contraseña es Luna99", "Luna99"),
        ("a minha senha é Lua99", "Lua99"),
        ("我的密码是abc12345", "abc12345"),
        ("my PIN is 4711", "4711"),
        ("my PIN 4711 works at the gym too", "4711"),
        ("wifi password 000000", "000000"),
        ("my secret key 48151623", "48151623"),
        ("door pin code 1234#", "1234#"),
        ("card 4111 1111 1111 1111 declined", "1111"),
        ("It is my card.4111111111111111", "1111"),
        ("card 5500-0000-0000-0004", "0004"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIA"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----", "MIIE"),
        ("hash 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "9f86d"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", "eyJ"),
    ],
)
def test_a_secret_is_replaced_by_a_mark(text: str, secret: str) -> None:
    redacted = redact_secrets(text)
    assert secret not in redacted
    assert REDACTED in redacted
    assert contains_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "User lives at number 12 and was born in 1984",
        "User forgot the password for the shop",
        "my password is too long",
        "My password manager is Bitwarden and I live in Leeds.",
        "The secret of my sourdough is patience. I bake every Sunday.",
        "the secret to good bread is patience",
        "User's phone has 4111 1111 1111 1112 steps on record",
        "User works on internationalisation of Donaudampfschifffahrtsgesellschaft",
        "The number is 1.4111111111111111",
        "User collects tokens from old arcades",
        "User bought the ski pass 2026 in Davos",
        "User has changed the password 3 times",
        "I forgot my PIN\n\n1990 is my birth year",
        "I changed my password 2024-05-01",
        "User has a private key 4096 bits long",
    ],
)
def test_ordinary_words_and_numbers_stay(text: str) -> None:
    assert redact_secrets(text) == text
    assert not contains_secret(text)


@given(st.text())
def test_redacting_is_idempotent(text: str) -> None:
    assert redact_secrets(redact_secrets(text)) == redact_secrets(text)


@given(
    st.text(alphabet="abcXYZ 0123", max_size=30),
    st.text(alphabet="abcdefgXYZ0123456789", min_size=20, max_size=40),
)
def test_a_prefixed_key_never_survives_among_words(around: str, key: str) -> None:
    assert f"sk-{key}" not in redact_secrets(f"{around} sk-{key} {around}")
