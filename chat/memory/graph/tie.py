"""The parts of the entity graph: things and what ties them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TypeName = Literal["person", "project", "concept", "tool", "place", "organisation"]

# The longest name that is still a noun phrase and not a sentence.
MAX_NAME = 60

# Who somebody is to the owner; each is a relation of its own.
KIN = (
    "wife",
    "husband",
    "spouse",
    "partner",
    "daughter",
    "son",
    "child",
    "mother",
    "father",
    "parent",
    "sister",
    "brother",
    "sibling",
    "grandparent",
    "grandchild",
    "aunt",
    "uncle",
    "cousin",
    "niece",
    "nephew",
)


@dataclass(frozen=True, slots=True)
class Thing:
    """An entity as a fact names it."""

    name: str
    type: TypeName


@dataclass(frozen=True, slots=True)
class Tie:
    """One relation to a thing; `source` None is the owner."""

    relation: str
    target: Thing
    source: Thing | None = None
