"""Relationships in words, as they hold and as they once held."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.functional import Promise
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from chat.memory.graph.tie import KIN

Words = str | Promise

# Of the owner: now, and once.
_OWN: dict[str, tuple[Words, Words]] = {
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
# Of anything else.
_OTHERS: dict[str, tuple[Words, Words]] = {
    "uses": (lazy("%(source)s uses %(target)s"), lazy("%(source)s used %(target)s")),
    "migrates_from": (
        lazy("%(source)s is moving away from %(target)s"),
        lazy("%(source)s moved away from %(target)s"),
    ),
    "is_a": (lazy("%(source)s: %(target)s"), lazy("%(source)s was: %(target)s")),
    "about": (lazy("%(source)s is about %(target)s"), lazy("%(source)s was about %(target)s")),
    "located_in": (lazy("%(source)s is in %(target)s"), lazy("%(source)s was in %(target)s")),
    "lives_in": (lazy("%(source)s lives in %(target)s"), lazy("%(source)s lived in %(target)s")),
    "works_at": (lazy("%(source)s works at %(target)s"), lazy("%(source)s worked at %(target)s")),
}
_KIN: dict[str, Words] = {
    "wife": lazy("wife"),
    "husband": lazy("husband"),
    "spouse": lazy("spouse"),
    "partner": lazy("partner"),
    "daughter": lazy("daughter"),
    "son": lazy("son"),
    "child": lazy("child"),
    "mother": lazy("mother"),
    "father": lazy("father"),
    "parent": lazy("parent"),
    "sister": lazy("sister"),
    "brother": lazy("brother"),
    "sibling": lazy("sibling"),
    "grandparent": lazy("grandparent"),
    "grandchild": lazy("grandchild"),
    "aunt": lazy("aunt"),
    "uncle": lazy("uncle"),
    "cousin": lazy("cousin"),
    "niece": lazy("niece"),
    "nephew": lazy("nephew"),
}


def sentence(source: str, relation: str, targets: Sequence[str], valid: bool = True) -> str:
    """Return one relation to some things in words, without a full stop; `source` "" is the owner."""
    names = get_text_list(list(targets), _("and"))
    if relation in KIN and not source:
        words = _("Your %(role)s: %(target)s") if valid else _("Once your %(role)s: %(target)s")
        return words % {"role": _KIN[relation], "target": names}
    plain = ("%(source)s – %(target)s",) * 2
    now, once = (_OTHERS if source else _OWN).get(relation, plain)
    return str(now if valid else once) % {"source": source or _("You"), "target": names}
