"""An import from start to end: read and check all of it, write behind a batch, show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.actions import events, indexing, jobs, messages
from chat.actions.messages import Refused
from chat.actions.owners import hold_memory, settings_of
from chat.models import Conversation, Deletion, DeletionState, MemoryMode, Message, OwnerSettings
from chat.porting import files, ours
from chat.porting.parts import Part
from chat.porting.problems import BadFile
from chat.porting.shapes import AppIn, ConversationIn, FactIn, GraphIn, SettingsIn

from . import after
from .chats import Chats
from .facts import Facts
from .forgotten import Forgotten
from .going_on import go_on, have_told
from .outcome import Options, Outcome
from .rooms import Rooms, pruned_soon, settings_to_take
from .staging import Pulse, hold, staged
from .storing import Storing
from .told import Told

# What is written at once: so many messages, or one conversation, or so many of these.
_MESSAGES, _CONVERSATIONS = 400, 50
# What may be held whole, one by one: memories, what happened to them, apps and what they remember.
_HELD = 100_000


@dataclass(slots=True)
class _Contents:
    """What of a file is held whole: all but its conversations."""

    apps: list[AppIn] = field(default_factory=list)
    settings: SettingsIn | None = None
    facts: list[FactIn] = field(default_factory=list)
    graph: GraphIn = field(default_factory=GraphIn)
    oldest: list[Any] = field(default_factory=list)


def dry_run(owner: Any, path: Path, options: Options | None = None) -> Outcome:
    """Return what an import would do; it reads only. Raises BadFile where the file cannot be taken."""
    options = options or Options()
    outcome, chats = _begin(owner, options)
    contents = _read(path, chats, options, outcome)
    rooms = Rooms(owner, contents.apps)
    rooms.count(outcome)
    Told(owner, contents.apps, rooms, chats, options, outcome)
    Facts(owner, contents.facts, Forgotten(owner, ignored=options.forgotten), outcome)
    taken = settings_to_take(owner, contents.settings, outcome)
    _warn(owner, contents, taken, outcome)
    return outcome


def carry_out(owner: Any, path: Path, options: Options | None = None) -> Outcome:
    """Import a file and return what that did; many short transactions, one of which shows what is new.

    Chats of here go on before it, facts of here change after it, one by one: killed in between, the same file
    does the rest. Raises BadFile, and nothing has changed then, or Refused.
    """
    options = options or Options()
    outcome = Outcome()
    contents = _read(path, None, options, outcome)
    _choose_person(outcome)
    rooms = Rooms(owner, contents.apps)
    forgotten = Forgotten(owner, ignored=options.forgotten)
    planned = Facts(owner, contents.facts, forgotten, Outcome())
    with staged(owner) as batch:
        outcome, chats = _begin(owner, options)
        chats.batch, chats.pulse = batch, Pulse(batch)
        chats.rows.untold, chats.rows.facts = frozenset(planned.forgotten), planned.keys
        contents = _read(path, chats, options, outcome)
        go_on(chats, batch)
        storing = Storing(owner, batch, chats, contents.graph)
        storing.stage(planned)
        with transaction.atomic():
            hold_memory(owner.pk)
            hold(batch)
            rooms.count(outcome)
            told = Told(owner, contents.apps, rooms, chats, options, outcome)
            # Also what was forgotten while the file was read.
            forgotten = Forgotten(owner, ignored=options.forgotten)
            facts = Facts(owner, contents.facts, forgotten, outcome, before=planned)
            taken = settings_to_take(owner, contents.settings, outcome)
            _warn(owner, contents, taken, outcome)
            rooms.write()
            _place(chats, rooms)
            storing.show(facts)
            after.keep_one_value_each(owner, [facts.keys[fact.id] for fact in facts.rivals()])
            told.write()
            have_told(chats)
            if taken:
                OwnerSettings.objects.update_or_create(owner=owner, defaults=taken)
            after.ask_to_finish(owner, storing.live, more=len(facts.added) > len(storing.live))
            jobs.enqueue("reindex", {}, key="reindex")
            indexing.ask_to_fill()
            events.tell(owner.pk, "rooms")
            events.tell(owner.pk, "facts")
    after.finish(owner.pk, storing.live)
    after.change(facts, chats)
    if options.learn:
        _have_read(owner, chats.added)
    return outcome


def _begin(owner: Any, options: Options) -> tuple[Outcome, Chats]:
    outcome = Outcome()
    return outcome, Chats(owner, options, outcome, Forgotten(owner, ignored=options.forgotten))


def _read(path: Path, chats: Chats | None, options: Options, outcome: Outcome) -> _Contents:
    """Read and check a whole file, and hand its conversations on in portions, if anybody takes them."""
    contents = _Contents()
    persons: dict[str, list[FactIn]] = {}
    for portion in _portions(files.parts(path), contents, persons, outcome):
        if chats is not None:
            chats.take(portion)
        contents.oldest += [given.updated_at for given in portion]
    if len(persons) > 1 and options.person not in persons:
        outcome.persons = sorted(persons)
    else:
        for person, facts in persons.items():
            if len(persons) == 1 or person == options.person:
                contents.facts += facts
    _no_key_twice(contents)
    return contents


def _portions(
    parts: Iterator[Part], contents: _Contents, persons: dict[str, list[FactIn]], outcome: Outcome
) -> Iterator[list[ConversationIn]]:
    portion: list[ConversationIn] = []
    seen: set[UUID] = set()
    known: set[UUID] = set()
    held = whole = 0
    for part in parts:
        value = part.value
        if part.kind != "conversation":
            whole += 1 + len(getattr(value, "history", ())) + len(getattr(value, "memories", ()))
        if whole > _HELD:
            raise BadFile(_("this file holds more than anybody's memory"), part.where)
        if part.kind == "conversation":
            if outcome.source == ours.FORMAT:
                _no_id_twice(seen, value, part.where)
            if portion and (held + len(value.messages) > _MESSAGES or len(portion) >= _CONVERSATIONS):
                yield portion
                portion, held = [], 0
            portion.append(value)
            held += len(value.messages)
        elif part.kind == "fact":
            _once(known, value.id, f"{part.where}.id")
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


def _no_id_twice(seen: set[UUID], given: ConversationIn, where: str) -> None:
    """Look at a conversation of ours; those of other programs may begin with another's messages."""
    _once(seen, given.id, f"{where}.id")
    for number, topic in enumerate(given.topics):
        _once(seen, topic.id, f"{where}.topics[{number}].id")
    for number, message in enumerate(given.messages):
        _once(seen, message.id, f"{where}.messages[{number}].id")


def _once(seen: set[UUID], key: UUID, where: str) -> None:
    if key in seen:
        raise BadFile(_("this id stands in the file twice"), where)
    seen.add(key)


def _no_key_twice(contents: _Contents) -> None:
    seen: set[UUID] = set()
    for number, app in enumerate(contents.apps):
        _once(seen, app.id, f"apps[{number}].id")
        for place, memory in enumerate(app.memories):
            _once(seen, memory.id, f"apps[{number}].memories[{place}].id")
    for number, fact in enumerate(contents.facts):
        for place, event in enumerate(fact.history):
            if event.id is not None:
                _once(seen, event.id, f"facts[{number}].history[{place}].id")
    for number, entity in enumerate(contents.graph.entities):
        _once(seen, entity.id, f"graph.entities[{number}].id")
    for number, tie in enumerate(contents.graph.relationships):
        _once(seen, tie.id, f"graph.relationships[{number}].id")
    slugs = [app.slug for app in contents.apps]
    if len(set(slugs)) < len(slugs):
        raise BadFile(_("two of them have the same slug"), "apps")


def _choose_person(outcome: Outcome) -> None:
    if outcome.persons:
        names = ", ".join(outcome.persons)
        raise Refused(_("This file holds memories of several people: %s. Choose yours.") % names)


def _place(chats: Chats, rooms: Rooms) -> None:
    """Put the new conversations into their apps; those of unknown apps stay in the first."""
    for app, keys in chats.in_app.items():
        if app is not None and app in rooms.keys:
            for start in range(0, len(keys), 500):
                rows = Conversation.objects.filter(pk__in=keys[start : start + 500])
                rows.update(app=rooms.keys[app])


def _warn(owner: Any, contents: _Contents, taken: dict[str, Any], outcome: Outcome) -> None:
    """Tell what becomes of chats that come in, where the owner could think otherwise."""
    gone = Deletion.objects.for_owner(owner).filter(state=DeletionState.DONE, app=None, whole=False)
    # Which chats they were nobody knows any more.
    if outcome.conversations.added and gone.exists():
        outcome.notes.append(_("Chats that you have deleted here count as new: they come back."))
    days = taken.get("prune_after", settings_of(owner.pk).prune_after)
    before = timezone.now() - timedelta(days=days)
    if days and outcome.conversations.added and (old := sum(at < before for at in contents.oldest)):
        outcome.notes.append(pruned_soon(days, old))


def _have_read(owner: Any, keys: list[UUID]) -> None:
    """Have memory read what came in, each conversation in a transaction of its own."""
    backlog = Message.objects.backlog(owner).filter(conversation__memory_mode=MemoryMode.ON)
    waiting = set(backlog.order_by().values_list("conversation", flat=True))
    for key in keys:
        if key in waiting:
            messages.flush(key)
