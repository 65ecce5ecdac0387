"""Plans which facts of a file are imported: matched by id, then by text; the limits of live facts hold.

Matching facts are not reinforced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.actions.facts import MAX_PINNED
from chat.actions.owners import redacts_secrets
from chat.memory import evict as rule
from chat.memory.kinds import KINDS
from chat.memory.text_similarity import normalize_text
from chat.models import DeletionState, Fact, FactEvent, User
from chat.porting.shapes import ImportedFact

from .id_map import fetch_columns, map_to_owner_ids
from .report import ImportReport
from .tombstone_filter import TombstoneFilter


class FactPlan:
    """Decides what to do with a file's facts before anything is written.

    `near` holds the ids of facts to take although they nearly say what was deleted here. The plan's
    `forgotten` holds the ids of facts that stay deleted. `before` is an earlier plan of the same facts whose
    new ones are staged by now.
    """

    def __init__(
        self,
        owner: User,
        given: Sequence[ImportedFact],
        forgotten: TombstoneFilter,
        outcome: ImportReport,
        before: FactPlan | None = None,
        *,
        near: Collection[UUID] = (),
    ) -> None:
        self.owner, self.given, self._outcome, self._near = owner, given, outcome, near
        self.tombstones = forgotten
        self.redacts = redacts_secrets(owner.pk)
        self._own: dict[UUID, UUID] = (
            before._own if before else map_to_owner_ids(Fact, owner, [fact.id for fact in given])
        )
        self.keys = dict(self._own)
        staged = {fact.id for fact in before.added} if before else set()
        unstaged = [key for given_key, key in self._own.items() if given_key not in staged]
        # Staged facts are not here yet, including this import's own.
        mine = Fact.objects.for_owner(owner).exclude(deletion__state=DeletionState.STAGED)
        self.existing = {row[0]: row[1] for row in fetch_columns(mine, "pk", unstaged, "pk", "deletion_id")}
        self.foreign: set[UUID] = before.foreign if before else self._foreign_events()
        self.events = self._history_here()
        live = list(mine.live())
        self.texts = {normalize_text(fact.text): fact.pk for fact in live}
        self._values = Counter((fact.kind, fact.subject) for fact in live)
        self._pinned = mine.filter(pinned=True).count()
        # Facts pending deletion keep their places.
        placed = mine.filter(superseded_at__isnull=True, archived_at__isnull=True)
        self._live_count = len(live) + placed.filter(deletion__state=DeletionState.PENDING).count()
        self.added: list[ImportedFact] = []
        self.changed: list[ImportedFact] = []
        self.forgotten: set[UUID] = set()
        self.archived: set[UUID] = set()
        self.unpinned: set[UUID] = set()
        self._decide()

    def _decide(self) -> None:
        refused: set[UUID] = set()
        # Facts that a refused fact superseded, also through facts that exist here already.
        superseded_by_refused: set[UUID] = set()
        successors = {f.supersedes: f.id for f in self.given if f.supersedes is not None}
        for fact in _order_by_supersession(self.given, successors):
            newer = successors.get(fact.id)
            if newer in refused or newer in superseded_by_refused:
                superseded_by_refused.add(fact.id)
            if fact.id in superseded_by_refused and self.keys[fact.id] not in self.existing:
                refused.add(fact.id)
                self._outcome.facts.refused += 1
            elif not self._decide_one(fact):
                refused.add(fact.id)
        self._keep_caps()

    def _decide_one(self, fact: ImportedFact) -> bool:
        """Decide about one fact; returns False when it is refused."""
        outcome, key = self._outcome, self.keys[fact.id]
        if key in self.existing:
            return self._decide_existing(fact, key)
        known = self.texts.get(normalize_text(fact.text)) if is_live(fact) else None
        if known is not None:
            outcome.facts.there += 1
            self.keys[fact.id] = known
            return True
        if self.tombstones.is_deleted(fact.text, fact.said_at):
            self.forgotten.add(fact.id)
            outcome.forgotten += 1
            outcome.refuse(outcome.facts, fact.text, _("You have deleted this memory here."))
            return False
        if self.tombstones.is_pending(fact.text):
            outcome.refuse(outcome.facts, fact.text, _("It is being forgotten here. Undo that first."))
            return False
        if self._is_refused_as_near(fact):
            return False
        outcome.facts.added += 1
        self.added.append(fact)
        if is_live(fact):
            self.texts[normalize_text(fact.text)] = key
        return True

    def _is_refused_as_near(self, fact: ImportedFact) -> bool:
        """Return whether a fact nearly says what was deleted here and the owner has not chosen it."""
        if not self.tombstones.is_nearly_deleted(fact.kind, fact.subject, fact.text, fact.said_at):
            return False
        self._outcome.near[fact.id] = fact.text
        if fact.id in self._near:
            return False
        self.forgotten.add(fact.id)
        why = _("It says nearly what a memory said that you have deleted here.")
        self._outcome.refuse(self._outcome.facts, fact.text, why)
        return True

    def _decide_existing(self, fact: ImportedFact, key: UUID) -> bool:
        outcome = self._outcome
        file_ids = {e.id for e in fact.history if e.id is not None}
        local_ids = self.events.get(key, set())
        if self.existing[key] is not None:
            outcome.refuse(outcome.facts, fact.text, _("It is being forgotten here. Undo that first."))
            return False
        if file_ids <= local_ids:
            outcome.facts.there += 1
        elif not local_ids <= file_ids:
            outcome.refuse(
                outcome.facts, fact.text, _("It changed here and in the file. The version here is kept.")
            )
        elif self.tombstones.is_deleted(fact.text, fact.said_at):
            outcome.forgotten += 1
            outcome.refuse(outcome.facts, fact.text, _("You have deleted this memory here."))
        else:
            outcome.facts.changed += 1
            self.changed.append(fact)
        return True

    def _foreign_events(self) -> set[UUID]:
        """Return the file's event ids that other facts' events have here."""
        wanted = [event.id for fact in self.given for event in fact.history if event.id is not None]
        local_ids = set(self.keys.values())
        rows = fetch_columns(FactEvent.objects.all(), "pk", wanted, "pk", "fact_id")
        return {pk for pk, fact in rows if fact not in local_ids}

    def _history_here(self) -> dict[UUID, set[UUID]]:
        """Return the event ids of the facts that exist here, by fact."""
        events: dict[UUID, set[UUID]] = {}
        for pk, fact in fetch_columns(FactEvent.objects.all(), "fact", list(self.existing), "pk", "fact_id"):
            events.setdefault(fact, set()).add(pk)
        return events

    def _keep_caps(self) -> None:
        """Choose which new facts are archived and which lose their pin; existing facts keep their places."""
        pinned = sorted((f for f in self.added if f.pinned and is_live(f)), key=lambda f: f.first_seen)
        self.unpinned = {fact.id for fact in pinned[max(0, MAX_PINNED - self._pinned) :]}
        now = timezone.now()

        def order(fact: ImportedFact) -> tuple[bool, float, str]:
            worth = rule.Evictable(fact.id, fact.category, fact.confidence, fact.last_seen)
            return (
                not fact.pinned or fact.id in self.unpinned,
                rule.compute_eviction_score(worth, now),
                str(fact.id),
            )

        live = sorted((fact for fact in self.added if is_live(fact)), key=order)
        self.archived = {fact.id for fact in live[max(0, rule.CAP - self._live_count) :]}
        notes = self._outcome.notes
        if archived := len(self.archived):
            sentence = ngettext(
                "There is room for %(most)d memories: %(count)d goes to the archive at once.",
                "There is room for %(most)d memories: %(count)d go to the archive at once.",
                archived,
            )
            notes.append(sentence % {"most": rule.CAP, "count": archived})
        if unpinned := len(self.unpinned):
            sentence = ngettext(
                "%(most)d memories can be pinned: %(count)d comes without its pin.",
                "%(most)d memories can be pinned: %(count)d come without their pins.",
                unpinned,
            )
            notes.append(sentence % {"most": MAX_PINNED, "count": unpinned})
        if rival_count := len(self.find_rivals()):
            sentence = ngettext(
                "%(count)d memory contradicts an existing one: the one learned later is used.",
                "%(count)d memories contradict existing ones: those learned later are used.",
                rival_count,
            )
            notes.append(sentence % {"count": rival_count})

    def find_rivals(self) -> list[ImportedFact]:
        """Return the new live facts that compete with another live value of a single-valued kind."""
        values = self._values.copy()
        single = [f for f in self.added if is_live(f) and KINDS[f.kind].single and f.id not in self.archived]
        values.update((fact.kind, fact.subject) for fact in single)
        return [fact for fact in single if values[fact.kind, fact.subject] > 1]


def is_live(fact: ImportedFact) -> bool:
    return fact.superseded_at is None and fact.archived_at is None


def _order_by_supersession(given: Sequence[ImportedFact], successors: dict[UUID, UUID]) -> list[ImportedFact]:
    """Return the facts with successors before what they superseded, live ones as early as possible."""
    facts = {fact.id: fact for fact in given}
    ordered: dict[UUID, ImportedFact] = {}
    for fact in sorted(given, key=is_live, reverse=True):
        chain: dict[UUID, None] = {}
        key: UUID | None = fact.id
        # Each fact is visited once, so a cycle of links ends.
        while key is not None and key in facts and key not in ordered and key not in chain:
            chain[key] = None
            key = successors.get(key)
        ordered.update((key, facts[key]) for key in reversed(chain))
    return list(ordered.values())
