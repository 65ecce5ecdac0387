"""What comes in and goes out at `/v1`, in OpenAI's words; what memoryapp cannot do is refused by name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from chat.generation.options import Options
from chat.models import Role

# OpenAI's own limit.
_MOST_STOPS = 4
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_SYSTEM = frozenset({"system", "developer"})
# What a request may not ask for, with the values that ask for nothing.
_REFUSED: dict[str, tuple[Any, ...]] = {
    "tools": (None, []),
    "functions": (None, []),
    "n": (None, 1),
    "logprobs": (None, False),
    "top_logprobs": (None, 0),
    "audio": (None,),
    "response_format": (None, {"type": "text"}),
}


class TextPart(BaseModel):
    """A part of a message; only text is read."""

    type: str
    text: str = ""

    @field_validator("type")
    @classmethod
    def _only_text(cls, value: str) -> str:
        if value != "text":
            raise ValueError(f"Only text is read here, no parts of type “{value}”.")
        return value


class ChatMessage(BaseModel):
    """One message of the history that a program sends."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[TextPart] | None = None
    tool_calls: list[Any] | None = None

    @field_validator("tool_calls")
    @classmethod
    def _no_tools(cls, value: list[Any] | None) -> None:
        if value:
            raise ValueError(_("“%s” is not supported here.") % "tool_calls")

    @property
    def text(self) -> str:
        """What it says, without what no database can hold."""
        said = self.content or ""
        if isinstance(said, list):
            said = "\n".join(part.text for part in said)
        return said.replace("\x00", "")


class StreamOptions(BaseModel):
    """How a streamed answer ends."""

    include_usage: bool | None = None


class ChatRequest(BaseModel):
    """A request for a reply. What only tunes the drawing of words besides `temperature` is passed over."""

    model_config = ConfigDict(extra="allow")

    model: str = ""
    messages: list[ChatMessage] = Field(min_length=1)
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    stop: Annotated[
        list[Annotated[str, StringConstraints(max_length=200)]], Field(max_length=_MOST_STOPS)
    ] = []
    metadata: dict[str, str] = {}

    @model_validator(mode="before")
    @classmethod
    def _as_meant(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        for name, harmless in _REFUSED.items():
            if given.get(name) not in harmless:
                raise ValueError(_("“%s” is not supported here.") % name)
        # Programs write null for what they do not ask for, also where OpenAI's document has no null.
        asked = {name: value for name, value in given.items() if value is not None}
        stop = asked.get("stop") or []
        about = asked.get("metadata") or {}
        if isinstance(about, dict):
            about = {name: value for name, value in about.items() if value is not None}
        return asked | {"stop": [stop] if isinstance(stop, str) else stop, "metadata": about}

    @property
    def options(self) -> Options:
        """How the reply is to be written."""
        limits = [limit for limit in (self.max_tokens, self.max_completion_tokens) if limit is not None]
        return Options(min(limits, default=None), self.temperature, tuple(self.stop))

    def said(self) -> tuple[str, list[tuple[Role, str]], str]:
        """Return the system prompt, what was said before, and what is said now.

        Messages of one role that follow each other are one. Raises ValueError where the last is no user's.
        """
        system = "\n\n".join(m.text for m in self.messages if m.role in _SYSTEM)
        turns: list[tuple[Role, str]] = []
        for message in self.messages:
            if message.role in _SYSTEM or not message.text.strip():
                continue
            role, text = _ROLES[message.role], message.text
            if turns and turns[-1][0] == role:
                text = f"{turns.pop()[1]}\n\n{text}"
            turns.append((role, text))
        if not turns or turns[-1][0] != Role.USER:
            raise ValueError(_("The last message has to be the user's."))
        return system, turns[:-1], turns[-1][1]
