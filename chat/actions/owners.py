"""The owner of a local installation, and what holds for every owner."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction

from chat.models import App, OwnerSettings

LOCAL_NAME = "owner"


def local_owner() -> Any:
    """Return this machine's one owner, made with their first app where there is none."""
    model = get_user_model()
    owner = model.objects.filter(username=LOCAL_NAME).first()
    return owner or ensure_owner(LOCAL_NAME)


@transaction.atomic
def ensure_owner(username: str) -> Any:
    """Make the user without a password, with settings and the app "General", where there is none."""
    owner, made = get_user_model().objects.get_or_create(
        username=username, defaults={"is_staff": True, "is_superuser": True}
    )
    if made:
        owner.set_unusable_password()
        owner.save(update_fields=["password"])
    welcome(owner)
    return owner


def welcome(owner: Any) -> None:
    """Give a new owner settings and the app "General", where they have none. In a transaction."""
    OwnerSettings.objects.get_or_create(owner=owner)
    default_app(owner)


def default_app(owner: Any) -> App:
    """Return the first of the owner's apps that is not put away, made when they have none."""
    app = App.objects.for_owner(owner).active().first()
    if app is None:
        app, _ = App.objects.get_or_create(owner=owner, slug="general", defaults={"name": "General"})
    return app


def hold_memory(owner_id: int) -> None:
    """Let one change of an owner's facts happen at a time; first of all in a verb's transaction.

    SQLite's BEGIN IMMEDIATE does so already. On PostgreSQL two verbs could each find room under the cap, or
    no live value of a kind, and both add one.
    """
    held = OwnerSettings.objects.select_for_update().filter(owner=owner_id)
    if held.first() is None:
        # Somebody whose account was made by another door than ours.
        OwnerSettings.objects.get_or_create(owner_id=owner_id)
        held.get()


def settings_of(owner_id: int) -> OwnerSettings:
    """Return what this owner chose, as it is now; unsaved defaults where they have chosen nothing yet."""
    return OwnerSettings.objects.filter(owner=owner_id).first() or OwnerSettings(owner_id=owner_id)


def redacts(owner_id: int) -> bool:
    """Return whether secrets stay out of what memory keeps of this owner (design §5, "Ground")."""
    return bool(settings.REDACT_SECRETS) and settings_of(owner_id).redact_secrets


def zone_of(owner_id: int) -> ZoneInfo:
    """Return the zone in which this owner's days begin; the machine's where their own is not known."""
    return zone_in(settings_of(owner_id))


def zone_in(chosen: OwnerSettings) -> ZoneInfo:
    """Return the zone that these settings mean."""
    try:
        return ZoneInfo(chosen.time_zone or settings.TIME_ZONE)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")
