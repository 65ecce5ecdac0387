"""Translated sentences and labels for the relations of the entity graph, in the present and the past."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.functional import Promise
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from chat.memory.graph.types import KINSHIP_RELATIONS

Words = str | Promise

# Sentences for relations of the owner: while valid, and no longer valid.
_OF_OWNER: dict[str, tuple[Words, Words]] = {
    "lives_in": (lazy("You live in %(target)s"), lazy("You lived in %(target)s")),
    "lives_near": (lazy("You live near %(target)s"), lazy("You lived near %(target)s")),
    "lived_in": (lazy("You used to live in %(target)s"), lazy("You used to live in %(target)s")),
    "comes_from": (lazy("You come from %(target)s"), lazy("You were said to come from %(target)s")),
    "works_at": (lazy("You work at %(target)s"), lazy("You worked at %(target)s")),
    "works_as": (lazy("You work as: %(target)s"), lazy("You worked as: %(target)s")),
    "studies": (lazy("You study %(target)s"), lazy("You studied %(target)s")),
    "studies_at": (lazy("You study at %(target)s"), lazy("You studied at %(target)s")),
    "has_pet": (lazy("You have a pet: %(target)s"), lazy("You had a pet: %(target)s")),
    "speaks": (lazy("You speak %(target)s"), lazy("You spoke %(target)s")),
    "allergic_to": (lazy("You are allergic to %(target)s"), lazy("You were allergic to %(target)s")),
    "takes": (lazy("You take %(target)s"), lazy("You took %(target)s")),
    "has_condition": (lazy("You have %(target)s"), lazy("You had %(target)s")),
    "likes": (lazy("You like %(target)s"), lazy("You liked %(target)s")),
    "admires": (lazy("You admire %(target)s"), lazy("You admired %(target)s")),
    "struggles_with": (lazy("You struggle with %(target)s"), lazy("You struggled with %(target)s")),
    "plays": (lazy("You play %(target)s"), lazy("You played %(target)s")),
    "dislikes": (lazy("You dislike %(target)s"), lazy("You disliked %(target)s")),
    "eats": (lazy("You eat: %(target)s"), lazy("You ate: %(target)s")),
    "avoids": (lazy("You avoid %(target)s"), lazy("You avoided %(target)s")),
    "gave_up": (lazy("You gave up %(target)s"), lazy("You had given up %(target)s")),
    "prefers": (lazy("You prefer %(target)s"), lazy("You preferred %(target)s")),
    "builds": (lazy("You work on %(target)s"), lazy("You worked on %(target)s")),
    "learns": (lazy("You are learning %(target)s"), lazy("You were learning %(target)s")),
    "aims_for": (lazy("You aim for %(target)s"), lazy("You aimed for %(target)s")),
    "uses": (lazy("You use %(target)s"), lazy("You used %(target)s")),
    "migrates_from": (lazy("You are moving away from %(target)s"), lazy("You moved away from %(target)s")),
    "must_finish": (lazy("You have a deadline for %(target)s"), lazy("You had a deadline for %(target)s")),
    "visits": (lazy("You travel to %(target)s"), lazy("You travelled to %(target)s")),
    "related_to": (lazy("You have plans with %(target)s"), lazy("You had plans with %(target)s")),
}
# The same for relations of other entities.
_OF_ENTITIES: dict[str, tuple[Words, Words]] = {
    "uses": (lazy("%(source)s uses %(target)s"), lazy("%(source)s used %(target)s")),
    "migrates_from": (
        lazy("%(source)s is moving away from %(target)s"),
        lazy("%(source)s moved away from %(target)s"),
    ),
    "is_a": (lazy("%(source)s: %(target)s"), lazy("%(source)s was: %(target)s")),
    "about": (lazy("%(source)s is about %(target)s"), lazy("%(source)s was about %(target)s")),
    "designed_for": (lazy("%(source)s is for %(target)s"), lazy("%(source)s was for %(target)s")),
    "has_good": (lazy("%(source)s has good %(target)s"), lazy("%(source)s had good %(target)s")),
    "located_in": (lazy("%(source)s is in %(target)s"), lazy("%(source)s was in %(target)s")),
    "lives_in": (lazy("%(source)s lives in %(target)s"), lazy("%(source)s lived in %(target)s")),
    "works_at": (lazy("%(source)s works at %(target)s"), lazy("%(source)s worked at %(target)s")),
}
# Names of relatives: singular and plural.
_KINSHIP: dict[str, tuple[Words, Words]] = {
    "wife": (lazy("wife"), lazy("wives")),
    "husband": (lazy("husband"), lazy("husbands")),
    "spouse": (lazy("spouse"), lazy("spouses")),
    "partner": (lazy("partner"), lazy("partners")),
    "daughter": (lazy("daughter"), lazy("daughters")),
    "son": (lazy("son"), lazy("sons")),
    "child": (lazy("child"), lazy("children")),
    "mother": (lazy("mother"), lazy("mothers")),
    "father": (lazy("father"), lazy("fathers")),
    "parent": (lazy("parent"), lazy("parents")),
    "sister": (lazy("sister"), lazy("sisters")),
    "brother": (lazy("brother"), lazy("brothers")),
    "sibling": (lazy("sibling"), lazy("siblings")),
    "grandparent": (lazy("grandparent"), lazy("grandparents")),
    "grandchild": (lazy("grandchild"), lazy("grandchildren")),
    "aunt": (lazy("aunt"), lazy("aunts")),
    "uncle": (lazy("uncle"), lazy("uncles")),
    "cousin": (lazy("cousin"), lazy("cousins")),
    "niece": (lazy("niece"), lazy("nieces")),
    "nephew": (lazy("nephew"), lazy("nephews")),
}


def describe_relation(source: str, relation: str, targets: Sequence[str], valid: bool = True) -> str:
    """Return a sentence, without a full stop, for a relation to some targets; `source` "" is the owner."""
    names = get_text_list(list(targets), _("and"))
    if relation in KINSHIP_RELATIONS and not source:
        words = _("Your %(role)s: %(target)s") if valid else _("Once your %(role)s: %(target)s")
        return words % {"role": _KINSHIP[relation][len(targets) > 1], "target": names}
    default = ("%(source)s – %(target)s",) * 2
    present, past = (_OF_ENTITIES if source else _OF_OWNER).get(relation, default)
    return str(present if valid else past) % {"source": source or _("You"), "target": names}


# Labels under the name of an entity in the picture, for relations of the owner.
_LABELS: dict[str, Words] = {
    "lives_in": lazy("home"),
    "lives_near": lazy("home is near"),
    "lived_in": lazy("lived there"),
    "comes_from": lazy("from there"),
    "works_at": lazy("works there"),
    "works_as": lazy("job"),
    "studies": lazy("studies"),
    "studies_at": lazy("studies there"),
    "has_pet": lazy("pet"),
    "speaks": lazy("speaks"),
    "allergic_to": lazy("allergic"),
    "takes": lazy("takes"),
    "has_condition": lazy("health"),
    "likes": lazy("likes"),
    "admires": lazy("admires"),
    "struggles_with": lazy("struggles with it"),
    "plays": lazy("plays"),
    "dislikes": lazy("dislikes"),
    "eats": lazy("eats"),
    "avoids": lazy("avoids"),
    "gave_up": lazy("gave up"),
    "prefers": lazy("prefers"),
    "builds": lazy("works on it"),
    "learns": lazy("learns"),
    "aims_for": lazy("goal"),
    "uses": lazy("uses"),
    "migrates_from": lazy("moves away"),
    "must_finish": lazy("deadline"),
    "visits": lazy("travels there"),
    "related_to": lazy("plans"),
}
# The same for relations of other entities.
_LABELS_OF_ENTITIES: dict[str, Words] = {
    "uses": lazy("%(source)s uses it"),
    "migrates_from": lazy("%(source)s leaves it"),
    "is_a": lazy("%(source)s"),
    "about": lazy("subject of %(source)s"),
    "designed_for": lazy("purpose of %(source)s"),
    "has_good": lazy("good in %(source)s"),
    "located_in": lazy("%(source)s is there"),
    "lives_in": lazy("%(source)s lives there"),
    "works_at": lazy("%(source)s works there"),
}


def label_relation(source: str, relation: str) -> str:
    """Return a relation in one to three words, for the line under the name of its target."""
    if source:
        return str(_LABELS_OF_ENTITIES.get(relation, "%(source)s")) % {"source": source}
    return str(_KINSHIP[relation][0] if relation in _KINSHIP else _LABELS.get(relation, ""))
