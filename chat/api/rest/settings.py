"""The settings of the owner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from ninja import Router, Schema
from pydantic import Field

from chat.actions import old_conversations, optimistic_lock, owners
from chat.actions.owners import redacts_secrets, settings_of
from chat.models import OwnerSettings, Theme

from .common import ApiRequest, Body, Flag, IfMatch, Whole, parse_if_match, problem_responses, set_etag

router = Router(tags=["settings"])
_SHORTEST, _LONGEST = owners.EXTRACTION_DELAY_RANGE


class SettingsOut(Schema):
    """The owner's settings; "" follows the machine or the browser."""

    time_zone: str
    language: str
    theme: Theme
    look_after: int = Field(description="Seconds without a new message after which facts are extracted.")
    redact_secrets: bool
    use_past_chats: bool = Field(description="Whether prompts may quote past conversations of the same app.")
    send_past_chats: bool = Field(
        description="Whether they may also be quoted to a model on another machine."
    )
    offer_past_chats: bool = Field(
        description="Whether the MCP server offers other assistants a tool that recalls past conversations."
    )
    prune_after: int = Field(
        description="Days without a change after which a conversation is hidden, and deleted a week "
        "later; 0 keeps all."
    )
    etag: str = Field(description="Send it as `If-Match` to change what you have read.")


class SettingsPatch(Body):
    """The members to change; the others stay."""

    time_zone: str | None = Field(default=None, max_length=60, examples=["Europe/Berlin"])
    language: str | None = Field(default=None, max_length=10)
    theme: Theme | None = None
    look_after: Whole | None = Field(default=None, ge=_SHORTEST, le=_LONGEST)
    redact_secrets: Flag | None = None
    use_past_chats: Flag | None = None
    send_past_chats: Flag | None = None
    offer_past_chats: Flag | None = None
    prune_after: Whole | None = Field(default=None, ge=0, le=max(owners.PRUNE_AFTER_CHOICES))


# Each takes the value as the form of the settings page sends it.
_SETTERS: dict[str, Callable[[Any, Any], None]] = {
    "time_zone": owners.set_time_zone,
    "language": owners.set_language,
    "theme": owners.set_theme,
    "look_after": lambda owner, value: owners.set_extraction_delay(owner, str(value)),
    "redact_secrets": lambda owner, value: owners.set_redaction(owner, "on" if value else "off"),
    "use_past_chats": lambda owner, value: owners.set_past_chats(owner, "on" if value else "off"),
    "send_past_chats": lambda owner, value: owners.set_sending_past_chats(owner, "on" if value else "off"),
    "offer_past_chats": lambda owner, value: owners.set_offering_past_chats(owner, "on" if value else "off"),
    "prune_after": lambda owner, value: old_conversations.change_prune_after(owner, str(value)),
}


def settings_etag(chosen: OwnerSettings) -> str:
    """Return the etag of the settings; it changes with every member."""
    return optimistic_lock.fingerprint(chosen.owner_id, *(getattr(chosen, name) for name in _SETTERS))


@router.get("", response=SettingsOut)
def get_settings(request: ApiRequest, response: HttpResponse) -> SettingsOut:
    """Return the settings."""
    chosen = settings_of(request.auth.pk)
    set_etag(response, settings_etag(chosen))
    return SettingsOut(
        time_zone=chosen.time_zone,
        language=chosen.language,
        theme=Theme(chosen.theme),
        look_after=chosen.look_after,
        redact_secrets=redacts_secrets(request.auth.pk),
        use_past_chats=chosen.use_past_chats,
        send_past_chats=chosen.send_past_chats,
        offer_past_chats=chosen.offer_past_chats,
        prune_after=chosen.prune_after,
        etag=settings_etag(chosen),
    )


@router.patch("", response=SettingsOut, openapi_extra=problem_responses(412))
def edit_settings(
    request: ApiRequest, response: HttpResponse, body: SettingsPatch, if_match: IfMatch = None
) -> SettingsOut:
    """Change settings, in one transaction."""
    read = lambda: settings_of(request.auth.pk)  # noqa: E731
    with optimistic_lock.lock_if_unchanged(request.auth, read, settings_etag, parse_if_match(if_match)):
        for name, value in body.model_dump(exclude_none=True).items():
            _SETTERS[name](request.auth, value)
    return get_settings(request, response)
