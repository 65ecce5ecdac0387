"""Makes a prompt that has outgrown its window fit again, in three stages, to about half (design §6).

Stage 1 leaves old messages out, stage 2 shrinks the memory block too, stage 3 shortens the last messages from
the oldest on. What is decided holds until the next compaction, so that the model reads it once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .assembly import Assembly, Shape
from .budget import history_room, limit, target
from .memory import Memory
from .strategies import choose
from .trim import CUT_MARK

# Below this a message says nothing any more; above it the mark alone would be longer than what is left.
_SHORTEST = len(CUT_MARK) + 120


@dataclass(frozen=True, slots=True)
class Frame:
    """What a compaction starts from: strategy, the summary so far, and the topic now talked about."""

    strategy: str
    summary: str = ""
    topic: object = None


@dataclass(frozen=True, slots=True)
class Block:
    """A memory block with its facts' versions."""

    text: str
    facts: dict[str, int]


def compact(assembly: Assembly, memory: Memory, frame: Frame) -> tuple[Block, int]:
    """Give the assembly the shape that fits; returns the new memory block and how far it had to go (1–3).

    The assembly's note is made anew, for the old one may say what the block says now, and the reverse.
    """
    window = assembly.provider.context_window
    # A huge message of the user's must not push all that went before it out of the prompt.
    _shorten_own(assembly, limit(window) - history_room(window))
    beside = assembly.fixed_tokens() + history_room(window)
    aim = max(target(window), min(limit(window), beside))
    for stage, fresh in ((1, memory.fresh_block), (2, memory.small_block)):
        block = Block(*fresh())
        assembly.block = block.text
        _trim(assembly, frame, aim, window)
        assembly.note, _ = memory.note(block.text, assembly.kept())
        if assembly.tokens() <= aim:
            return block, stage
    _shorten_last(assembly, aim)
    return block, 3


def _trim(assembly: Assembly, frame: Frame, aim: int, window: int) -> None:
    # Cuts of an earlier compaction stay: a message that is whole again would be read again.
    before = assembly.shape
    assembly.shape = Shape(summary=frame.summary, cuts=before.cuts)
    room = aim - assembly.fixed_tokens()
    choice = choose(frame.strategy, assembly.exchanges(), room, window, frame.topic)
    stays = {m.seq for m in assembly.history if choice.holds(m.seq)}
    # What an earlier compaction has left out stays out, also when all that is left fits.
    trimmed = max(before.trimmed_through, choice.trimmed_through)
    assembly.shape = replace(
        assembly.shape,
        trimmed_through=trimmed,
        kept=tuple(sorted(seq for seq in stays if seq <= trimmed)),
        summary=frame.summary if trimmed else "",
    )


def _shorten_last(assembly: Assembly, aim: int) -> None:
    """Leave the middle out of the messages that are left, the oldest first, until the prompt fits."""
    for message in assembly.kept():
        over = assembly.tokens() - aim
        if over <= 0:
            return
        shown = assembly.shape.cuts.get(message.seq, len(message.content))
        size = assembly.size(message)
        # Characters a token of this very message; a little more is cut than that says, to be done at once.
        keep = int(shown * max(0.0, 1 - 1.1 * over / max(size, 1)))
        _cut(assembly, message.seq, shown, max(_SHORTEST, keep))
    # Still too much: a window this small holds no six messages however short.
    while assembly.tokens() > aim and (kept := assembly.kept()):
        leaving = kept[0].seq
        shape = assembly.shape
        assembly.shape = replace(
            shape,
            trimmed_through=max(shape.trimmed_through, leaving),
            kept=tuple(seq for seq in shape.kept if seq != leaving),
        )


def _shorten_own(assembly: Assembly, room: int) -> None:
    """Leave the middle out of the user's message until it fits in `room` with all but the history."""
    message = assembly.message
    while (tokens := assembly.fixed_tokens()) > room:
        shown = assembly.shape.cuts.get(message.seq, len(message.content))
        if shown <= _SHORTEST:
            return
        own = max(1, assembly.provider.count_text(message.content[:shown]))
        _cut(
            assembly, message.seq, shown, max(_SHORTEST, int(shown * min(0.95, (own - tokens + room) / own)))
        )


def _cut(assembly: Assembly, seq: int, shown: int, keep: int) -> None:
    if keep < shown:
        assembly.shape = replace(assembly.shape, cuts={**assembly.shape.cuts, seq: keep})
