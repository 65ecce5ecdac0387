"""Writes an app memory: two to four sentences that the model writes when a conversation has ended."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from chat.errors import ProviderError
from chat.llm.types import GenerationOptions, Lane, Provider, StopFlag, Turn
from chat.models import MAX_CONTENT, Message, Role

from .kept_out import leave_out_kept
from .secrets import REDACTED, redact_secrets
from .stopwords import FUNCTION_WORDS
from .summary_sentences import choose_language_and_beginning, is_supported, split_sentences

SLOT = "app_memory"
# The beginning of the prompt section that lists an app's memories.
PROMPT_SECTION_START = "(memories for app: "
# The most tokens that the model reads of a conversation and of one message, and that it writes. They limit
# the time: a 2-core machine reads 40 to 100 tokens a second and writes 10 to 25. With 500, 90, 60 and 80
# tokens the memory of a long conversation takes 7.7 s instead of 4.8 s, and 41 instead of 38 of 56 expected
# groups of words are found (`tests/benchmarks/app_memories.py`).
MAX_READ_TOKENS = 220
_MAX_MESSAGE_TOKENS = {Role.USER: 60, Role.ASSISTANT: 24}
_NEW_TOKENS = 64
_MAX_TAGS, _TAG = 3, re.compile(r"[^\W\d_]{4,}")
_MIN_USER_WORDS = 10  # with fewer words there is nothing to remember
SYSTEM = (
    "A chat has ended. Note in two to four short sentences what is worth knowing in a later chat: first "
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
        "The user goes to the fells for nine days in August with their brother Tom. He freezes easily. They "
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


def build_prefix() -> list[Turn]:
    """Return the turns that are the same in all prompts of this module."""
    turns = [Turn("system", SYSTEM)]
    for conversation, memory in _EXAMPLES:
        turns += [Turn("user", conversation), Turn("assistant", memory)]
    return turns


def build_grammar(beginning: str) -> str:
    """Return the GBNF grammar of a memory: two to four sentences, the first with this beginning."""
    return (
        f'root ::= "{beginning}" sentence (" " sentence){{1,3}}\n'
        r"sentence ::= ([^.!?。\n\r] | [.] [0-9a-z])+ [.!?。]"
    )


def write_app_memory(
    provider: Provider,
    messages: Sequence[Message],
    summary: str,
    *,
    redacting: bool = True,
    stop: StopFlag | None = None,
) -> str | None:
    """Return the app memory for these messages, at most MAX_CONTENT characters; None if too little was said.

    `summary` is the summary of the messages before them. With `redacting`, sentences with secrets are left
    out. Blocks while the model answers: call it from a worker thread, outside any transaction. Raises
    ProviderError, also if no sentence of the answer is supported by the conversation.
    """
    messages = leave_out_kept(messages)
    user_text = " ".join(m.content for m in messages if m.role == Role.USER)
    if not summary and len(user_text.split()) < _MIN_USER_WORDS:
        return None
    conversation = format_conversation(provider, messages, summary)
    language, beginning = choose_language_and_beginning(user_text)
    completion = provider.complete(
        [*build_prefix(), Turn("user", f"{conversation}\n\nNote in {language}:")],
        GenerationOptions(
            slot=SLOT,
            lane=Lane.BACKGROUND,
            max_tokens=_NEW_TOKENS,
            grammar=build_grammar(beginning),
            stop=stop,
        ),
    )
    sentences = [redact_secrets(s) if redacting else s for s in split_sentences(completion.text)]
    sentences = [s for s in sentences if REDACTED not in s and is_supported(s, conversation)]
    if completion.finish == "length" and sentences and not sentences[-1].endswith((".", "!", "?", "。")):
        sentences.pop()
    text = join_sentences_within_limit(sentences)
    if not text:
        raise ProviderError("summary-unfaithful")
    return text


def extract_tags(text: str, messages: Sequence[Message]) -> list[str]:
    """Return the words of a memory that occur in the most messages, at most three, case folded."""
    counts = Counter(word for m in messages for word in set(_TAG.findall(m.content.casefold())))
    own = dict.fromkeys(word for word in _TAG.findall(text.casefold()) if word not in FUNCTION_WORDS)
    return sorted((word for word in own if counts[word]), key=lambda word: -counts[word])[:_MAX_TAGS]


def join_sentences_within_limit(sentences: Sequence[str]) -> str:
    """Return the first sentence and those of the others that still fit into MAX_CONTENT characters.

    A first sentence that is too long is cut.
    """
    if not sentences:
        return ""
    text = sentences[0]
    if len(text) > MAX_CONTENT:
        return text[: MAX_CONTENT - 1].rsplit(" ", 1)[0] + "…"
    for sentence in sentences[1:]:
        if len(longer := f"{text} {sentence}") <= MAX_CONTENT:
            text = longer
    return text


def format_conversation(provider: Provider, messages: Sequence[Message], summary: str) -> str:
    """Return the text that the model reads: the summary, the first message, and the newest that fit.

    At most MAX_READ_TOKENS tokens, except where the summary and the first message are longer.
    """
    lines = [_format_message(provider, m) for m in messages if m.content.strip()]
    left = MAX_READ_TOKENS - provider.count_text(summary)
    first, rest = lines[:1], lines[1:]
    left -= sum(map(provider.count_text, first))
    kept: list[str] = []
    for line in reversed(rest):
        left -= provider.count_text(line)
        if left < 0:
            break
        kept.insert(0, line)
    return "\n".join([*([f"Before: {summary}"] if summary else []), *first, *kept])


def _format_message(provider: Provider, message: Message) -> str:
    text, limit = " ".join(message.content.split()), _MAX_MESSAGE_TOKENS[Role(message.role)]
    if (size := provider.count_text(text)) > limit:
        text = text[: len(text) * limit // size].rsplit(" ", 1)[0] + " […]"
    who = "User" if message.role == Role.USER else "Assistant"
    return f"{who}: {text}"
