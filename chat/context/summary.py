"""The rolling summary of the messages that a prompt leaves out, in the conversation's own language.

A small model that rewrites a whole summary copies its beginning and has no tokens left for the newest
messages. So the model writes one or two sentences about each portion of messages; they are appended to the
summary, and older sentences are thinned out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from chat.errors import FormatNotKept, UnusableOutput
from chat.llm.types import GenerationOptions, Lane, Provider, StopFlag, Turn
from chat.memory.kept_out import leave_out_kept
from chat.memory.secrets import redact_secrets
from chat.memory.summary_sentences import (
    choose_language_and_beginning,
    is_supported,
    split_sentences,
    thin_sentences,
)
from chat.models import Message, Role

from .budget import max_summary_tokens
from .strategies import parse_tool_calls, split_into_exchanges

SLOT = "summary"
# The conversation is summarised in portions of this many tokens, so short that two sentences can say what is
# in one.
PORTION_TOKENS = 300
_MAX_MESSAGE_TOKENS = 250  # of a longer message only the beginning and the end are used
_MIN_CHARACTERS = 20  # a shorter answer is no summary
_COPIED = re.compile(r"\b(?:User|Assistant|System|Tool(?: \S+)?): ")
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


def summarise(
    provider: Provider,
    before: str,
    messages: Sequence[Message],
    *,
    redacting: bool = True,
    lane: Lane = Lane.BACKGROUND,
    stop: StopFlag | None = None,
) -> str:
    """Return the summary `before`, continued with sentences about these messages.

    With `redacting`, secrets such as passwords are replaced; the owner can switch that off.
    Blocks while the model writes: call it from a worker thread, outside any transaction. Raises
    `UnusableOutput` when nothing usable came, and lets `ProviderError` through.
    """
    max_tokens = max_summary_tokens(provider.context_window)
    messages = leave_out_kept(messages)
    earlier = split_sentences(before)
    transcript = "\n".join(_line(provider, m) for m in messages)
    user_text = " ".join(m.content for m in messages if m.role == Role.USER)
    language, beginning = choose_language_and_beginning(user_text)
    request = f"{transcript}\n\nMinutes in {language}:"
    try:
        completion = provider.complete(
            [*build_prefix(), Turn("user", request)],
            GenerationOptions(
                slot=SLOT,
                lane=lane,
                max_tokens=min(max_tokens, _NEW_TOKENS),
                grammar=_grammar(beginning),
                stop=stop,
            ),
        )
    except FormatNotKept as error:
        raise UnusableOutput("no-summary") from error
    text = " ".join(completion.text.split())
    text = redact_secrets(text) if redacting else text
    if len(text) < _MIN_CHARACTERS or _COPIED.search(text):
        raise UnusableOutput("no-summary")
    if completion.finish == "length":
        # Drop the unfinished last sentence: it could change the meaning.
        text = text[: max(text.rfind(end) for end in (". ", "! ", "? ", "。")) + 1]
    new = [one for one in split_sentences(text) if one not in earlier and is_supported(one, transcript)]
    if not new:
        raise UnusableOutput("summary-unfaithful")
    return " ".join(thin_sentences([*earlier, *new], max_tokens, provider.count_text))


def build_prefix() -> list[Turn]:
    """Return the turns that every request for a summary begins with; the engine caches them."""
    turns = [Turn("system", SYSTEM)]
    for said, minutes in _EXAMPLES:
        turns += [Turn("user", said), Turn("assistant", minutes)]
    return turns


def _grammar(beginning: str) -> str:
    """Return the GBNF grammar of one or two sentences with this beginning.

    A decimal point ends no sentence.
    """
    more = f'(" " sentence){{0,{_SENTENCES - 1}}}'
    return f'root ::= "{beginning}" sentence {more}\nsentence ::= {_SENTENCE}'


def split_into_portions(provider: Provider, messages: Sequence[Message]) -> list[list[Message]]:
    """Return the messages in portions of about PORTION_TOKENS, in order; exchanges are not split."""
    found: list[list[Message]] = []
    left = 0
    for exchange in split_into_exchanges(messages):
        size = sum(min(_MAX_MESSAGE_TOKENS, provider.count_text(_format_text(m))) for m in exchange)
        if not found or size > left:
            found.append([])
            left = PORTION_TOKENS
        found[-1].extend(exchange)
        left -= size
    return found


def _line(provider: Provider, message: Message) -> str:
    text = _format_text(message)
    if (size := provider.count_text(text)) > _MAX_MESSAGE_TOKENS:
        keep = len(text) * _MAX_MESSAGE_TOKENS // size // 2
        text = f"{text[:keep]} […] {text[-keep:]}"
    who = f"Tool {message.name}".rstrip() if message.role == Role.TOOL else message.role.capitalize()
    return f"{who}: {' '.join(text.split())}"


def _format_text(message: Message) -> str:
    """Return the text of a message and the tools that it calls."""
    calls = [f"[calls {call.name} {call.arguments}]" for call in parse_tool_calls(message)]
    return " ".join([message.content, *calls])
