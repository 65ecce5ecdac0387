"""Apps: rooms of conversations that are made, renamed, put away and brought back (seed 003)."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from chat.models import App, AppMemory, Deletion

from . import deletions, events
from .messages import Refused
from .owners import hold_memory

LONGEST_NAME = 80  # characters; the column's length
_LONGEST_SLUG = 56  # leaves room for a number


def create(owner: Any, name: str) -> App:
    """Make an empty app with the default persona. Raises Refused without a name, or where it is taken."""
    with transaction.atomic():
        hold_memory(owner.pk)
        name = _name(owner, name)
        app = App.objects.create(owner=owner, name=name, slug=_free_slug(owner, name))
        events.tell(owner.pk, "rooms")
    return app


def rename(app: App, name: str) -> None:
    """Give an app another name; its slug, by which programs know it, stays."""
    with transaction.atomic():
        hold_memory(app.owner_id)
        App.objects.filter(pk=app.pk).update(name=_name(app.owner, name, but=app))
        events.tell(app.owner_id, "rooms")


def archive(app: App, *, purge: bool = False) -> Deletion | None:
    """Put an app away: out of the lists, its conversations and memories stay as they are (seed 003).

    With `purge` its memories are forgotten, with undo; that batch is returned. Raises Refused for the last
    app that is in use.
    """
    with transaction.atomic():
        hold_memory(app.owner_id)
        if not App.objects.filter(owner=app.owner_id).active().exclude(pk=app.pk).exists():
            raise Refused(_("This is your only app. Make another one first."))
        App.objects.filter(pk=app.pk, archived_at__isnull=True).update(archived_at=timezone.now())
        events.tell(app.owner_id, "rooms")
        if purge and AppMemory.objects.filter(app=app).live().exists():
            return deletions.forget_app_memories(app)
    return None


def bring_back(app: App) -> None:
    """Let an app that was put away stand in the lists again."""
    with transaction.atomic():
        App.objects.filter(pk=app.pk).update(archived_at=None)
        events.tell(app.owner_id, "rooms")


def _name(owner: Any, name: str, but: App | None = None) -> str:
    name = " ".join(name.replace("\x00", "").split())
    if not name:
        raise Refused(_("Write a name first."))
    if len(name) > LONGEST_NAME:
        raise Refused(_("A name has at most %(most)d characters.") % {"most": LONGEST_NAME})
    # As they are shown: the first app has another name in another language.
    if name.casefold() in {str(app).casefold() for app in App.objects.for_owner(owner) if app != but}:
        raise Refused(_("There is an app with this name already."))
    return name


def _free_slug(owner: Any, name: str) -> str:
    base = slugify(name)[:_LONGEST_SLUG] or "app"
    taken = set(App.objects.for_owner(owner).filter(slug__startswith=base).values_list("slug", flat=True))
    return next(
        slug for slug in (base, *(f"{base}-{n}" for n in range(2, len(taken) + 3))) if slug not in taken
    )
