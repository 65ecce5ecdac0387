"""What an app remembers of a conversation: two to four sentences, written when it has ended (seed 003)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from chat.llm.types import Lane, Provider, ProviderError, StopFlag, Turn
from chat.models import MAX_CONTENT, Message, Role

from .secrets import REDACTED, redact
from .telling import beginning_for, borne_out, sentences
from .words import FUNCTION

SLOT = "app_memory"
# How the part of a prompt begins that tells what an app remembers (seed 003, "Memory Context Format").
SAID_TO_APP = "(memories for app: "
# Tokens that the model reads of a conversation: at 40 to 70 a second they are most of the time it takes.
READ = 500
_LONGEST = {Role.USER: 90, Role.ASSISTANT: 60}  # tokens of one message
_NEW_TOKENS = 80
_TAGS, _TAG = 3, re.compile(r"[^\W\d_]{4,}")
_FEWEST_WORDS = 10  # that the user must have said for something to have happened
SYSTEM = (
    "A chat has ended. Note in two or three short sentences what is worth knowing in a later chat: first "
    "what the user is about and wanted, then what they decided, found out or will do next, with names, "
    "numbers and dates. Say nothing that was not said."
)
_EXAMPLES = (
    (
        "User: we need a tent for nine days in the fells in august, my brother Tom freezes easily\n"
        "Assistant: Take the Fjell 2, mats with an R-value of at least 3 and a bag for -5 °C.\n"
        "User: ok I've ordered the Fjell 2 in green. how much food?\n"
        "Assistant: Reckon with 700 to 800 grams a person and day, about 13 kg for both.\n"
        "User: good, I'll send half of it ahead to the hut\n\n"
        "Note in English:",
        "The user goes to the fells for nine days in August with their brother Tom, who freezes easily. They "
        "ordered the tent Fjell 2 in green. They will send half of the 13 kg of food ahead to the hut.",
    ),
    (
        "User: Brauche ich für mein Gartenhaus aus Lärche ein Fundament? Ich baue es im April mit Jens.\n"
        "Assistant: Sechs Punktfundamente von 80 cm Tiefe genügen.\n\n"
        "Note in German:",
        "Der Nutzer baut im April mit Jens ein Gartenhaus aus Lärche. Sechs Punktfundamente von 80 cm Tiefe "
        "genügen dafür.",
    ),
    (
        "User: npm install hangs at sharp on my raspberry pi\n"
        "Assistant: It builds from source there. Install libvips-dev first.\n"
        "User: still hangs\n"
        "Assistant: Give it more swap: 2 GB.\n"
        "User: with 2 GB of swap it went through\n\n"
        "Note in English:",
        "The user had trouble with npm install on a Raspberry Pi, which hung at sharp. With 2 GB of swap it "
        "went through.",
    ),
)


def prefix() -> list[Turn]:
    """Return what every request for a memory begins with."""
    turns = [Turn("system", SYSTEM)]
    for said, note in _EXAMPLES:
        turns += [Turn("user", said), Turn("assistant", note)]
    return turns


def write(
    provider: Provider,
    messages: Sequence[Message],
    summary: str,
    *,
    redacting: bool = True,
    stop: StopFlag | None = None,
) -> str | None:
    """Return what is to be remembered of these messages; None when nothing happened.

    `summary` tells of what came before them. Blocks while the model writes: call it from a worker thread,
    outside any transaction. Raises ProviderError when nothing usable came.
    """
    theirs = " ".join(m.content for m in messages if m.role == Role.USER)
    if not summary and len(theirs.split()) < _FEWEST_WORDS:
        return None
    said = material(provider, messages, summary)
    language, beginning = beginning_for(theirs)
    completion = provider.complete(
        [*prefix(), Turn("user", f"{said}\n\nNote in {language}:")],
        slot=SLOT,
        lane=Lane.BACKGROUND,
        max_tokens=_NEW_TOKENS,
        grammar=(
            f'root ::= "{beginning}" sentence (" " sentence){{1,2}}\n'
            r"sentence ::= ([^.!?。\n\r] | [.] [0-9a-z])+ [.!?。]"
        ),
        stop=stop,
    )
    found = [redact(one) if redacting else one for one in sentences(completion.text)]
    found = [one for one in found if REDACTED not in one and borne_out(one, said)]
    if completion.finish == "length" and found and not found[-1].endswith((".", "!", "?", "。")):
        found.pop()
    text = cut(found)
    if not text:
        raise ProviderError("The model told something else than what was said.")
    return text


def tags(text: str, messages: Sequence[Message]) -> list[str]:
    """Return the words of a memory that came up in the most messages, three at most."""
    said = Counter(word for m in messages for word in set(_TAG.findall(m.content.casefold())))
    own = dict.fromkeys(word for word in _TAG.findall(text.casefold()) if word not in FUNCTION)
    return sorted((word for word in own if said[word]), key=lambda word: -said[word])[:_TAGS]


def cut(told: Sequence[str]) -> str:
    """Return as many whole sentences as fit into a memory; one that is too long ends at a word."""
    text = ""
    for one in told:
        longer = f"{text} {one}".strip()
        if len(longer) > MAX_CONTENT:
            break
        text = longer
    if told and not text:
        text = told[0][: MAX_CONTENT - 1].rsplit(" ", 1)[0] + "…"
    return text


def material(provider: Provider, messages: Sequence[Message], summary: str) -> str:
    """Return what the model reads: the account so far, the first message, and the newest that fit."""
    lines = [_line(provider, m) for m in messages if m.content.strip()]
    left = READ - provider.count_text(summary)
    first, rest = lines[:1], lines[1:]
    left -= sum(map(provider.count_text, first))
    kept: list[str] = []
    for line in reversed(rest):
        left -= provider.count_text(line)
        if left < 0:
            break
        kept.insert(0, line)
    return "\n".join([*([f"Before: {summary}"] if summary else []), *first, *kept])


def _line(provider: Provider, message: Message) -> str:
    text, longest = " ".join(message.content.split()), _LONGEST[Role(message.role)]
    if (size := provider.count_text(text)) > longest:
        text = text[: len(text) * longest // size].rsplit(" ", 1)[0] + " […]"
    who = "User" if message.role == Role.USER else "Assistant"
    return f"{who}: {text}"
