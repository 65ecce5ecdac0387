"""Facts: add, edit, pin, reinforce, and store their classification."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Max, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from chat.errors import PendingDeletion, Refused
from chat.memory import confidence
from chat.memory.dates import resolve_relative_dates
from chat.memory.fact_dates import find_fact_dates
from chat.memory.kind_rules import guess_kind, settle_kind
from chat.memory.kinds import KINDS
from chat.memory.secrets import REDACTED, redact_secrets
from chat.memory.subjects import extract_subject
from chat.memory.text_similarity import normalize_text
from chat.models import Category, Fact, FactEventKind, Message, Origin, User

from . import archive, events, graph, jobs
from .fact_events import DATES, record_event, snapshot
from .owners import local_day_of, lock_memory, redacts_secrets
from .supersession import keep_one_value, supersede

MAX_PINNED = 10
MAX_CHARACTERS = 300
_MIN_LETTERS = 2  # one word; a single letter states nothing
_SINGLE_VALUE_REASON = "one of its kind at a time"


def add_fact(
    owner: User, text: str, origin: Origin = Origin.MANUAL, *, source: Message | None = None
) -> Fact:
    """Add a fact that the user wrote, with a guessed kind; a job classifies it with the model later.

    `source` is the message in which the text was highlighted; the text is then also its quote. A live
    fact with the same text is reinforced instead. Raises Refused as `clean_text` does.
    """
    text = clean_text(owner.pk, text)
    # Before the transaction, since it may load the embedder.
    kind = guess_kind(text)
    with transaction.atomic():
        lock_memory(owner.pk)
        known = find_same_text(owner, text)
        if known is not None:
            return reinforce_fact(known, "user", "added again by hand", source=source)
        fact = Fact(
            owner=owner,
            text=text,
            kind=kind,
            category=KINDS[kind].category,
            subject=extract_subject(kind, text),
            confidence=confidence.get_initial_confidence(origin),
            origin=origin,
            quote=text if source else "",
            source_message=source,
            source_conversation=source.conversation if source else None,
            last_seen_conversation=source.conversation if source else None,
        )
        _set_dates(fact, timezone.now())
        fact.save(force_insert=True)
        record_event(fact, FactEventKind.ADD, "user", source=source)
        graph.sync_fact(fact)
        keep_one_value(fact, "user", _SINGLE_VALUE_REASON, newest=True)
        archive.evict_facts(owner, timezone.now(), keep=[fact.pk])
        queue_classification(fact)
        events.send_on_commit(owner.pk, "facts")
    return fact


def edit_fact(fact: Fact, text: str, category: str = "") -> Fact:
    """Change a fact's text, and its category when one is given; returns the fact that now has the text.

    When another live fact has that text already, the edited one is superseded by it. Raises Refused for
    an invalid text or category or an archived or superseded fact, PendingDeletion for a fact being
    deleted.
    """
    text = clean_text(fact.owner_id, text)
    if category and category not in Category.values:
        raise Refused("category-unknown")
    with transaction.atomic():
        lock_memory(fact.owner_id)
        fact = lock_editable(fact)
        before = snapshot(fact)
        if text == fact.text and category in ("", fact.category):
            return fact
        duplicate = find_same_text(fact.owner, text, but=fact)
        if duplicate is not None:
            return _merge_into_duplicate(fact, duplicate)
        changed_words = text != fact.text
        fact.text, fact.category = text, category or fact.category
        if changed_words or KINDS[fact.kind].category != fact.category:
            fact.kind = choose_kind_in_category(fact.kind, text, fact.category)
        fact.subject = extract_subject(fact.kind, text)
        if changed_words:
            fact.embedding, fact.embedder = None, ""
            _set_dates(fact, timezone.now())
        fact.version += 1
        fact.save()
        record_event(fact, FactEventKind.EDIT, "user", before=before)
        graph.sync_fact(fact)
        keep_one_value(fact, "user", _SINGLE_VALUE_REASON, newest=True)
        if changed_words:
            queue_classification(fact)
        events.send_on_commit(fact.owner_id, "facts")
    return fact


def pin_fact(fact: Fact, pinned: bool) -> Fact:
    """Pin or unpin a fact. Raises Refused when `MAX_PINNED` are pinned, those pending deletion included."""
    with transaction.atomic():
        lock_memory(fact.owner_id)
        fact = lock_editable(fact)
        if fact.pinned == pinned:
            return fact
        if pinned and Fact.objects.filter(owner=fact.owner, pinned=True).count() >= MAX_PINNED:
            raise Refused("pins-all-used", most=MAX_PINNED)
        before = snapshot(fact)
        fact.pinned = pinned
        fact.save(update_fields=["pinned"])
        record_event(fact, FactEventKind.PIN if pinned else FactEventKind.UNPIN, "user", before=before)
        events.send_on_commit(fact.owner_id, "facts")
    return fact


def reinforce_fact(fact: Fact, actor: str, reason: str, *, source: Message | None = None) -> Fact:
    """Count one more mention of a known fact and raise its confidence; inside the caller's transaction.

    `source` is the message that mentions it, None where it was mentioned outside of a conversation.
    """
    before = snapshot(fact)
    fact.confidence = confidence.raise_confidence(fact.confidence, fact.origin)
    fact.mention_count += 1
    fact.last_seen, fact.idle_days = timezone.now(), 0
    if source is not None:
        fact.last_seen_conversation_id = source.conversation_id
    fact.save(
        update_fields=["confidence", "mention_count", "last_seen", "idle_days", "last_seen_conversation"]
    )
    record_event(fact, FactEventKind.REINFORCE, actor, before=before, reason=reason, source=source)
    events.send_on_commit(fact.owner_id, "facts")
    return fact


def store_classification(
    fact_id: Any, version: int, *, kind: str, subject: str, vector: bytes | None, embedder: str
) -> None:
    """Store the kind from the model and the vector from the embedder, unless the fact changed meanwhile.

    `version` is the fact's version that was classified; `vector` holds float32 bytes or is None.
    """
    with transaction.atomic():
        owner_id = Fact.objects.filter(pk=fact_id).values_list("owner", flat=True).first()
        if owner_id is None:
            return
        lock_memory(owner_id)
        fact = Fact.objects.select_for_update().filter(pk=fact_id, version=version).first()
        if fact is None:
            return
        before = snapshot(fact)
        if has_guessed_kind(fact):
            fact.kind, fact.category, fact.subject = kind, KINDS[kind].category, subject
            _set_dates(fact, fact.first_seen)
        fact.embedding, fact.embedder = vector, embedder
        fact.save(update_fields=["kind", "category", "subject", "embedding", "embedder", *DATES])
        if snapshot(fact) != before:
            graph.sync_fact(fact)
            record_event(fact, FactEventKind.UPDATE, "memory", before=before, reason="sorted by the model")
            if is_live(fact):
                keep_one_value(fact, "memory", _SINGLE_VALUE_REASON)
            events.send_on_commit(fact.owner_id, "facts")


def _set_dates(fact: Fact, said_at: datetime) -> None:
    """Set when a fact holds, as its words say that were written at a moment."""
    day = local_day_of(fact.owner_id, said_at)
    dates = find_fact_dates(resolve_relative_dates(fact.text, day), fact.kind, day)
    fact.holds_from, fact.holds_until, fact.said_on = dates.holds_from, dates.holds_until, dates.said_on


def has_guessed_kind(fact: Fact) -> bool:
    """Return whether a fact's kind is only guessed; an edited or restored fact keeps its kind."""
    return fact.origin in (Origin.MANUAL, Origin.HIGHLIGHT) and fact.version == 1


def clean_text(owner_id: int, text: str) -> str:
    """Return a fact's text on one line, with secrets redacted unless the owner turned that off.

    Raises Refused when it is empty, too long, has no word, or is nothing but a secret.
    """
    text = " ".join(text.replace("\x00", "").split())
    text = redact_secrets(text) if redacts_secrets(owner_id) else text
    if not text:
        raise Refused("fact-empty")
    if text == REDACTED:
        raise Refused("fact-is-secret")
    if sum(c.isalpha() for c in text) < _MIN_LETTERS:
        raise Refused("fact-without-words")
    if len(text) > MAX_CHARACTERS:
        raise Refused("fact-too-long", most=MAX_CHARACTERS)
    return text


def choose_kind_in_category(kind: str, text: str, category: str) -> str:
    """Return the kind that fits the text best among those of the category."""
    for guess in (settle_kind(kind, text), kind, guess_kind(text)):
        if KINDS[guess].category == category:
            return guess
    # The most general kind of each category; none is single-valued.
    return {"project": "goal", "preference": "likes", "identity": "event"}[category]


def find_same_text(owner: User, text: str, but: Fact | None = None) -> Fact | None:
    """Return the live fact that has the same text apart from case and punctuation; None if there is none.

    The fact `but` does not count.
    """
    wanted = normalize_text(text)
    live = Fact.objects.filter(owner=owner).live()
    return next((f for f in live if f != but and normalize_text(f.text) == wanted), None)


def is_live(fact: Fact) -> bool:
    """Return whether a fact was live when its row was read."""
    return fact.deletion_id is None and fact.superseded_at is None and fact.archived_at is None


def queue_classification(fact: Fact) -> None:
    """Queue the job that classifies and embeds a fact written by hand; in a transaction."""
    jobs.enqueue(
        "settle",
        {"fact": str(fact.pk), "version": fact.version},
        key=f"settle:{fact.pk}:{fact.version}",
        priority=jobs.URGENT,
    )


def lock_editable(fact: Fact) -> Fact:
    """Return a live fact, row-locked, for an edit. In a transaction.

    Raises PendingDeletion for a fact being deleted, Refused for a superseded or archived one.
    """
    current = Fact.objects.select_for_update().select_related("owner").get(pk=fact.pk)
    if current.deletion_id is not None:
        raise PendingDeletion("fact-pending-deletion")
    if current.superseded_at is not None:
        raise Refused("fact-superseded")
    if current.archived_at is not None:
        raise Refused("fact-archived")
    return current


def _merge_into_duplicate(fact: Fact, duplicate: Fact) -> Fact:
    reason = "corrected to words that are known already"
    supersede(fact, duplicate, "user", reason)
    return reinforce_fact(duplicate, "user", reason)


def find_oldest_pin_if_full(fact: Fact) -> Fact | None:
    """Return the fact pinned longest ago that could make room for this one; None while no pin must go."""
    unpinned = Fact.objects.filter(owner=fact.owner_id).live().filter(pk=fact.pk, pinned=False)
    pinned = Fact.objects.filter(owner=fact.owner_id, pinned=True)
    if not unpinned.exists() or pinned.count() < MAX_PINNED:
        return None
    # A fact that inherited its pin from a superseded one has no PIN event of its own.
    pressed = Coalesce(Max("events__created_at", filter=Q(events__kind=FactEventKind.PIN)), "first_seen")
    return pinned.live().annotate(pressed=pressed).order_by("pressed", "id").first()


def swap_pins(fact: Fact, other: Fact) -> Fact:
    """Unpin one fact and pin another; both or neither. Raises as `pin_fact` does."""
    with transaction.atomic():
        pin_fact(other, False)
        return pin_fact(fact, True)
