"""Facts that come in: by their id, then by their words; nothing is reinforced, and the caps hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.actions import archive, graph, lineage
from chat.actions.facts import MAX_PINNED, settle_later
from chat.actions.history import USER, event
from chat.actions.owners import redacts
from chat.memory import evict as rule
from chat.memory.kinds import KINDS
from chat.memory.secrets import redact
from chat.memory.similar import normalise
from chat.models import DeletionState, Fact, FactEvent, FactEventKind
from chat.porting.shapes import FactIn, GraphIn

from .chats import Chats
from .forgotten import Forgotten
from .keys import derived, found, own_keys
from .outcome import Outcome
from .sources import Sources
from .ties import add_ties

_LEFT = {"id", "history", "undated", "source_conversation", "source_message", "supersedes", "text", "quote"}
_IMPORTED = "imported"


class Facts:
    """What is to be done with a file's facts, decided before anything is written.

    `forgotten` are the keys of those that stay forgotten.
    """

    def __init__(self, owner: Any, given: Sequence[FactIn], forgotten: Forgotten, outcome: Outcome) -> None:
        self._owner, self._given, self._outcome = owner, given, outcome
        self._stones = forgotten
        self._redacts = redacts(owner.pk)
        self.keys = own_keys(Fact, owner, [fact.id for fact in given])
        mine = Fact.objects.for_owner(owner)
        self._here = {row[0]: row[1] for row in found(mine, "pk", self.keys.values(), "pk", "deletion_id")}
        self._events = self._history_here()
        live = list(mine.live())
        self._texts = {normalise(fact.text): fact.pk for fact in live}
        self._values = Counter((fact.kind, fact.subject) for fact in live)
        self._pinned = mine.filter(pinned=True).count()
        # What is on its way out keeps its place.
        placed = mine.filter(superseded_at__isnull=True, archived_at__isnull=True)
        self._held = len(live) + placed.filter(deletion__state=DeletionState.PENDING).count()
        self.added: list[FactIn] = []
        self._changed: list[FactIn] = []
        self.forgotten: set[UUID] = set()
        self._over: set[UUID] = set()
        self._unpinned: set[UUID] = set()
        self._decide()

    # -- deciding --------------------------------------------------------------------------------------

    def _decide(self) -> None:
        refused: set[UUID] = set()
        replaced_by: dict[UUID, FactIn] = {f.supersedes: f for f in self._given if f.supersedes is not None}
        # What replaced others first: they go with it.
        for fact in sorted(self._given, key=lambda fact: _is_live(fact), reverse=True):
            above: FactIn | None = replaced_by.get(fact.id)
            passed = {fact.id}
            while above is not None and above.id not in refused and above.id not in passed:
                passed.add(above.id)
                above = replaced_by.get(above.id)
            if above is not None and above.id in refused and self.keys[fact.id] not in self._here:
                refused.add(fact.id)
                self._outcome.facts.refused += 1
            elif not self._take(fact):
                refused.add(fact.id)
        self._keep_caps()

    def _take(self, fact: FactIn) -> bool:
        """Decide about one fact; False where it is refused."""
        outcome, key = self._outcome, self.keys[fact.id]
        if key in self._here:
            return self._take_known(fact, key)
        known = self._texts.get(normalise(fact.text)) if _is_live(fact) else None
        if known is not None:
            outcome.facts.there += 1
            self.keys[fact.id] = known
            return True
        if self._stones.knows(fact.text, fact.said_at):
            self.forgotten.add(fact.id)
            outcome.forgotten += 1
            outcome.refuse(outcome.facts, fact.text, _("You have forgotten this here."))
            return False
        if self._stones.leaving(fact.text):
            outcome.refuse(outcome.facts, fact.text, _("It is being forgotten here. Undo that first."))
            return False
        outcome.facts.added += 1
        self.added.append(fact)
        if _is_live(fact):
            self._texts[normalise(fact.text)] = key
        return True

    def _take_known(self, fact: FactIn, key: UUID) -> bool:
        outcome = self._outcome
        theirs = {e.id for e in fact.history if e.id is not None}
        ours = self._events.get(key, set())
        if self._here[key] is not None:
            outcome.refuse(outcome.facts, fact.text, _("It is being forgotten here. Undo that first."))
            return False
        if theirs <= ours:
            outcome.facts.there += 1
        elif not ours <= theirs:
            outcome.refuse(outcome.facts, fact.text, _("It changed here and there. What is here stays."))
        elif self._stones.knows(fact.text, fact.said_at):
            outcome.forgotten += 1
            outcome.refuse(outcome.facts, fact.text, _("You have forgotten this here."))
        else:
            outcome.facts.changed += 1
            self._changed.append(fact)
        return True

    def _keep_caps(self) -> None:
        """Choose who goes to the archive and who loses the pin; what is here already keeps both places."""
        pinned = sorted((f for f in self.added if f.pinned and _is_live(f)), key=lambda f: f.first_seen)
        self._unpinned = {fact.id for fact in pinned[max(0, MAX_PINNED - self._pinned) :]}
        now = timezone.now()

        def order(fact: FactIn) -> tuple[bool, float, str]:
            worth = rule.Evictable(fact.id, fact.category, fact.confidence, fact.last_seen)
            return (not fact.pinned or fact.id in self._unpinned, rule.score(worth, now), str(fact.id))

        live = sorted((fact for fact in self.added if _is_live(fact)), key=order)
        self._over = {fact.id for fact in live[max(0, rule.CAP - self._held) :]}
        notes = self._outcome.notes
        if over := len(self._over):
            sentence = ngettext(
                "There is room for %(most)d memories: %(count)d goes to the archive at once.",
                "There is room for %(most)d memories: %(count)d go to the archive at once.",
                over,
            )
            notes.append(sentence % {"most": rule.CAP, "count": over})
        if unpinned := len(self._unpinned):
            sentence = ngettext(
                "%(most)d memories can be pinned: %(count)d comes without its pin.",
                "%(most)d memories can be pinned: %(count)d come without their pins.",
                unpinned,
            )
            notes.append(sentence % {"most": MAX_PINNED, "count": unpinned})
        if rivals := len(self._rivals()):
            sentence = ngettext(
                "%(count)d memory says something else than one of here: what was learned later stays.",
                "%(count)d memories say something else than some of here: what was learned later stays.",
                rivals,
            )
            notes.append(sentence % {"count": rivals})

    def _rivals(self) -> list[FactIn]:
        """Return what comes in beside another live value of a kind that has one."""
        values = self._values.copy()
        single = [f for f in self.added if _is_live(f) and KINDS[f.kind].single and f.id not in self._over]
        values.update((fact.kind, fact.subject) for fact in single)
        return [fact for fact in single if values[fact.kind, fact.subject] > 1]

    # -- writing ---------------------------------------------------------------------------------------

    def write(self, chats: Chats, tied: GraphIn) -> None:
        """Store what is new and what has changed, with histories and ties. In the caller's transaction."""
        sources = Sources(self._owner, self._given, chats)
        there = {*self._here, *(self.keys[fact.id] for fact in self.added), *self._texts.values()}
        rows = {fact.id: self._row(fact, sources, there) for fact in self.added}
        Fact.objects.bulk_create(rows.values())
        FactEvent.objects.bulk_create(self._history(self.added, sources))
        self._follow_caps(rows)
        self._change(sources, there)
        self._join_chains(rows)
        wordless = add_ties(self._owner, tied, self.keys, set(rows))
        for fact in self.added:
            row = rows[fact.id]
            if fact.id not in wordless:
                continue
            graph.follow(row)
            if not fact.language and fact.origin == "manual" and fact.version == 1:
                settle_later(row)
        changed = [f for f in self._changed if _is_live(f) and KINDS[f.kind].single]
        for fact in [*self._rivals(), *changed]:
            fresh = Fact.objects.select_related("owner").get(pk=self.keys[fact.id])
            if fresh.superseded_at is None:
                lineage.keep_one_value(fresh, USER, _IMPORTED)

    def _row(self, fact: FactIn, sources: Sources, there: set[UUID]) -> Fact:
        return Fact(pk=self.keys[fact.id], owner=self._owner, **self._columns(fact, sources, there))

    def _columns(self, fact: FactIn, sources: Sources, there: set[UUID]) -> dict[str, Any]:
        columns = {name: getattr(fact, name) for name in FactIn.model_fields if name not in _LEFT}
        above = self.keys.get(fact.supersedes) if fact.supersedes else None
        return columns | {
            "text": self._safe(fact.text),
            "quote": self._safe(fact.quote),
            "pinned": fact.pinned and _is_live(fact) and fact.id not in self._unpinned | self._over,
            "source_conversation_id": sources.conversation(fact.source_conversation),
            "source_message_id": sources.message(fact.source_message),
            "supersedes_id": above if above in there else None,
        }

    def _safe(self, text: str) -> str:
        return redact(text) if self._redacts and text else text

    def _history(self, facts: Sequence[FactIn], sources: Sources) -> list[FactEvent]:
        """Return the events that are not here yet, without forgotten words."""
        rows = []
        for fact in facts:
            key = self.keys[fact.id]
            for number, given in enumerate(fact.history):
                pk = self._event_key(key, fact, number)
                if pk in self._events.get(key, set()):
                    continue
                rows.append(
                    FactEvent(
                        pk=pk,
                        fact_id=key,
                        kind=given.kind,
                        before=self._state(given.before, given.created_at),
                        after=self._state(given.after, given.created_at),
                        actor=given.actor,
                        reason=given.reason,
                        source_message_id=sources.message(given.source_message),
                        created_at=given.created_at,
                    )
                )
        return rows

    def _event_key(self, key: UUID, fact: FactIn, number: int) -> UUID:
        given = fact.history[number].id
        if given is None or key != fact.id or given in self._foreign:
            return derived(self._owner, given or fact.id, key, number)
        return given

    def _state(self, state: dict[str, Any], at: Any) -> dict[str, Any]:
        text = state.get("text")
        if text is None:
            return state
        if self._stones.knows(text, at):
            return {name: value for name, value in state.items() if name != "text"}
        return {**state, "text": self._safe(text)}

    def _history_here(self) -> dict[UUID, set[UUID]]:
        """Return the keys of the events of facts that are here; those of other facts are kept apart."""
        wanted = [event.id for fact in self._given for event in fact.history if event.id is not None]
        ours = set(self.keys.values())
        rows = found(FactEvent.objects.all(), "pk", wanted, "pk", "fact_id")
        self._foreign = {pk for pk, fact in rows if fact not in ours}
        events: dict[UUID, set[UUID]] = {}
        for pk, fact in found(FactEvent.objects.all(), "fact", ours, "pk", "fact_id"):
            events.setdefault(fact, set()).add(pk)
        return events

    def _follow_caps(self, rows: dict[UUID, Fact]) -> None:
        unpinned = [rows[key] for key in self._unpinned - self._over]
        reason = f"{MAX_PINNED} are pinned already"
        FactEvent.objects.bulk_create(event(f, FactEventKind.UNPIN, USER, reason=reason) for f in unpinned)
        over = [rows[key] for key in self._over]
        archive.put_away(over, FactEventKind.EVICT, "no room for it when it was imported", timezone.now())

    def _change(self, sources: Sources, there: set[UUID]) -> None:
        for fact in self._changed:
            row = Fact.objects.select_for_update().select_related("owner").get(pk=self.keys[fact.id])
            words = row.text
            pinned = row.pinned
            for name, value in self._columns(fact, sources, there).items():
                setattr(row, name, value)
            # Nobody loses a place by a change elsewhere, and nobody gets one that is not there.
            row.pinned = row.pinned and (pinned or self._may_pin())
            if row.text != words:
                row.embedding, row.embedder = None, ""
            row.save()
            graph.follow(row)
        FactEvent.objects.bulk_create(self._history(self._changed, sources))
        if self._changed:
            archive.evict(self._owner, timezone.now()) if self._is_full() else None

    def _may_pin(self) -> bool:
        return Fact.objects.filter(owner=self._owner, pinned=True).count() < MAX_PINNED

    def _is_full(self) -> bool:
        return Fact.objects.filter(owner=self._owner).live().count() > rule.CAP

    def _join_chains(self, rows: dict[UUID, Fact]) -> None:
        """What a fact of the file had replaced hangs on the fact of here that says the same."""
        for fact in self._given:
            key = self.keys[fact.id]
            older = rows.get(fact.supersedes) if fact.supersedes else None
            if older is not None and fact.id not in rows and key not in self._here:
                newer = Fact.objects.filter(pk=key, owner=self._owner).first()
                if newer is not None:
                    lineage.append(newer, older.pk)
                    newer.save(update_fields=["supersedes"])


def _is_live(fact: FactIn) -> bool:
    return fact.superseded_at is None and fact.archived_at is None
