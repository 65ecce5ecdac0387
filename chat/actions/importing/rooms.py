"""Apps and settings that come in: what the owner has here already stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.conf import settings as machine
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.actions.owners import settings_of
from chat.actions.preferences import LOOK_AFTER_RANGE, PRUNE_AFTER, zones
from chat.models import (
    App,
    AppMemory,
    AppMemoryEvent,
    Conversation,
    Deletion,
    DeletionState,
    OwnerSettings,
    Theme,
)
from chat.porting.shapes import AppIn, SettingsIn

from .keys import own_keys
from .outcome import Outcome

_COLUMNS = ("slug", "name", "persona", "strategy", "created_at", "archived_at")


class Rooms:
    """What is to be done with a file's apps, decided before anything is written.

    An app is the one with its id, or else the one with its slug. One of here in which nothing was ever said,
    remembered or chosen makes way for the file's; any other stays as it is, and takes the chats in.
    """

    def __init__(self, owner: Any, given: Sequence[AppIn]) -> None:
        self._owner, self._given = owner, given
        self._here = {app.pk: app for app in App.objects.for_owner(owner)}
        slugs = {app.slug: app for app in self._here.values()}
        keys = own_keys(App, owner, [app.id for app in given])
        claimed = {key for key in keys.values() if key in self._here}
        # The key of each in the end, and the app of here that makes way for it.
        self.keys: dict[UUID, UUID] = dict(keys)
        self._yields: dict[UUID, App] = {}
        for app in given:
            local = self._here.get(keys[app.id])
            if local is None and (twin := slugs.get(app.slug)) is not None and twin.pk not in claimed:
                local = twin
                claimed.add(twin.pk)
            if local is None:
                continue
            if self._is_untouched(local):
                self._yields[app.id] = local
            else:
                self.keys[app.id] = local.pk

    def count(self, outcome: Outcome) -> None:
        """Tell what becomes of the apps."""
        for app in self._given:
            local = self._yields.get(app.id)
            if self.keys[app.id] in self._here and (local is None or self._same(local, app)):
                outcome.apps.there += 1
            elif local is not None:
                outcome.apps.changed += 1
            else:
                outcome.apps.added += 1

    def write(self) -> None:
        """Make the apps, and let those make way that do. In the caller's transaction."""
        for app in self._yields.values():
            # Two may change places.
            App.objects.filter(pk=app.pk).update(slug=f"going-{app.pk.hex}")
        mine = App.objects.for_owner(self._owner)
        taken = set(mine.values_list("slug", flat=True))
        stays = mine.exclude(pk__in=[app.pk for app in self._yields.values()])
        names = {str(app).casefold() for app in stays}
        for given in self._given:
            key, local = self.keys[given.id], self._yields.get(given.id)
            if key in self._here and local is None:
                continue
            columns = {name: getattr(given, name) for name in _COLUMNS}
            columns["slug"] = _free(given.slug, taken)
            columns["name"] = _unlike(given.name, names)
            taken.add(columns["slug"])
            names.add(columns["name"].casefold())
            if local is not None and local.pk == key:
                App.objects.filter(pk=key).update(**columns)
                continue
            App.objects.create(pk=key, owner=self._owner, **columns)
            if local is not None:
                self._move(local, key)

    def _move(self, local: App, key: UUID) -> None:
        for rows in (Conversation.objects, AppMemory.objects, AppMemoryEvent.objects, Deletion.objects):
            rows.filter(owner=self._owner, app=local).update(app=key)
        local.delete()

    def _is_untouched(self, app: App) -> bool:
        chosen = app.persona or app.strategy != App().strategy or app.archived_at
        # What a killed import has left is as good as gone.
        said = Conversation.objects.filter(app=app).exclude(deletion__state=DeletionState.STAGED)
        return not chosen and not said.exists() and not AppMemory.objects.filter(app=app).exists()

    def _same(self, app: App, given: AppIn) -> bool:
        return all(getattr(app, name) == getattr(given, name) for name in _COLUMNS)


def settings_to_take(owner: Any, given: SettingsIn | None, outcome: Outcome) -> dict[str, Any]:
    """Return the settings of the file for what is as on the first day here; what is not known here stays out.

    Chats are deleted after a time only where there are none yet: those of here were never meant.
    """
    if given is None:
        return {}
    here, fresh = settings_of(owner.pk), OwnerSettings()
    taken: dict[str, Any] = {}
    for name in SettingsIn.model_fields:
        value, now = getattr(given, name), getattr(here, name)
        if value is None or value == now:
            outcome.settings.there += 1
        elif now != getattr(fresh, name):
            outcome.refuse(outcome.settings, name, _("You have chosen something else here."))
        elif not _is_known(name, value):
            outcome.refuse(outcome.settings, name, _("This is not known here."))
        elif name == "prune_after" and Conversation.objects.for_owner(owner).listed().exists():
            outcome.refuse(outcome.settings, name, _("It would delete chats that are here already."))
        else:
            outcome.settings.changed += 1
            taken[name] = value
    return taken


def pruned_soon(days: int, old: int) -> str:
    """Return the sentence about chats that come in and are deleted at night."""
    return ngettext(
        "%(count)d chat is older than %(days)d days and will be deleted at night: your settings say so.",
        "%(count)d chats are older than %(days)d days and will be deleted at night: your settings say so.",
        old,
    ) % {"count": old, "days": days}


def _is_known(name: str, value: Any) -> bool:
    shortest, longest = LOOK_AFTER_RANGE
    known: dict[str, bool] = {
        "time_zone": value == "" or value in zones(),
        "language": value == "" or value in dict(machine.LANGUAGES),
        "theme": value in Theme.values,
        "look_after": isinstance(value, int) and shortest <= value <= longest,
        "prune_after": value in PRUNE_AFTER,
    }
    return known.get(name, True)


def _free(slug: str, taken: set[str]) -> str:
    return next(s for s in (slug, *(f"{slug[:55]}-{n}" for n in range(2, len(taken) + 3))) if s not in taken)


def _unlike(name: str, taken: set[str]) -> str:
    tried = (name, *(f"{name[:75]} {n}" for n in range(2, len(taken) + 3)))
    return next(n for n in tried if n.casefold() not in taken)
