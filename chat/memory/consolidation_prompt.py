"""The prompt that asks the model what a candidate does to stored facts: instruction and worked examples.

All turns except the last are a cached prefix.
"""

from __future__ import annotations

from collections.abc import Sequence

from chat.llm.types import Turn

SYSTEM = "\n".join(
    [
        "You keep a list of notes about a user right. You are shown old notes, what the user has said now, "
        "and the new note made of it. Answer with one line:",
        "ADD - the new note is about another thing; the old notes still hold",
        "NOOP n - old note n says this already",
        "UPDATE n - the new note takes the place of old note n, which holds no longer or is less exact; if "
        "both hold, one note that says both follows",
        "DELETE n - the user only says that old note n is over",
    ]
)
# Stored facts, the user's sentence, the candidate ("" for an ending), the right answer.
_EXAMPLES: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    (
        ("User lives in Harare", "User has three kids"),
        "I've been living in Mutare since May",
        "User lives in Mutare",
        "UPDATE 1",
    ),
    (("User likes cycling",), "I love rowing too", "User loves rowing", "ADD"),
    (
        ("User is writing a cookbook", "User is building a shed"),
        "The shed is finished, nothing left to do",
        "",
        "DELETE 2",
    ),
    (("User eats no gluten",), "As you know, no gluten for me", "User eats no gluten", "NOOP 1"),
    (
        ("User runs 3 km on Sundays",),
        "I run 7 km on Sundays by now",
        "User runs 7 km on Sundays",
        "UPDATE 1",
    ),
    (("User has a parrot called Coco",), "We got a rabbit, Fluff", "User has a rabbit called Fluff", "ADD"),
    (
        ("User wants formal answers", "User wants distances in miles"),
        "Be casual with me from now on",
        "User wants casual answers",
        "UPDATE 1",
    ),
    (("User is learning Welsh",), "I don't do Welsh any more", "", "DELETE 1"),
    (
        ("User teaches chess", "User is writing Tern"),
        "Tern is a novel about two lighthouse keepers",
        "User's Tern is a novel about two lighthouse keepers",
        "UPDATE 2: User is writing Tern, a novel about two lighthouse keepers",
    ),
    (("User has a daughter",), "My daughter Zuri is a pilot", "User's daughter Zuri is a pilot", "UPDATE 1"),
    (
        ("The grant application is due on 2 May", "User teaches physics"),
        "The poster is due on 9 May",
        "User's poster is due on 9 May",
        "ADD",
    ),
    (
        ("User's work is restoring clocks",),
        "I restore old clocks for a living",
        "User restores old clocks",
        "NOOP 1",
    ),
    (
        ("Nutzer mag Jazz",),
        "Jazz kann ich nicht mehr hören",
        "Nutzer mag Jazz nicht mehr",
        "UPDATE 1",
    ),
    (("User uses a lathe",), "I also work with chisels", "User works with chisels", "ADD"),
    (("User works at the Observatory", "User likes tea"), "I left the Observatory", "", "DELETE 1"),
    (("User has a boat", "User likes sailing"), "I finished my tea on the boat", "", "ADD"),
)


def build_prompt(facts: Sequence[str], sentence: str, candidate: str) -> list[Turn]:
    """Return the prompt for stored facts, the user's sentence, and the candidate ("" for an ending)."""
    return [*build_prefix(), Turn("user", _format_question(facts, sentence, candidate))]


def build_prefix() -> list[Turn]:
    """Return the turns that are the same in all prompts of this module."""
    turns = [Turn("system", SYSTEM)]
    for facts, sentence, candidate, answer in _EXAMPLES:
        turns += [Turn("user", _format_question(facts, sentence, candidate)), Turn("assistant", answer)]
    return turns


def _format_question(facts: Sequence[str], sentence: str, candidate: str) -> str:
    lines = [f"{number}. {text}" for number, text in enumerate(facts, 1)]
    return "\n".join([*lines, f"said: {sentence}", f"new: {candidate or '-'}"])
