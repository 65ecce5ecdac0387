"""The parts of the entity graph: entities as facts name them, and relations between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EntityType = Literal["person", "project", "concept", "tool", "place", "organisation"]

# In characters; a longer phrase is a sentence, not a name.
MAX_NAME = 60

# The relations of relatives to the owner.
KINSHIP_RELATIONS = (
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
class EntityMention:
    """An entity as a fact names it."""

    name: str
    type: EntityType


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation such as "lives_in" from `source` to `target`; `source` None is the owner."""

    relation: str
    target: EntityMention
    source: EntityMention | None = None
