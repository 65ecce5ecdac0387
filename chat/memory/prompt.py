"""What the model is asked when a message is read for facts; all but the last turn is a cached prefix."""

from __future__ import annotations

from functools import cache

from chat.llm.types import Turn
from chat.memory.examples import EXAMPLES
from chat.memory.kinds import KINDS

NONE = "none"
MAX_LINES = 8
MAX_TOKENS = 200  # eight lines of a sentence each; the seed's segment of five messages never needed more

# Byte-stable: one changed character would make every message pay for reading the whole prefix again.
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


# How a sentence about the user begins in each language: a forced beginning keeps the model in the language of
# the message, and out of sentences about the world.
SUBJECTS = {
    "en": ("User ", "User's "),
    "de": ("Nutzer ", "Nutzers "),
    "fr": ("L'utilisateur ", "L'utilisatrice "),
    "es": ("El usuario ", "La usuaria "),
    "it": ("L'utente ",),
    "pt": ("O usuário ", "A usuária "),
    "zh": ("用户",),
}


# The same for what the user has of relatives.
HAVING = {
    "en": ("User has ",),
    "de": ("Nutzer hat ",),
    "fr": ("L'utilisateur a ",),
    "es": ("El usuario tiene ",),
    "it": ("L'utente ha ",),
    "pt": ("O usuário tem ",),
    "zh": ("用户有", "用户的"),
}


@cache
def grammar(language: str = "en", *, silent: bool = True, family: bool = False) -> str:
    """Return the GBNF of the answer: up to eight lines of `kind?: sentence`, or `none` where `silent`.

    With `family` each line says what relatives the user has.
    """
    kinds = '"family"' if family else " | ".join(f'"{name}"' for name in KINDS)
    beginnings = HAVING if family else SUBJECTS
    subjects = " | ".join(f'"{subject}"' for subject in beginnings.get(language, beginnings["en"]))
    none = f'"{NONE}" | ' if silent else ""
    return "\n".join(
        [
            f'root ::= {none}line ("\\n" line){{0,{MAX_LINES - 1}}}',
            'line ::= kind "?"? ": " subject text',
            f"kind ::= {kinds}",
            f"subject ::= {subjects}",
            "text ::= [^ \\n\\r] [^\\n\\r]{0,109}",
        ]
    )


def turns(message: str, question: str = "", *, strict: bool = False) -> list[Turn]:
    """Return the prompt for one masked message; `question` is what the assistant asked just before it."""
    prefix = [Turn("system", SYSTEM)]
    for said, notes in EXAMPLES:
        prefix += [Turn("user", said), Turn("assistant", notes)]
    return [*prefix, Turn("user", shown(message, question) + (f"\n({_STRICTER})" if strict else ""))]


def shown(message: str, question: str = "") -> str:
    """Return a message as the model sees it, after the question that it answers."""
    return f"(asked: {question})\n{message}" if question else message
