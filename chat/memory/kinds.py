"""The closed list of the kinds of facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CategoryName = Literal["project", "preference", "identity"]
# The types of facts in the JSON of an extraction.
ExtractionType = Literal["preference", "fact", "pattern", "context"]


@dataclass(frozen=True, slots=True)
class FactKind:
    """A kind of fact; `single` means one live value per subject, `hint` describes it in the prompt.

    A fact that `passes` is over after a date in it. One that `is_plan` is about what lies ahead.
    """

    name: str
    category: CategoryName
    single: bool
    hint: str
    passes: bool = False
    is_plan: bool = False


_ALL = (
    FactKind("name", "identity", True, "what they are called"),
    FactKind("age", "identity", True, "age or birthday"),
    FactKind("home", "identity", True, "where they live"),
    FactKind("origin", "identity", True, "where they come from, nationality"),
    FactKind("employer", "identity", True, "the company or place they work for"),
    FactKind("job", "identity", False, "profession, role, studies"),
    FactKind("relationship", "identity", True, "single, married, engaged"),
    FactKind("family", "identity", False, "their relatives"),
    FactKind("health", "identity", False, "illness, allergy, disability, medicine"),
    FactKind("pet", "identity", False, "their animals"),
    FactKind("language", "identity", False, "languages they speak well"),
    FactKind("event", "identity", False, "a wedding, move or trip with its date", passes=True),
    FactKind("likes", "preference", False, "what they like, enjoy or do for fun"),
    FactKind("dislikes", "preference", False, "what they dislike or avoid"),
    FactKind("diet", "preference", True, "how they eat"),
    FactKind("habit", "preference", False, "what they do regularly"),
    FactKind("reply_language", "preference", True, "language answers must be in"),
    FactKind("reply_style", "preference", False, "how answers must be written"),
    FactKind("units", "preference", True, "metric, imperial, currency"),
    FactKind("building", "project", False, "what they make, write or run now"),
    FactKind("learning", "project", False, "what they study or practise now"),
    FactKind("goal", "project", False, "what they plan, train or save for", passes=True, is_plan=True),
    FactKind("tools", "project", False, "what they work with"),
    FactKind("deadline", "project", True, "when something must be done", passes=True, is_plan=True),
)

KINDS: dict[str, FactKind] = {kind.name: kind for kind in _ALL}

_TYPES: dict[CategoryName, ExtractionType] = {
    "identity": "fact",
    "preference": "preference",
    "project": "context",
}


def get_extraction_type(kind: str) -> ExtractionType:
    """Return the type of a kind in the JSON of an extraction: what somebody does regularly is a pattern."""
    return "pattern" if kind == "habit" else _TYPES[KINDS[kind].category]
