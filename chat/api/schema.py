"""What goes in and out of the Python door; imports no Django, so that it may be imported before set-up."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator

from chat.porting.storable import in_every_zone, storable


def _now() -> datetime:
    return datetime.now(UTC)


def as_json(value: Any) -> Any:
    """Return what JSON and every database hold of a value; raises ValueError where they cannot."""
    try:
        return storable(json.loads(json.dumps(value, allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"JSON cannot hold this: {error}") from error


class Message(BaseModel):
    """One message of a session (seed 001): what was said, or which tools were called and what they gave.

    `content` None becomes the empty text. A time without a zone is taken as this machine's local time. What
    no database can hold of a text, as `surrogateescape` leaves it, becomes a mark of something lost.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = Field(default=None, max_length=120)
    name: str | None = Field(default=None, max_length=120)
    created_at: datetime = Field(default_factory=_now)

    @field_validator("content", mode="before")
    @classmethod
    def _no_content_is_empty(cls, value: Any) -> Any:
        return "" if value is None else storable(value)

    @field_validator("name", "tool_call_id", mode="before")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        return storable(value)

    @field_validator("tool_calls", mode="before")
    @classmethod
    def _what_json_holds(cls, value: Any) -> Any:
        return as_json(value)

    @field_validator("created_at")
    @classmethod
    def _with_a_zone(cls, value: datetime) -> datetime:
        try:
            value = value.astimezone() if value.tzinfo is None else value
        except OverflowError as error:
            raise ValueError(str(error)) from error
        return in_every_zone(value)
