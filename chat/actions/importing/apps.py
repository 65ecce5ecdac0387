"""Plans which apps, app memories and settings of a file are imported; the owner's own stay unchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.conf import settings as machine
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.actions import app_memories
from chat.actions.owners import (
    EXTRACTION_DELAY_RANGE,
    PRUNE_AFTER_CHOICES,
    list_time_zones,
    redacts_secrets,
    settings_of,
)
from chat.memory.secrets import redact_secrets
from chat.models import (
    App,
    AppMemory,
    AppMemoryEvent,
    Conversation,
    Deletion,
    DeletionState,
    OwnerSettings,
    Theme,
    User,
)
from chat.porting.shapes import ImportedApp, ImportedAppMemory, ImportedSettings

from .chats import ChatImporter
from .id_map import map_to_owner_ids
from .report import ImportOptions, ImportReport
from .tombstone_filter import TombstoneFilter

_COLUMNS = ("slug", "name", "persona", "strategy", "created_at", "archived_at")


class AppPlan:
    """Decides what to do with a file's apps before anything is written.

    An app matches the local one with the same id, or else the same slug. A local app without
    conversations, memories and changed settings is replaced by the file's; any other stays as it is and
    gets the file's chats.
    """

    def __init__(self, owner: User, given: Sequence[ImportedApp]) -> None:
        self._owner, self._given = owner, given
        self._existing = {app.pk: app for app in App.objects.for_owner(owner)}
        slugs = {app.slug: app for app in self._existing.values()}
        keys = map_to_owner_ids(App, owner, [app.id for app in given])
        claimed = {key for key in keys.values() if key in self._existing}
        # By the file's id: the key that the app gets here, and the local app that it replaces.
        self.keys: dict[UUID, UUID] = dict(keys)
        self._replaced: dict[UUID, App] = {}
        for app in given:
            own = self._existing.get(keys[app.id])
            if own is None and (same_slug := slugs.get(app.slug)) is not None and same_slug.pk not in claimed:
                own = same_slug
                claimed.add(same_slug.pk)
            if own is None:
                continue
            if self._is_untouched(own):
                self._replaced[app.id] = own
            else:
                self.keys[app.id] = own.pk

    def count(self, outcome: ImportReport) -> None:
        """Count in the report what happens to the apps."""
        for app in self._given:
            own = self._replaced.get(app.id)
            if self.keys[app.id] in self._existing and (own is None or self._is_equal(own, app)):
                outcome.apps.there += 1
            elif own is not None:
                outcome.apps.changed += 1
            else:
                outcome.apps.added += 1

    def write(self) -> None:
        """Create the apps and replace the local ones that give way. In the caller's transaction."""
        for app in self._replaced.values():
            # Two apps may swap their slugs.
            App.objects.filter(pk=app.pk).update(slug=f"going-{app.pk.hex}")
        mine = App.objects.for_owner(self._owner)
        taken = set(mine.values_list("slug", flat=True))
        stays = mine.exclude(pk__in=[app.pk for app in self._replaced.values()])
        names = {str(app).casefold() for app in stays}
        for given in self._given:
            key, own = self.keys[given.id], self._replaced.get(given.id)
            if key in self._existing and own is None:
                continue
            columns = {name: getattr(given, name) for name in _COLUMNS}
            columns["slug"] = _find_free_slug(given.slug, taken)
            columns["name"] = _find_free_name(given.name, names)
            taken.add(columns["slug"])
            names.add(columns["name"].casefold())
            if own is not None and own.pk == key:
                App.objects.filter(pk=key).update(**columns)
                continue
            App.objects.create(pk=key, owner=self._owner, **columns)
            if own is not None:
                self._move_rows(own, key)

    def _move_rows(self, own: App, key: UUID) -> None:
        for rows in (Conversation.objects, AppMemory.objects, AppMemoryEvent.objects, Deletion.objects):
            rows.filter(owner=self._owner, app=own).update(app=key)
        own.delete()

    def _is_untouched(self, app: App) -> bool:
        chosen = app.persona or app.strategy != App().strategy or app.archived_at
        # Rows left by a killed import do not count.
        conversations = Conversation.objects.filter(app=app).exclude(deletion__state=DeletionState.STAGED)
        return not chosen and not conversations.exists() and not AppMemory.objects.filter(app=app).exists()

    def _is_equal(self, app: App, given: ImportedApp) -> bool:
        return all(getattr(app, name) == getattr(given, name) for name in _COLUMNS)


class AppMemoryPlan:
    """Decides which app memories are imported: at most ten an app, one a conversation, none deleted here.

    Where both sides remember a conversation, the local memory stays.
    """

    def __init__(
        self,
        owner: User,
        apps: Sequence[ImportedApp],
        app_plan: AppPlan,
        chats: ChatImporter,
        options: ImportOptions,
        outcome: ImportReport,
    ) -> None:
        self._owner, self._app_plan, self._chats = owner, app_plan, chats
        # Read now, so that deletions made while the file was read count.
        self._tombstones = TombstoneFilter(owner, ignored=options.forgotten)
        self._options, self._outcome = options, outcome
        self._redacts = redacts_secrets(owner.pk)
        given = [memory for app in apps for memory in app.memories]
        self._keys = map_to_owner_ids(AppMemory, owner, [memory.id for memory in given])
        remembered = AppMemory.objects.for_owner(owner)
        known = remembered.filter(pk__in=self._keys.values())
        self._existing = set(known.values_list("pk", flat=True))
        self._leaving = set(known.filter(deletion__isnull=False).values_list("pk", flat=True))
        self._place_counts = Counter(remembered.values_list("app", flat=True))
        with_source = remembered.filter(source_conversation__isnull=False)
        self._sources = set(with_source.values_list("source_conversation", flat=True))
        sources = [self._source(memory) for memory in given]
        remembered_conversations = Conversation.objects.for_owner(owner).filter(
            pk__in=[source for source in sources if source is not None]
        )
        self._watermarks = dict(remembered_conversations.values_list("pk", "app_memory_after"))
        self.rows = [row for app in apps for row in self._build_rows(app)]

    def write(self) -> None:
        """Save the new memories. In the caller's transaction."""
        AppMemory.objects.bulk_create(self.rows)

    def _build_rows(self, app: ImportedApp) -> list[AppMemory]:
        key = self._app_plan.keys[app.id]
        free = app_memories.MAX_PER_APP - self._place_counts[key]
        rows: list[AppMemory] = []
        for memory in sorted(app.memories, key=lambda m: m.updated_at, reverse=True):
            refusal = self._find_refusal(memory, key)
            if refusal is None:
                self._outcome.app_memories.there += 1
            elif refusal or len(rows) >= free:
                why = refusal or _("This app already has ten memories.")
                self._outcome.refuse(self._outcome.app_memories, memory.content, why)
            else:
                self._outcome.app_memories.added += 1
                rows.append(self._build_row(memory, key))
        return rows

    def _find_refusal(self, memory: ImportedAppMemory, app: UUID) -> str | None:
        """Return why a memory is refused: "" when it is imported, None when it exists here already."""
        key, source = self._keys[memory.id], self._source(memory)
        if key in self._existing:
            return _("It is being forgotten here. Undo that first.") if key in self._leaving else None
        if self._tombstones.is_app_memory_pending(memory.content):
            return _("It is being forgotten here. Undo that first.")
        keys = (memory.id, key, memory.source_conversation, source)
        if self._tombstones.is_app_memory_deleted(memory.content, keys, app, memory.updated_at):
            return self._count_deleted()
        if memory.source_conversation in self._chats.refused:
            return _("Its chat was not imported.")
        if source is None:
            return ""
        if source in self._sources:
            return _("This app already has a memory of this chat.")
        self._sources.add(source)
        through = memory.metadata.get("through")
        if self._options.forgotten or source in self._chats.added or not isinstance(through, int):
            return ""
        return "" if self._watermarks.get(source, 0) < through else self._count_deleted()

    def _count_deleted(self) -> str:
        self._outcome.forgotten += 1
        return _("You have deleted this memory here.")

    def _source(self, memory: ImportedAppMemory) -> UUID | None:
        source = memory.source_conversation
        return None if source is None else self._chats.keys.get(source)

    def _build_row(self, memory: ImportedAppMemory, app: UUID) -> AppMemory:
        metadata = dict(memory.metadata)
        if "related_conversations" in metadata:
            known = {str(given): str(existing) for given, existing in self._chats.keys.items()}
            related = metadata["related_conversations"]
            metadata["related_conversations"] = [known.get(key, key) for key in related]
        return AppMemory(
            pk=self._keys[memory.id],
            owner=self._owner,
            app_id=app,
            content=redact_secrets(memory.content)[:200] if self._redacts else memory.content,
            metadata=metadata,
            edited=memory.edited,
            source_conversation_id=self._source(memory),
            created_at=memory.created_at,
            updated_at=memory.updated_at,
        )


def choose_settings(owner: User, given: ImportedSettings | None, outcome: ImportReport) -> dict[str, Any]:
    """Return the file's settings for which the owner still has the default here; unknown values are refused.

    Automatic deletion of old chats is taken over only while there are no chats here, because those were
    never meant to be deleted.
    """
    if given is None:
        return {}
    existing, fresh = settings_of(owner.pk), OwnerSettings()
    taken: dict[str, Any] = {}
    for name in ImportedSettings.model_fields:
        value, now = getattr(given, name), getattr(existing, name)
        if value is None or value == now:
            outcome.settings.there += 1
        elif now != getattr(fresh, name):
            outcome.refuse(outcome.settings, name, _("You have changed this setting here."))
        elif not _is_known(name, value):
            outcome.refuse(outcome.settings, name, _("This value is not supported here."))
        elif name == "prune_after" and Conversation.objects.for_owner(owner).listed().exists():
            outcome.refuse(outcome.settings, name, _("It would delete chats that are here already."))
        else:
            outcome.settings.changed += 1
            taken[name] = value
    return taken


def describe_pruning(days: int, old: int) -> str:
    """Return the sentence that warns about imported chats that pruning will delete."""
    return ngettext(
        "%(count)d chat is older than %(days)d days. It will leave the list at night and be deleted a week "
        "later: your settings say so.",
        "%(count)d chats are older than %(days)d days. They will leave the list at night and be deleted a "
        "week later: your settings say so.",
        old,
    ) % {"count": old, "days": days}


def _is_known(name: str, value: Any) -> bool:
    shortest, longest = EXTRACTION_DELAY_RANGE
    known: dict[str, bool] = {
        "time_zone": value == "" or value in list_time_zones(),
        "language": value == "" or value in dict(machine.LANGUAGES),
        "theme": value in Theme.values,
        "look_after": isinstance(value, int) and shortest <= value <= longest,
        "prune_after": value in PRUNE_AFTER_CHOICES,
    }
    return known.get(name, True)


def _find_free_slug(slug: str, taken: set[str]) -> str:
    return next(s for s in (slug, *(f"{slug[:55]}-{n}" for n in range(2, len(taken) + 3))) if s not in taken)


def _find_free_name(name: str, taken: set[str]) -> str:
    tried = (name, *(f"{name[:75]} {n}" for n in range(2, len(taken) + 3)))
    return next(n for n in tried if n.casefold() not in taken)
