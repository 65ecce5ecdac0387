"""Apps: create, rename, archive, restore, and set their persona and strategy."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify

from chat.context.prompt import DEFAULT_PERSONA
from chat.errors import Refused
from chat.models import App, AppMemory, Conversation, Deletion, Strategy, User

from . import deletions, events
from .owners import lock_memory

LONGEST_NAME = 80  # characters; the column's length
_LONGEST_SLUG = 56  # leaves space for a numeric suffix
# Characters; about a quarter of the smallest context window.
MAX_PERSONA = 4000


def create_app(owner: User, name: str) -> App:
    """Create an app with the default persona. Raises Refused if the name is empty, too long or in use."""
    with transaction.atomic():
        lock_memory(owner.pk)
        name = _name(owner, name)
        app = App.objects.create(owner=owner, name=name, slug=_free_slug(owner, name))
        events.send_on_commit(owner.pk, "conversations")
    return app


def rename_app(app: App, name: str) -> None:
    """Rename an app; its slug, by which programs know it, stays. Raises Refused as `create_app`."""
    with transaction.atomic():
        lock_memory(app.owner_id)
        App.objects.filter(pk=app.pk).update(name=_name(app.owner, name, but=app))
        events.send_on_commit(app.owner_id, "conversations")


def archive_app(app: App, *, purge: bool = False) -> Deletion | None:
    """Archive an app: it leaves the lists; its conversations and memories stay.

    With `purge` its memories are deleted with undo, and that deletion is returned. Raises Refused for the
    last active app.
    """
    with transaction.atomic():
        lock_memory(app.owner_id)
        if not App.objects.filter(owner=app.owner_id).active().exclude(pk=app.pk).exists():
            raise Refused("app-is-only-one")
        App.objects.filter(pk=app.pk, archived_at__isnull=True).update(archived_at=timezone.now())
        events.send_on_commit(app.owner_id, "conversations")
        if purge and AppMemory.objects.filter(app=app).live().exists():
            return deletions.forget_app_memories(app)
    return None


def unarchive_app(app: App) -> None:
    """Return an archived app to the lists."""
    with transaction.atomic():
        App.objects.filter(pk=app.pk).update(archived_at=None)
        events.send_on_commit(app.owner_id, "conversations")


def set_persona(app: App, persona: str) -> None:
    """Set an app's persona; "" or the default text selects the default, including future defaults.

    The model re-reads each conversation of the app once, because the prompt starts with the persona.
    Raises Refused when it is longer than `MAX_PERSONA`.
    """
    persona = persona.replace("\x00", "").replace("\r\n", "\n").strip()
    if len(persona) > MAX_PERSONA:
        raise Refused("persona-too-long", most=MAX_PERSONA, here=len(persona))
    _update_app(app, persona="" if persona == DEFAULT_PERSONA else persona)


def set_app_strategy(app: App, strategy: str) -> None:
    """Set the compaction strategy of the app's conversations without one of their own. Raises Refused."""
    if strategy not in Strategy.values:
        raise Refused("strategy-unknown")
    _update_app(app, strategy=strategy)


def _update_app(app: App, **values: Any) -> None:
    with transaction.atomic():
        lock_memory(app.owner_id)
        App.objects.filter(pk=app.pk).update(**values)
        # Prepared compactions were built with the old value.
        Conversation.objects.filter(app=app, prepared__isnull=False).update(prepared=None)


def _name(owner: User, name: str, but: App | None = None) -> str:
    name = " ".join(name.replace("\x00", "").split())
    if not name:
        raise Refused("name-empty")
    if len(name) > LONGEST_NAME:
        raise Refused("name-too-long", most=LONGEST_NAME)
    # Compare the displayed names: the first app's name is translated.
    if name.casefold() in {str(app).casefold() for app in App.objects.for_owner(owner) if app != but}:
        raise Refused("app-name-taken")
    return name


def _free_slug(owner: User, name: str) -> str:
    base = slugify(name)[:_LONGEST_SLUG] or "app"
    taken = set(App.objects.for_owner(owner).filter(slug__startswith=base).values_list("slug", flat=True))
    return next(
        slug for slug in (base, *(f"{base}-{n}" for n in range(2, len(taken) + 3))) if slug not in taken
    )
