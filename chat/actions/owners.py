"""Owners: the local owner, each owner's settings, and the lock on an owner's memory.

Each setter stores one validated setting, or raises Refused and changes nothing.
"""

from __future__ import annotations

from datetime import date, datetime
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import DEFAULT_DB_ALIAS, transaction
from django.utils import timezone

from chat.errors import Refused
from chat.models import App, OwnerSettings, Theme, User
from chat.models.compiled import CompiledQuery

LOCAL_NAME = "owner"
# Seconds between a message and its extraction; a conversation ends after ten minutes anyway.
EXTRACTION_DELAY_RANGE = (2, 600)
# Days; 0, the default, never prunes.
PRUNE_AFTER_CHOICES = (0, 30, 90, 180, 365)
SWITCH_VALUES = {"on": True, "off": False}
_SETTINGS_FIELDS = [field.attname for field in OwnerSettings._meta.concrete_fields]
# Compiled, because the settings are read seven times for each message.
_SETTINGS = CompiledQuery(
    lambda owner: OwnerSettings.objects.filter(owner=owner).values_list(*_SETTINGS_FIELDS), of=int
)


def local_owner() -> User:
    """Return the owner of local mode; created with a first app when missing.

    That is the account named `LOCAL_NAME`. Where server mode has given its data to an account with another
    name, it is this account as long as it is the only one; among several nobody can say who sits here.
    """
    accounts = get_user_model().objects
    owner = accounts.filter(username=LOCAL_NAME).first()
    return owner or find_only_account() or ensure_owner(LOCAL_NAME)


def find_only_account() -> User | None:
    """Return the account where there is exactly one, and it is an active admin; otherwise None."""
    accounts = list(get_user_model().objects.order_by("pk")[:2])
    alone = len(accounts) == 1 and accounts[0].is_active and accounts[0].is_superuser
    return accounts[0] if alone else None


@transaction.atomic
def ensure_owner(username: str) -> User:
    """Return the user, created without a password, with settings and the app "General", when missing."""
    owner, made = get_user_model().objects.get_or_create(
        username=username, defaults={"is_staff": True, "is_superuser": True}
    )
    if made:
        owner.set_unusable_password()
        owner.save(update_fields=["password"])
    set_up_owner(owner)
    return owner


def set_up_owner(owner: User) -> None:
    """Create an owner's settings and the app "General" when missing. In a transaction."""
    OwnerSettings.objects.get_or_create(owner=owner)
    default_app(owner)


def default_app(owner: User) -> App:
    """Return the first active app of the owner; created when there is none."""
    app = App.objects.for_owner(owner).active().first()
    if app is None:
        app, _ = App.objects.get_or_create(owner=owner, slug="general", defaults={"name": "General"})
    return app


def is_local() -> bool:
    """Return whether this process serves the local owner only, on loopback."""
    return bool(settings.MODE == "local")


def lock_memory(owner_id: int) -> None:
    """Lock an owner's memory until the transaction ends; call it before reading what the change depends on.

    SQLite's BEGIN IMMEDIATE does so already. On PostgreSQL two writers could otherwise both find space
    under a limit, or no live value of a single-valued kind, and both add a fact.
    """
    held = OwnerSettings.objects.select_for_update().filter(owner=owner_id)
    if held.first() is None:
        # A user that was created by another module has no settings row yet.
        OwnerSettings.objects.get_or_create(owner_id=owner_id)
        held.get()


def settings_of(owner_id: int) -> OwnerSettings:
    """Return the owner's current settings; unsaved defaults when there are none."""
    for row in _SETTINGS.fetch(owner_id):
        return OwnerSettings.from_db(DEFAULT_DB_ALIAS, _SETTINGS_FIELDS, row)
    return OwnerSettings(owner_id=owner_id)


def redacts_secrets(owner_id: int) -> bool:
    """Return whether secrets are redacted from what memory stores of this owner."""
    return bool(settings.REDACT_SECRETS) and settings_of(owner_id).redact_secrets


def time_zone_of(owner_id: int) -> ZoneInfo:
    """Return the time zone in which this owner's days begin; the machine's when their own is unknown."""
    return time_zone_from(settings_of(owner_id))


def local_day_of(owner_id: int, moment: datetime | None = None) -> date:
    """Return the owner's day at a moment, by default now."""
    return timezone.localtime(moment, time_zone_of(owner_id)).date()


def time_zone_from(chosen: OwnerSettings) -> ZoneInfo:
    """Return the time zone of these settings; UTC when its name is unknown."""
    try:
        return ZoneInfo(chosen.time_zone or settings.TIME_ZONE)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


@cache
def list_time_zones() -> frozenset[str]:
    """Return the names of all time zones that this machine knows."""
    return frozenset(available_timezones() - {"localtime", "posixrules", "Factory"})


def set_theme(owner: User, theme: str) -> None:
    """Set light or dark; "" follows the system."""
    if theme not in Theme.values:
        raise Refused("theme-unknown")
    _save_settings(owner, theme=theme)


def set_language(owner: User, language: str) -> None:
    """Set the language of the pages; "" follows the browser."""
    if language and language not in dict(settings.LANGUAGES):
        raise Refused("language-unknown")
    _save_settings(owner, language=language)


def set_time_zone(owner: User, zone: str) -> None:
    """Set the time zone in which the owner's days begin, by IANA name; "" takes it from the browser."""
    if zone and zone not in list_time_zones():
        raise Refused("time-zone-unknown")
    _save_settings(owner, time_zone=zone)


def adopt_time_zone(owner: User, zone: str) -> None:
    """Set the time zone of the owner's browser where none is set; an unknown one is ignored."""
    if zone in list_time_zones() and not settings_of(owner.pk).time_zone:
        _save_settings(owner, time_zone=zone)


def set_extraction_delay(owner: User, seconds: str) -> None:
    """Set after how many seconds without a message memory extracts; queued extractions keep their time."""
    shortest, longest = EXTRACTION_DELAY_RANGE
    if not (seconds.strip().isascii() and seconds.strip().isdigit()):
        raise Refused("seconds-not-a-number")
    if not shortest <= (given := int(seconds)) <= longest:
        raise Refused("seconds-out-of-range", shortest=shortest, longest=longest)
    _save_settings(owner, look_after=given)


def set_prune_after(owner: User, days: str) -> None:
    """Set after how many days without a message a conversation is deleted at night; "0" keeps all."""
    if days not in {str(choice) for choice in PRUNE_AFTER_CHOICES}:
        raise Refused("prune-after-unknown")
    _save_settings(owner, prune_after=int(days))


def _set_switch(owner: User, name: str, switch: str) -> None:
    if switch not in SWITCH_VALUES:
        raise Refused("switch-unknown")
    _save_settings(owner, **{name: SWITCH_VALUES[switch]})


def set_redaction(owner: User, switch: str) -> None:
    """Set whether passwords, keys and card numbers are redacted from what memory stores from now on."""
    _set_switch(owner, "redact_secrets", switch)


def set_past_chats(owner: User, switch: str) -> None:
    """Set whether prompts may quote the owner's past conversations."""
    _set_switch(owner, "use_past_chats", switch)


def set_sending_past_chats(owner: User, switch: str) -> None:
    """Set whether past conversations may also be quoted to a model on another machine."""
    _set_switch(owner, "send_past_chats", switch)


def set_offering_past_chats(owner: User, switch: str) -> None:
    """Set whether other assistants may recall the owner's past conversations by the MCP server."""
    _set_switch(owner, "offer_past_chats", switch)


def require_active_app(app: App) -> None:
    """Raise Refused when an app is archived; it may have been archived since its page was opened."""
    if not App.objects.filter(pk=app.pk).active().exists():
        raise Refused("app-archived", app=str(app))


def _save_settings(owner: User, **values: Any) -> None:
    OwnerSettings.objects.update_or_create(owner=owner, defaults=values)
