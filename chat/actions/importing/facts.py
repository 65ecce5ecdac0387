"""Facts that come in: by their id, then by their words; nothing is reinforced, and the caps hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.actions.facts import MAX_PINNED
from chat.actions.owners import redacts
from chat.memory import evict as rule
from chat.memory.kinds import KINDS
from chat.memory.similar import normalise
from chat.models import DeletionState, Fact, FactEvent
from chat.porting.shapes import FactIn

from .forgotten import Forgotten
from .keys import found, own_keys
from .outcome import Outcome


class Facts:
    """What is to be done with a file's facts, decided before anything is written.

    `forgotten` are the keys of those that stay forgotten. `before` is an earlier plan of the same facts, of
    which what was new is staged by now, and need not be looked for.
    """

    def __init__(
        self,
        owner: Any,
        given: Sequence[FactIn],
        forgotten: Forgotten,
        outcome: Outcome,
        before: Facts | None = None,
    ) -> None:
        self.owner, self.given, self._outcome = owner, given, outcome
        self.stones = forgotten
        self.redacts = redacts(owner.pk)
        self._own: dict[UUID, UUID] = (
            before._own if before else own_keys(Fact, owner, [fact.id for fact in given])
        )
        self.keys = dict(self._own)
        staged = {fact.id for fact in before.added} if before else set()
        unstaged = [key for given_key, key in self._own.items() if given_key not in staged]
        # What an import has staged is not here yet, be it this one.
        mine = Fact.objects.for_owner(owner).exclude(deletion__state=DeletionState.STAGED)
        self.here = {row[0]: row[1] for row in found(mine, "pk", unstaged, "pk", "deletion_id")}
        self.foreign: set[UUID] = before.foreign if before else self._foreign_events()
        self.events = self._history_here()
        live = list(mine.live())
        self.texts = {normalise(fact.text): fact.pk for fact in live}
        self._values = Counter((fact.kind, fact.subject) for fact in live)
        self._pinned = mine.filter(pinned=True).count()
        # What is on its way out keeps its place.
        placed = mine.filter(superseded_at__isnull=True, archived_at__isnull=True)
        self._held = len(live) + placed.filter(deletion__state=DeletionState.PENDING).count()
        self.added: list[FactIn] = []
        self.changed: list[FactIn] = []
        self.forgotten: set[UUID] = set()
        self.over: set[UUID] = set()
        self.unpinned: set[UUID] = set()
        self._decide()

    # -- deciding --------------------------------------------------------------------------------------

    def _decide(self) -> None:
        refused: set[UUID] = set()
        # Those of which something above was refused, also where what stands between is here already.
        doomed: set[UUID] = set()
        above = {f.supersedes: f.id for f in self.given if f.supersedes is not None}
        for fact in _from_above(self.given, above):
            newer = above.get(fact.id)
            if newer in refused or newer in doomed:
                doomed.add(fact.id)
            if fact.id in doomed and self.keys[fact.id] not in self.here:
                refused.add(fact.id)
                self._outcome.facts.refused += 1
            elif not self._take(fact):
                refused.add(fact.id)
        self._keep_caps()

    def _take(self, fact: FactIn) -> bool:
        """Decide about one fact; False where it is refused."""
        outcome, key = self._outcome, self.keys[fact.id]
        if key in self.here:
            return self._take_known(fact, key)
        known = self.texts.get(normalise(fact.text)) if is_live(fact) else None
        if known is not None:
            outcome.facts.there += 1
            self.keys[fact.id] = known
            return True
        if self.stones.knows(fact.text, fact.said_at):
            self.forgotten.add(fact.id)
            outcome.forgotten += 1
            outcome.refuse(outcome.facts, fact.text, _("You have forgotten this here."))
            return False
        if self.stones.leaving(fact.text):
            outcome.refuse(outcome.facts, fact.text, _("It is being forgotten here. Undo that first."))
            return False
        outcome.facts.added += 1
        self.added.append(fact)
        if is_live(fact):
            self.texts[normalise(fact.text)] = key
        return True

    def _take_known(self, fact: FactIn, key: UUID) -> bool:
        outcome = self._outcome
        theirs = {e.id for e in fact.history if e.id is not None}
        ours = self.events.get(key, set())
        if self.here[key] is not None:
            outcome.refuse(outcome.facts, fact.text, _("It is being forgotten here. Undo that first."))
            return False
        if theirs <= ours:
            outcome.facts.there += 1
        elif not ours <= theirs:
            outcome.refuse(outcome.facts, fact.text, _("It changed here and there. What is here stays."))
        elif self.stones.knows(fact.text, fact.said_at):
            outcome.forgotten += 1
            outcome.refuse(outcome.facts, fact.text, _("You have forgotten this here."))
        else:
            outcome.facts.changed += 1
            self.changed.append(fact)
        return True

    def _foreign_events(self) -> set[UUID]:
        """Return the keys of the file's events under which there are events of other facts."""
        wanted = [event.id for fact in self.given for event in fact.history if event.id is not None]
        ours = set(self.keys.values())
        rows = found(FactEvent.objects.all(), "pk", wanted, "pk", "fact_id")
        return {pk for pk, fact in rows if fact not in ours}

    def _history_here(self) -> dict[UUID, set[UUID]]:
        """Return the keys of the events of the facts that are here."""
        events: dict[UUID, set[UUID]] = {}
        for pk, fact in found(FactEvent.objects.all(), "fact", list(self.here), "pk", "fact_id"):
            events.setdefault(fact, set()).add(pk)
        return events

    def _keep_caps(self) -> None:
        """Choose who goes to the archive and who loses the pin; what is here already keeps both places."""
        pinned = sorted((f for f in self.added if f.pinned and is_live(f)), key=lambda f: f.first_seen)
        self.unpinned = {fact.id for fact in pinned[max(0, MAX_PINNED - self._pinned) :]}
        now = timezone.now()

        def order(fact: FactIn) -> tuple[bool, float, str]:
            worth = rule.Evictable(fact.id, fact.category, fact.confidence, fact.last_seen)
            return (not fact.pinned or fact.id in self.unpinned, rule.score(worth, now), str(fact.id))

        live = sorted((fact for fact in self.added if is_live(fact)), key=order)
        self.over = {fact.id for fact in live[max(0, rule.CAP - self._held) :]}
        notes = self._outcome.notes
        if over := len(self.over):
            sentence = ngettext(
                "There is room for %(most)d memories: %(count)d goes to the archive at once.",
                "There is room for %(most)d memories: %(count)d go to the archive at once.",
                over,
            )
            notes.append(sentence % {"most": rule.CAP, "count": over})
        if unpinned := len(self.unpinned):
            sentence = ngettext(
                "%(most)d memories can be pinned: %(count)d comes without its pin.",
                "%(most)d memories can be pinned: %(count)d come without their pins.",
                unpinned,
            )
            notes.append(sentence % {"most": MAX_PINNED, "count": unpinned})
        if rivals := len(self.rivals()):
            sentence = ngettext(
                "%(count)d memory says something else than one of here: what was learned later stays.",
                "%(count)d memories say something else than some of here: what was learned later stays.",
                rivals,
            )
            notes.append(sentence % {"count": rivals})

    def rivals(self) -> list[FactIn]:
        """Return what comes in beside another live value of a kind that has one."""
        values = self._values.copy()
        single = [f for f in self.added if is_live(f) and KINDS[f.kind].single and f.id not in self.over]
        values.update((fact.kind, fact.subject) for fact in single)
        return [fact for fact in single if values[fact.kind, fact.subject] > 1]


def is_live(fact: FactIn) -> bool:
    return fact.superseded_at is None and fact.archived_at is None


def _from_above(given: Sequence[FactIn], above: dict[UUID, UUID]) -> list[FactIn]:
    """Return the facts, each after those that have replaced it, what is live as early as it can be."""
    facts = {fact.id: fact for fact in given}
    ordered: dict[UUID, FactIn] = {}
    for fact in sorted(given, key=is_live, reverse=True):
        chain: dict[UUID, None] = {}
        key: UUID | None = fact.id
        # Each is walked over once: a ring ends where it began.
        while key is not None and key in facts and key not in ordered and key not in chain:
            chain[key] = None
            key = above.get(key)
        ordered.update((key, facts[key]) for key in reversed(chain))
    return list(ordered.values())
