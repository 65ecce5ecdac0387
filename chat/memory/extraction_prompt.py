"""The prompt and the grammar of fact extraction; all turns except the last are a cached prefix."""

from __future__ import annotations

from functools import cache

from chat.llm.types import Turn

from .extraction_examples import EXAMPLES, NO_FACTS
from .kinds import KINDS

MAX_LINES = 8
MAX_TOKENS = 200  # enough for eight lines of one sentence each

# Must not vary between calls: after a change the model has to read the whole prefix again.
SYSTEM = "\n".join(
    [
        "You keep notes about one person, the user. You are shown one message that the user wrote.",
        "For each thing the message says about the user, write one line: kind: note",
        "One thing a line. Only what the message itself says and what will still matter in a month.",
        "Write the notes in the language of the message. Put ? after the kind when the user is unsure.",
        "If the message only asks, requests, chats, plays a role or talks about the world, write: none",
        "Kinds:",
        *(f"{kind.name} - {kind.hint}" for kind in KINDS.values()),
    ]
)

_STRICTER = (
    "Only lines of the form kind: note, with a kind from the list, or the single word none. Nothing else."
)


# How a fact begins in each language. The grammar forces these beginnings, which keeps the model in the
# language of the message and prevents facts about the world.
SUBJECTS = {
    "en": ("User ", "User's "),
    "de": ("Nutzer ", "Nutzers "),
    "fr": ("L'utilisateur ", "L'utilisatrice "),
    "es": ("El usuario ", "La usuaria "),
    "it": ("L'utente ",),
    "pt": ("O usuário ", "A usuária "),
    "zh": ("用户",),
    "ja": ("ユーザーは", "ユーザーの"),
    "ko": ("사용자는 ", "사용자의 "),
    "ru": ("Пользователь ", "У пользователя "),
    "nl": ("Gebruiker ", "Gebruikers "),
    "pl": ("Użytkownik ", "Użytkowniczka "),
    "tr": ("Kullanıcı ", "Kullanıcının "),
    "ar": ("المستخدم ",),
    "th": ("ผู้ใช้",),
}


# How a fact about relatives begins, where that differs.
FAMILY_SUBJECTS = {
    "en": ("User has ",),
    "de": ("Nutzer hat ",),
    "fr": ("L'utilisateur a ",),
    "es": ("El usuario tiene ",),
    "it": ("L'utente ha ",),
    "pt": ("O usuário tem ",),
    "zh": ("用户有", "用户的"),
}


@cache
def build_grammar(language: str = "en", *, silent: bool = True, family: bool = False) -> str:
    """Return the GBNF grammar of the answer: up to eight lines of `kind?: sentence`.

    With `silent` the answer may be `none` instead. With `family` all lines are about the user's relatives.
    """
    kinds = '"family"' if family else " | ".join(f'"{name}"' for name in KINDS)
    beginnings = SUBJECTS.get(language, SUBJECTS["en"])
    if family:
        beginnings = FAMILY_SUBJECTS.get(language, beginnings)
    subjects = " | ".join(f'"{subject}"' for subject in beginnings)
    none = f'"{NO_FACTS}" | ' if silent else ""
    return "\n".join(
        [
            f'root ::= {none}line ("\\n" line){{0,{MAX_LINES - 1}}}',
            'line ::= kind "?"? ": " subject text',
            f"kind ::= {kinds}",
            f"subject ::= {subjects}",
            "text ::= [^ \\n\\r] [^\\n\\r]{0,109}",
        ]
    )


def build_prompt(message: str, question: str = "", *, strict: bool = False) -> list[Turn]:
    """Return the prompt for one masked segment; `question` is the assistant's question before it."""
    prefix = [Turn("system", SYSTEM)]
    for said, notes in EXAMPLES:
        prefix += [Turn("user", said), Turn("assistant", notes)]
    return [*prefix, Turn("user", format_message(message, question) + (f"\n({_STRICTER})" if strict else ""))]


def format_message(message: str, question: str = "") -> str:
    """Return a message as the prompt contains it, after the question that it answers."""
    return f"(asked: {question})\n{message}" if question else message
