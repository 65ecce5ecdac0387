"""Everything that writes facts by hand: add, edit, pin, settle."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.memory import confidence
from chat.memory.kind_rules import guess_kind, settle_kind
from chat.memory.kinds import KINDS
from chat.memory.secrets import REDACTED, redact
from chat.memory.similar import normalise
from chat.memory.subjects import subject_of
from chat.models import Category, Fact, FactEventKind, Message, Origin

from . import archive, events, graph, jobs
from .history import record, snapshot
from .lineage import keep_one_value, supersede
from .messages import Refused
from .owners import hold_memory, redacts

__all__ = [
    "MAX_CHARACTERS",
    "MAX_PINNED",
    "OnItsWayOut",
    "add_fact",
    "changeable",
    "clean",
    "edit_fact",
    "is_live",
    "is_unsorted",
    "kind_on_shelf",
    "pin_fact",
    "reinforce",
    "same_text",
    "settle",
    "settle_later",
    "supersede",
]

MAX_PINNED = 10  # seed 004, "Pinned Exemption"
MAX_CHARACTERS = 300
_FEWEST_LETTERS = 2  # a word: "x" says nothing that could be remembered
_ONE_VALUE = "one of its kind at a time"


class OnItsWayOut(Refused):
    """The fact is being forgotten; only Undo can change it now."""


def add_fact(owner: Any, text: str, origin: Origin = Origin.MANUAL, *, source: Message | None = None) -> Fact:
    """Store a fact that the user wrote, at once under a guessed kind; the model settles it later.

    `source` is the message in which it was highlighted: the words are the quote then.
    """
    text = clean(owner.pk, text)
    with transaction.atomic():
        hold_memory(owner.pk)
        known = same_text(owner, text)
        if known is not None:
            return reinforce(known, "user", "added again by hand", source=source)
        kind = guess_kind(text)
        fact = Fact.objects.create(
            owner=owner,
            text=text,
            kind=kind,
            category=KINDS[kind].category,
            subject=subject_of(kind, text),
            confidence=confidence.baseline(origin),
            origin=origin,
            quote=text if source else "",
            source_message=source,
            source_conversation=source.conversation if source else None,
        )
        record(fact, FactEventKind.ADD, "user", source=source)
        graph.follow(fact)
        keep_one_value(fact, "user", _ONE_VALUE, newest=True)
        archive.evict(owner, timezone.now(), keep=[fact.pk])
        settle_later(fact)
        events.tell(owner.pk, "facts")
    return fact


def edit_fact(fact: Fact, text: str, category: str = "") -> Fact:
    """Give a fact the user's words, and another shelf when one is named; returns the fact that says it now.

    That is another one where those words are known already: the edited fact makes way for it.
    """
    text = clean(fact.owner_id, text)
    if category and category not in Category.values:
        raise Refused(_("Choose project, preference or identity."))
    with transaction.atomic():
        hold_memory(fact.owner_id)
        fact = changeable(fact)
        before = snapshot(fact)
        if text == fact.text and category in ("", fact.category):
            return fact
        twin = same_text(fact.owner, text, but=fact)
        if twin is not None:
            return _merge(fact, twin)
        changed_words = text != fact.text
        fact.text, fact.category = text, category or fact.category
        if changed_words or KINDS[fact.kind].category != fact.category:
            fact.kind = kind_on_shelf(fact.kind, text, fact.category)
        fact.subject = subject_of(fact.kind, text)
        if changed_words:
            fact.embedding, fact.embedder = None, ""
        fact.version += 1
        fact.save()
        record(fact, FactEventKind.EDIT, "user", before=before)
        graph.follow(fact)
        keep_one_value(fact, "user", _ONE_VALUE, newest=True)
        if changed_words:
            settle_later(fact)
        events.tell(fact.owner_id, "facts")
    return fact


def pin_fact(fact: Fact, pinned: bool) -> Fact:
    """Pin or unpin a fact; at most ten are pinned, those on their way out included."""
    with transaction.atomic():
        hold_memory(fact.owner_id)
        fact = changeable(fact)
        if fact.pinned == pinned:
            return fact
        if pinned and Fact.objects.filter(owner=fact.owner, pinned=True).count() >= MAX_PINNED:
            raise Refused(_("%d memories are pinned, and that is the most. Unpin one first.") % MAX_PINNED)
        before = snapshot(fact)
        fact.pinned = pinned
        fact.save(update_fields=["pinned"])
        record(fact, FactEventKind.PIN if pinned else FactEventKind.UNPIN, "user", before=before)
        events.tell(fact.owner_id, "facts")
    return fact


def reinforce(fact: Fact, actor: str, reason: str, **source: Any) -> Fact:
    """Count one more mention of a known fact; inside the caller's transaction."""
    before = snapshot(fact)
    fact.confidence = confidence.reinforced(fact.confidence, fact.origin)
    fact.mention_count += 1
    fact.last_seen, fact.idle_days = timezone.now(), 0
    fact.save(update_fields=["confidence", "mention_count", "last_seen", "idle_days"])
    record(fact, FactEventKind.REINFORCE, actor, before=before, reason=reason, **source)
    events.tell(fact.owner_id, "facts")
    return fact


def settle(
    fact_id: Any, version: int, *, kind: str, subject: str, vector: bytes | None, embedder: str
) -> None:
    """Write what the model and the embedder found out about a fact, unless it has changed meanwhile."""
    with transaction.atomic():
        owner_id = Fact.objects.filter(pk=fact_id).values_list("owner", flat=True).first()
        if owner_id is None:
            return
        hold_memory(owner_id)
        fact = Fact.objects.select_for_update().filter(pk=fact_id, version=version).first()
        if fact is None:
            return
        before = snapshot(fact)
        if is_unsorted(fact):
            fact.kind, fact.category, fact.subject = kind, KINDS[kind].category, subject
        fact.embedding, fact.embedder = vector, embedder
        fact.save(update_fields=["kind", "category", "subject", "embedding", "embedder"])
        if snapshot(fact) != before:
            graph.follow(fact)
            record(fact, FactEventKind.UPDATE, "memory", before=before, reason="sorted by the model")
            if is_live(fact):
                keep_one_value(fact, "memory", _ONE_VALUE)
            events.tell(fact.owner_id, "facts")


def is_unsorted(fact: Fact) -> bool:
    """Tell whether the kind of a fact was only guessed so far; an edited or restored one keeps its own."""
    return fact.origin in (Origin.MANUAL, Origin.HIGHLIGHT) and fact.version == 1


def clean(owner_id: int, text: str) -> str:
    """Return a fact's text on one line, without secrets unless the owner wants them.

    Raises Refused when it is empty or too long.
    """
    text = " ".join(text.replace("\x00", "").split())
    text = redact(text) if redacts(owner_id) else text
    if not text:
        raise Refused(_("Write what to remember."))
    if text == REDACTED:
        raise Refused(_("This is a secret, and secrets are not kept."))
    if sum(c.isalpha() for c in text) < _FEWEST_LETTERS:
        raise Refused(_("There is no word in this. Write what to remember as a sentence."))
    if len(text) > MAX_CHARACTERS:
        raise Refused(_("A memory has at most %d characters. Shorten it a little.") % MAX_CHARACTERS)
    return text


def kind_on_shelf(kind: str, text: str, category: str) -> str:
    """Return the kind that the words suggest, unless it stands on another shelf than the user's."""
    for guess in (settle_kind(kind, text), kind, guess_kind(text)):
        if KINDS[guess].category == category:
            return guess
    # The most general kind of each shelf, none of them single-valued.
    return {"project": "goal", "preference": "likes", "identity": "event"}[category]


def same_text(owner: Any, text: str, but: Fact | None = None) -> Fact | None:
    """Return the live fact that says these words, however punctuated; `but` is left out."""
    wanted = normalise(text)
    live = Fact.objects.filter(owner=owner).live()
    return next((f for f in live if f != but and normalise(f.text) == wanted), None)


def is_live(fact: Fact) -> bool:
    """Tell whether a fact, as it was read, is known now."""
    return fact.deletion_id is None and fact.superseded_at is None and fact.archived_at is None


def settle_later(fact: Fact) -> None:
    """Have the model sort a fact written by hand, and have its words embedded; in a transaction."""
    jobs.enqueue(
        "settle",
        {"fact": str(fact.pk), "version": fact.version},
        key=f"settle:{fact.pk}:{fact.version}",
        priority=jobs.URGENT,
    )


def changeable(fact: Fact) -> Fact:
    """Return a live fact's row for a change by hand; raises Refused for any other. In a transaction."""
    fresh = Fact.objects.select_for_update().select_related("owner").get(pk=fact.pk)
    if fresh.deletion_id is not None:
        raise OnItsWayOut(_("This memory is being forgotten. Undo that first."))
    if fresh.superseded_at is not None:
        raise Refused(_("This memory has been replaced by a newer one."))
    if fresh.archived_at is not None:
        raise Refused(_("This memory is in the archive. Bring it back first."))
    return fresh


def _merge(fact: Fact, twin: Fact) -> Fact:
    reason = "corrected to words that are known already"
    supersede(fact, twin, "user", reason)
    return reinforce(twin, "user", reason)
