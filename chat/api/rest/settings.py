"""What the owner chose about pages and memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from ninja import Router, Schema
from pydantic import Field

from chat.actions import guard, preferences
from chat.actions.owners import redacts, settings_of
from chat.models import OwnerSettings, Theme

from .common import Body, Flag, IfMatch, Request, Whole, responses, seen, tagged

router = Router(tags=["settings"])
_SHORTEST, _LONGEST = preferences.LOOK_AFTER_RANGE


class SettingsOut(Schema):
    """The owner's choices; "" follows the machine or the browser."""

    time_zone: str
    language: str
    theme: Theme
    look_after: int = Field(description="Quiet seconds after which memory reads what was said.")
    redact_secrets: bool
    prune_after: int = Field(description="Days after which a quiet conversation is deleted; 0 keeps all.")
    etag: str = Field(description="Send it as `If-Match` to change what you have read.")


class SettingsPatch(Body):
    """What is to change; what is left out stays."""

    time_zone: str | None = Field(default=None, max_length=60, examples=["Europe/Berlin"])
    language: str | None = Field(default=None, max_length=10)
    theme: Theme | None = None
    look_after: Whole | None = Field(default=None, ge=_SHORTEST, le=_LONGEST)
    redact_secrets: Flag | None = None
    prune_after: Whole | None = Field(default=None, ge=0, le=max(preferences.PRUNE_AFTER))


# Each takes what the page's form sends.
_VERBS: dict[str, Callable[[Any, Any], None]] = {
    "time_zone": preferences.set_time_zone,
    "language": preferences.set_language,
    "theme": preferences.set_theme,
    "look_after": lambda owner, value: preferences.set_look_after(owner, str(value)),
    "redact_secrets": lambda owner, value: preferences.set_redaction(owner, "on" if value else "off"),
    "prune_after": lambda owner, value: preferences.set_prune_after(owner, str(value)),
}


def settings_mark(chosen: OwnerSettings) -> str:
    """Return what changes with every choice."""
    return guard.mark(chosen.owner_id, *(getattr(chosen, name) for name in _VERBS))


@router.get("", response=SettingsOut)
def get_settings(request: Request, response: HttpResponse) -> SettingsOut:
    """Tell the owner's choices."""
    chosen = settings_of(request.auth.pk)
    tagged(response, settings_mark(chosen))
    return SettingsOut(
        time_zone=chosen.time_zone,
        language=chosen.language,
        theme=Theme(chosen.theme),
        look_after=chosen.look_after,
        redact_secrets=redacts(request.auth.pk),
        prune_after=chosen.prune_after,
        etag=settings_mark(chosen),
    )


@router.patch("", response=SettingsOut, openapi_extra=responses(412))
def edit_settings(
    request: Request, response: HttpResponse, body: SettingsPatch, if_match: IfMatch = None
) -> SettingsOut:
    """Change some of them, all or none."""
    read = lambda: settings_of(request.auth.pk)  # noqa: E731
    with guard.unchanged(request.auth, read, settings_mark, seen(if_match)):
        for name, value in body.model_dump(exclude_none=True).items():
            _VERBS[name](request.auth, value)
    return get_settings(request, response)
