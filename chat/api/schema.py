"""The messages of `MemoryManager`. Imports no Django, so that it can be imported before `set_up_django`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from chat.porting.parts import require_local_time_everywhere
from chat.text import clean_for_storage


def _now() -> datetime:
    return datetime.now(UTC)


def as_json(value: Any) -> Any:
    """Return a value as JSON and every database can store it; raises ValueError where JSON cannot."""
    try:
        return clean_for_storage(json.loads(json.dumps(value, allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"JSON cannot hold this: {error}") from error


class SessionMessage(BaseModel):
    """One message of a session: text, tool calls, or the result of a tool.

    `content` None becomes "". `created_at` without a time zone is in this machine's local time.
    Characters that no database can store, such as lone surrogates, become replacement characters.
    """

    # The public name of the class is `chat.api.Message`.
    model_config = ConfigDict(title="Message")

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = Field(default=None, max_length=120)
    name: str | None = Field(default=None, max_length=120)
    created_at: datetime = Field(default_factory=_now)

    @field_validator("content", mode="before")
    @classmethod
    def _no_content_is_empty(cls, value: Any) -> Any:
        return "" if value is None else clean_for_storage(value)

    @field_validator("name", "tool_call_id", mode="before")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        return clean_for_storage(value)

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
        return require_local_time_everywhere(value)
