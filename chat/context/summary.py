"""Sums up what a prompt leaves out, bit by bit, in the conversation's own language (seed 001; design §6).

A small model that is to rewrite the whole account copies its beginning and has no room for what came last. So
it is asked for a sentence or two on each portion alone; these are put behind what is there, and what is told
of long ago thins out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from chat.llm.types import FormNotKept, Lane, Provider, ProviderError, StopFlag, Turn
from chat.memory.secrets import redact
from chat.memory.telling import beginning_for, borne_out, sentences, thinned
from chat.models import Message, Role

from .budget import summary_room

SLOT = "summary"
# What the model reads at once: few enough tokens to be told in two sentences.
READ_AT_ONCE = 300
_LONGEST = 250  # tokens of one message; what is longer says in its beginning and its end what it is about
_SHORTEST = 20  # characters
_COPIED = re.compile(r"\b(?:User|Assistant): ")
_SENTENCES, _NEW_TOKENS = 2, 120
_SENTENCE = r"([^.!?。\n\r] | [.] [0-9])+ [.!?。]+"
SYSTEM = (
    "You keep the minutes of a chat. You are shown what was said, and note it in one or two sentences: what"
    " the user wants, what was advised or decided, with names, numbers and dates, and what is still open. "
    "Tell it in your own words. Say nothing that was not said."
)
_EXAMPLES = (
    (
        "User: ok, I've ordered the Fjell 2 in green for my brother Tom. what else do we need against the "
        "cold at night?\n"
        "Assistant: Most of the cold comes from below, so begin with the mats and not with the sleeping "
        "bags. A mat has an R-value that says how well it insulates; for August in the fells take one of at"
        " least 3, and remember that two thin mats on top of each other add up. For the bag, look at the "
        "comfort temperature and ignore the extreme one, which only says at which cold you survive the "
        "night: 0 °C is right for most people, -5 °C if you freeze easily. Down is light and packs small, "
        "but it must stay dry, so put it into a waterproof sack. Eat something fat before you sleep, keep a"
        " dry pair of socks for the night alone, and never breathe into the bag, for the damp will chill "
        "you towards morning.\n"
        "User: tom freezes easily. and how much food for nine days?\n"
        "Assistant: Reckon with 700 to 800 grams of dry food a person and day, that is about 13 kg for both"
        " of you over nine days. Oats, nuts, couscous and dried lentils give the most for their weight. "
        "Send half of it ahead to a hut if you can, so that you never carry more than five days at once.\n\n"
        "Minutes in English:",
        "The user has ordered the tent Fjell 2 in green for their brother Tom, who freezes easily; mats "
        "with an R-value of at least 3 and a down bag of -5 °C comfort were advised against the cold. Food "
        "for nine days is about 13 kg, half of it best sent ahead to a hut.",
    ),
    (
        "User: Brauche ich für mein Gartenhaus aus Lärche ein Fundament? Ich baue es im April mit Jens.\n"
        "Assistant: Für diese Größe genügen sechs Punktfundamente, 80 cm tief. Betonplatten auf Kies würden"
        " sich bei Frost heben, und eine durchgehende Platte lohnt sich erst ab etwa 15 Quadratmetern.\n\n"
        "Minutes in German:",
        "Der Nutzer baut im April mit Jens ein Gartenhaus aus Lärche; sechs Punktfundamente von 80 cm Tiefe"
        " wurden empfohlen.",
    ),
)


class SummaryFailed(ProviderError):
    """The model gave nothing that can stand as a summary."""


def summarise(
    provider: Provider,
    before: str,
    messages: Sequence[Message],
    *,
    redacting: bool = True,
    lane: Lane = Lane.BACKGROUND,
    stop: StopFlag | None = None,
) -> str:
    """Return the summary `before` continued over these messages.

    Without `redacting` secrets are kept as anything else: the owner's own choice.
    Blocks while the model writes: call it from a worker thread, outside any transaction. Raises
    `SummaryFailed` when nothing usable came, and lets `ProviderError` through.
    """
    room = summary_room(provider.context_window)
    told = sentences(before)
    said = "\n".join(_line(provider, m) for m in messages)
    theirs = " ".join(m.content for m in messages if m.role == Role.USER)
    language, beginning = beginning_for(theirs)
    asked = f"{said}\n\nMinutes in {language}:"
    try:
        completion = provider.complete(
            [*prefix(), Turn("user", asked)],
            slot=SLOT,
            lane=lane,
            max_tokens=min(room, _NEW_TOKENS),
            grammar=_grammar(beginning),
            stop=stop,
        )
    except FormNotKept as formless:
        raise SummaryFailed("The model gave no summary.") from formless
    text = " ".join(completion.text.split())
    text = redact(text) if redacting else text
    if len(text) < _SHORTEST or _COPIED.search(text):
        raise SummaryFailed("The model gave no summary.")
    if completion.finish == "length":
        # Half a sentence says something else than the whole.
        text = text[: max(text.rfind(end) for end in (". ", "! ", "? ", "。")) + 1]
    new = [one for one in sentences(text) if one not in told and borne_out(one, said)]
    if not new:
        raise SummaryFailed("The model told something else than what was said.")
    return " ".join(thinned([*told, *new], room, provider.count_text))


def prefix() -> list[Turn]:
    """Return what every request for a summary begins with."""
    turns = [Turn("system", SYSTEM)]
    for said, minutes in _EXAMPLES:
        turns += [Turn("user", said), Turn("assistant", minutes)]
    return turns


def _grammar(beginning: str) -> str:
    """Return the grammar of a few whole sentences that begin so; a full stop within a number ends none."""
    more = f'(" " sentence){{0,{_SENTENCES - 1}}}'
    return f'root ::= "{beginning}" sentence {more}\nsentence ::= {_SENTENCE}'


def portions(provider: Provider, messages: Sequence[Message]) -> list[list[Message]]:
    """Return messages in portions that two sentences can tell, in order; no reply without its question."""
    found: list[list[Message]] = []
    left = 0
    for exchange in _exchanges(messages):
        size = sum(min(_LONGEST, provider.count_text(m.content)) for m in exchange)
        if not found or size > left:
            found.append([])
            left = READ_AT_ONCE
        found[-1].extend(exchange)
        left -= size
    return found


def _exchanges(messages: Sequence[Message]) -> list[list[Message]]:
    found: list[list[Message]] = []
    for message in messages:
        if message.role == Role.USER or not found:
            found.append([])
        found[-1].append(message)
    return found


def _line(provider: Provider, message: Message) -> str:
    text = message.content
    if (size := provider.count_text(text)) > _LONGEST:
        keep = len(text) * _LONGEST // size // 2
        text = f"{text[:keep]} […] {text[-keep:]}"
    who = "User" if message.role == Role.USER else "Assistant"
    return f"{who}: {' '.join(text.split())}"
