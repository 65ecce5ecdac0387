"""Runs an import: read and validate the file, write behind a staging batch, make everything visible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.actions import conversation_jobs, events, indexing, jobs, message_windows
from chat.actions.owners import lock_memory, settings_of
from chat.error_messages import describe
from chat.errors import BadFile, Refused
from chat.models import Conversation, Deletion, DeletionState, MemoryMode, Message, OwnerSettings, User
from chat.porting import files, ours
from chat.porting.files import ImportSource
from chat.porting.parts import BrokenItem, FilePart
from chat.porting.shapes import (
    ImportedApp,
    ImportedConversation,
    ImportedFact,
    ImportedGraph,
    ImportedSettings,
)

from . import fact_writer
from .append import append_to_conversations, update_app_memory_watermarks
from .apps import AppMemoryPlan, AppPlan, choose_settings, describe_pruning
from .chats import ChatImporter
from .fact_writer import FactWriter
from .facts import FactPlan
from .report import ImportOptions, ImportReport
from .staging import Heartbeat, keep_batch_alive, open_staging_batch
from .tombstone_filter import TombstoneFilter

# What one transaction writes: this many messages, or one longer conversation, or this many conversations.
_MESSAGES, _CONVERSATIONS = 400, 50
# How many items other than conversations may be held in memory: facts, events, apps, app memories.
_MAX_HELD = 100_000


@dataclass(slots=True)
class _Contents:
    """The parts of a file that are held in memory: all but the conversations."""

    apps: list[ImportedApp] = field(default_factory=list)
    settings: ImportedSettings | None = None
    facts: list[ImportedFact] = field(default_factory=list)
    graph: ImportedGraph = field(default_factory=ImportedGraph)
    oldest: list[Any] = field(default_factory=list)
    # Conversations and facts that could be read, and the first fault of those that could not.
    whole_items: int = 0
    fault: BadFile | None = None

    def leave_out(self, broken: BrokenItem, outcome: ImportReport) -> None:
        """Report a conversation or fact that cannot be read."""
        tally = outcome.conversations if broken.kind == "conversation" else outcome.facts
        where = broken.fault.where if isinstance(broken.fault.where, str) else describe(broken.fault.where)
        outcome.refuse(tally, where, describe(broken.fault.reason))
        self.fault = self.fault or broken.fault


def dry_run(owner: User, path: ImportSource, options: ImportOptions | None = None) -> ImportReport:
    """Return what an import would do; reads only. Raises BadFile when the file cannot be imported."""
    options = options or ImportOptions()
    outcome, chats = _create_importer(owner, options)
    contents = _read(path, chats, options, outcome)
    app_plan = AppPlan(owner, contents.apps)
    app_plan.count(outcome)
    AppMemoryPlan(owner, contents.apps, app_plan, chats, options, outcome)
    forgotten = TombstoneFilter(owner, ignored=options.forgotten)
    FactPlan(owner, contents.facts, forgotten, outcome, near=options.near)
    taken = choose_settings(owner, contents.settings, outcome)
    _add_notes(owner, contents, taken, outcome)
    return outcome


def import_file(owner: User, path: ImportSource, options: ImportOptions | None = None) -> ImportReport:
    """Import a file and return what was done; many short transactions, of which one makes new rows visible.

    Existing chats are extended before that transaction and existing facts updated after it, one by one;
    after a kill in between, importing the same file again does the rest. Raises BadFile, with nothing
    changed, or Refused.
    """
    options = options or ImportOptions()
    outcome = ImportReport()
    contents = _read(path, None, options, outcome)
    _choose_person(outcome)
    app_plan = AppPlan(owner, contents.apps)
    forgotten = TombstoneFilter(owner, ignored=options.forgotten)
    planned = FactPlan(owner, contents.facts, forgotten, ImportReport(), near=options.near)
    with open_staging_batch(owner) as batch:
        outcome, chats = _create_importer(owner, options)
        chats.batch, chats.pulse = batch, Heartbeat(batch)
        chats.rows.refused_facts, chats.rows.facts = frozenset(planned.forgotten), planned.keys
        contents = _read(path, chats, options, outcome)
        append_to_conversations(chats, batch)
        writer = FactWriter(owner, batch, chats, contents.graph)
        writer.stage(planned)
        with transaction.atomic():
            lock_memory(owner.pk)
            keep_batch_alive(batch)
            app_plan.count(outcome)
            app_memory_plan = AppMemoryPlan(owner, contents.apps, app_plan, chats, options, outcome)
            # Read again, so that deletions made while the file was read count.
            forgotten = TombstoneFilter(owner, ignored=options.forgotten)
            facts = FactPlan(owner, contents.facts, forgotten, outcome, planned, near=options.near)
            taken = choose_settings(owner, contents.settings, outcome)
            _add_notes(owner, contents, taken, outcome)
            app_plan.write()
            _move_to_apps(chats, app_plan)
            writer.show(facts)
            fact_writer.resolve_single_values(owner, [facts.keys[fact.id] for fact in facts.find_rivals()])
            app_memory_plan.write()
            update_app_memory_watermarks(chats)
            if taken:
                OwnerSettings.objects.update_or_create(owner=owner, defaults=taken)
            fact_writer.queue_finish(owner, writer.live, more=len(facts.added) > len(writer.live))
            jobs.enqueue("reindex", {}, key="reindex")
            message_windows.queue_windows()
            indexing.queue_index_fill()
            events.send_on_commit(owner.pk, "conversations")
            events.send_on_commit(owner.pk, "facts")
    fact_writer.finish_import(owner.pk, writer.live)
    fact_writer.update_changed_facts(facts, chats)
    if options.learn:
        _queue_extraction(owner, chats.added)
    return outcome


def _create_importer(owner: User, options: ImportOptions) -> tuple[ImportReport, ChatImporter]:
    outcome = ImportReport()
    return outcome, ChatImporter(owner, options, outcome, TombstoneFilter(owner, ignored=options.forgotten))


def _read(
    path: ImportSource, chats: ChatImporter | None, options: ImportOptions, outcome: ImportReport
) -> _Contents:
    """Read and validate a whole file; passes its conversations to `chats` in portions, if given."""
    contents = _Contents()
    persons: dict[str, list[ImportedFact]] = {}
    for portion in _portions(files.read_parts(path), contents, persons, outcome):
        if chats is not None:
            chats.take_portion(portion)
        contents.oldest += [given.updated_at for given in portion]
    if contents.fault is not None and not contents.whole_items:
        raise contents.fault
    if len(persons) > 1 and options.person not in persons:
        outcome.persons = sorted(persons)
    else:
        for person, facts in persons.items():
            if len(persons) == 1 or person == options.person:
                contents.facts += facts
    _check_ids(contents)
    return contents


def _portions(
    parts: Iterator[FilePart],
    contents: _Contents,
    persons: dict[str, list[ImportedFact]],
    outcome: ImportReport,
) -> Iterator[list[ImportedConversation]]:
    portion: list[ImportedConversation] = []
    seen: set[UUID] = set()
    known: set[UUID] = set()
    held = held_items = 0
    for part in parts:
        value = part.value
        if part.kind != "conversation":
            held_items += 1 + len(getattr(value, "history", ())) + len(getattr(value, "memories", ()))
        if held_items > _MAX_HELD:
            raise BadFile("file-too-many-items", part.where)
        if part.kind == "broken":
            contents.leave_out(value, outcome)
        elif part.kind == "conversation":
            try:
                if outcome.source == ours.FORMAT:
                    _check_conversation_ids(seen, value, part.where)
            except BadFile as fault:
                contents.leave_out(BrokenItem("conversation", fault), outcome)
                continue
            contents.whole_items += 1
            if portion and (held + len(value.messages) > _MESSAGES or len(portion) >= _CONVERSATIONS):
                yield portion
                portion, held = [], 0
            portion.append(value)
            held += len(value.messages)
        elif part.kind == "fact":
            if value.id in known:
                contents.leave_out(BrokenItem("fact", BadFile("file-id-twice", f"{part.where}.id")), outcome)
                continue
            known.add(value.id)
            contents.whole_items += 1
            persons.setdefault(part.person, []).append(value)
        elif part.kind == "refused":
            outcome.refuse(outcome.facts, value.what, value.why)
        elif part.kind == "app":
            contents.apps.append(value)
        elif part.kind == "settings":
            contents.settings = value
        elif part.kind == "graph":
            contents.graph = value
        elif part.kind == "source":
            outcome.source = value
    if portion:
        yield portion


def _check_conversation_ids(seen: set[UUID], given: ImportedConversation, where: str) -> None:
    """Raise BadFile for an id that occurs twice in a conversation of our own format.

    Files of other programs may repeat a message in several chats.
    """
    _check_unique(seen, given.id, f"{where}.id")
    for number, topic in enumerate(given.topics):
        _check_unique(seen, topic.id, f"{where}.topics[{number}].id")
    for number, message in enumerate(given.messages):
        _check_unique(seen, message.id, f"{where}.messages[{number}].id")


def _check_unique(seen: set[UUID], key: UUID, where: str) -> None:
    if key in seen:
        raise BadFile("file-id-twice", where)
    seen.add(key)


def _check_ids(contents: _Contents) -> None:
    seen: set[UUID] = set()
    for number, app in enumerate(contents.apps):
        _check_unique(seen, app.id, f"apps[{number}].id")
        for place, memory in enumerate(app.memories):
            _check_unique(seen, memory.id, f"apps[{number}].memories[{place}].id")
    for number, fact in enumerate(contents.facts):
        for place, event in enumerate(fact.history):
            if event.id is not None:
                _check_unique(seen, event.id, f"facts[{number}].history[{place}].id")
    for number, entity in enumerate(contents.graph.entities):
        _check_unique(seen, entity.id, f"graph.entities[{number}].id")
    for number, tie in enumerate(contents.graph.relationships):
        _check_unique(seen, tie.id, f"graph.relationships[{number}].id")
    slugs = [app.slug for app in contents.apps]
    if len(set(slugs)) < len(slugs):
        raise BadFile("file-slug-twice", "apps")


def _choose_person(outcome: ImportReport) -> None:
    if outcome.persons:
        names = ", ".join(outcome.persons)
        raise Refused("several-people", names=names)


def _move_to_apps(chats: ChatImporter, app_plan: AppPlan) -> None:
    """Move the new conversations into their apps; those of unknown apps stay in the first app."""
    for app, keys in chats.keys_by_app.items():
        if app is not None and app in app_plan.keys:
            for start in range(0, len(keys), 500):
                rows = Conversation.objects.filter(pk__in=keys[start : start + 500])
                rows.update(app=app_plan.keys[app])


def _add_notes(owner: User, contents: _Contents, taken: dict[str, Any], outcome: ImportReport) -> None:
    """Add notes on imported chats that the owner has deleted here, or that pruning will delete."""
    deleted = Deletion.objects.for_owner(owner).filter(state=DeletionState.DONE, app=None, whole=False)
    # Which chats were deleted is not stored.
    if outcome.conversations.added and deleted.exists():
        outcome.notes.append(_("Chats that you deleted here are imported again as new chats."))
    days = taken.get("prune_after", settings_of(owner.pk).prune_after)
    before = timezone.now() - timedelta(days=days)
    if days and outcome.conversations.added and (old := sum(at < before for at in contents.oldest)):
        outcome.notes.append(describe_pruning(days, old))


def _queue_extraction(owner: User, keys: list[UUID]) -> None:
    """Queue extraction from the imported chats, one transaction each."""
    backlog = Message.objects.backlog(owner).filter(conversation__memory_mode=MemoryMode.ON)
    waiting = set(backlog.order_by().values_list("conversation", flat=True))
    for key in keys:
        if key in waiting:
            conversation_jobs.flush_extraction(key)
