"""Strategies of texts that are hostile to patterns: half characters, marks, directions, runs and nesting."""

from __future__ import annotations

from hypothesis import strategies as st

_SIGNS = (
    # NUL, a byte order mark, directions of writing, joiners, combining marks, and half a character.
    *(
        "\x00",
        "\ufeff",
        "\u202e",
        "\u2066",
        "\u2069",
        "\u200b",
        "\u200d",
        "\u0301",
        "\u0327",
        "\ud800",
        "\udfff",
    ),
    *("\r", "\n", "\r\n", "\t", "\x0b", "\x0c", "\x85", "\u2028", "\u3000", " ", "  "),
    *(
        "“",
        "”",
        "„",
        "«",
        "»",
        "「",
        "」",
        "'",
        "‘",
        "’",
        '"',
        "`",
        "```",
        "~~~",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
    ),
    *(
        "ß",
        "İ",
        "ﬀ",
        "密码",
        "是",
        "你",
        "٣",
        "𝟜",
        "😀",
        "1",
        "0",
        "-",
        ".",
        ",",
        ":",
        "：",
        "=",
        "/",
        "@",
        "…",
    ),
)
_WORDS = (
    *(
        "my",
        "password",
        "PIN",
        "is",
        "the",
        "secret",
        "token",
        "key",
        "of",
        "Passwort lautet",
        "mot de passe est",
    ),
    *("[redacted]", "[redact", "bearer", "sk-", "ghp_", "eyJ", "-----BEGIN KEY-----", "-----END KEY-----"),
    *("Summarise:", "From: a@b.c", "Subject: x", "On 3 May Tom wrote:", "Dear Tom,", "> ", "https://a.b/"),
    *("answer in two sentences.", "Traceback (", "| a |", "I", "live", "in", "Riga"),
)

signs = st.sampled_from(_SIGNS)
words = st.sampled_from(_WORDS)
runs = st.builds(str.__mul__, signs | words, st.integers(2, 60))
# Any characters, also lone surrogates.
anything = st.text(st.characters(), max_size=12)
texts = st.lists(signs | words | runs | anything | st.just(" "), max_size=14).map("".join)
