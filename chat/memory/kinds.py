"""The closed list of what a fact can be about (design §3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CategoryName = Literal["project", "preference", "identity"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fact; `single` means one live value for each subject, `hint` is its line in the prompt."""

    name: str
    category: CategoryName
    single: bool
    hint: str


_ALL = (
    Kind("name", "identity", True, "what they are called"),
    Kind("age", "identity", True, "age or birthday"),
    Kind("home", "identity", True, "where they live"),
    Kind("origin", "identity", True, "where they come from, nationality"),
    Kind("employer", "identity", True, "the company or place they work for"),
    Kind("job", "identity", False, "profession, role, studies"),
    Kind("relationship", "identity", True, "single, married, engaged"),
    Kind("family", "identity", False, "their relatives"),
    Kind("health", "identity", False, "illness, allergy, disability, medicine"),
    Kind("pet", "identity", False, "their animals"),
    Kind("language", "identity", False, "languages they speak well"),
    Kind("event", "identity", False, "a wedding, move or trip with its date"),
    Kind("likes", "preference", False, "what they like, enjoy or do for fun"),
    Kind("dislikes", "preference", False, "what they dislike or avoid"),
    Kind("diet", "preference", True, "how they eat"),
    Kind("habit", "preference", False, "what they do regularly"),
    Kind("reply_language", "preference", True, "language answers must be in"),
    Kind("reply_style", "preference", False, "how answers must be written"),
    Kind("units", "preference", True, "metric, imperial, currency"),
    Kind("building", "project", False, "what they make, write or run now"),
    Kind("learning", "project", False, "what they study or practise now"),
    Kind("goal", "project", False, "what they plan, train or save for"),
    Kind("tools", "project", False, "what they work with"),
    Kind("deadline", "project", True, "when something must be done"),
)

KINDS: dict[str, Kind] = {kind.name: kind for kind in _ALL}
