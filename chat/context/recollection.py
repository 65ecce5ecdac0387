"""What was said about a topic that comes back, quoted before the user's message (design §6 and §7).

Bringing all its messages back would change the head of the prompt, and the model would read everything anew;
that happens at the next compaction. Until then a few sentences stand in the turn itself, which is replayed
word for word like any note.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chat.memory.lines import one_line
from chat.memory.telling import sentences
from chat.models import Conversation, Message, Role
from chat.topics.contents import with_contents
from chat.topics.match import words

from .assembly import Shape

Counter = Callable[[str], int]

# Some three seconds of reading for a model that reads 40–70 tokens a second (design §4).
TOKENS = 160
_SHARE = 24
# Enough of a topic's newest messages to choose from, none of them without an end.
_MESSAGES, _CHARACTERS = 60, 6000
# After so many sentences one that does not fit ends the search.
_ENOUGH = 3
_OPEN, _CLOSE = "(What we said about this earlier in this conversation:", ")"


def said_before(conversation: Conversation, message: Message, shape: Shape) -> list[tuple[bool, str]]:
    """Return what was said of the topic that a message comes back to: (whether by the user, what), in order.

    Empty unless the prompt has left all of it out and the last message was about something else. Reads the
    topic's newest messages, unpacked where they are packed.
    """
    if message.topic_id is None or not shape.trimmed_through:
        return []
    earlier = Message.objects.filter(conversation=conversation).seen_before(message)
    last = earlier.filter(role=Role.USER).reverse().values_list("topic", flat=True).first()
    if last == message.topic_id:
        return []
    rows = with_contents(earlier.filter(topic=message.topic_id).reverse()[:_MESSAGES])
    if any(shape.holds(m.seq) for m in rows):
        return []
    return [(m.role == Role.USER, m.content[:_CHARACTERS]) for m in reversed(rows) if m.content]


def room_for(window: int) -> int:
    """Return how many tokens a recollection may take in this window."""
    return min(TOKENS, window // _SHARE)


def quoted(asked: str, said: Sequence[tuple[bool, str]], room: int, count: Counter) -> str:
    """Return the sentences that have most to do with a message, in the order in which they were said.

    Never longer than `room` tokens; empty where not one sentence fits. Pure.
    """
    own = words(asked)
    found = [
        (place, mine, one_line(sentence))
        for place, (mine, text) in enumerate(said)
        for sentence in sentences(text)
    ]
    # Of what is equally near the newest: where a matter was left is what one comes back to.
    ranked = sorted(range(len(found)), key=lambda n: (len(own & words(found[n][2])), n), reverse=True)
    chosen: list[int] = []
    text = ""
    for n in ranked:
        attempt = _rendered([found[i] for i in sorted([*chosen, n])])
        if count(attempt) <= room:
            chosen.append(n)
            text = attempt
        elif len(chosen) > _ENOUGH:
            break
    return text


def _rendered(quoted_sentences: Sequence[tuple[int, bool, str]]) -> str:
    """Return the quotation, one line for each message."""
    lines: list[str] = []
    before = -1
    for place, mine, sentence in quoted_sentences:
        if place == before:
            lines[-1] += f" {sentence}"
        else:
            lines.append(f"{'I' if mine else 'You'} said: {sentence}")
        before = place
    return "\n".join([_OPEN, *lines, _CLOSE])
