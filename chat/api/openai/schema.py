"""The request of `/v1/chat/completions`. Parameters that memoryapp does not support are refused by name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from chat.generation.options import ReplyOptions
from chat.models import Role

# OpenAI's own limit.
_MAX_STOPS = 4
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_SYSTEM = frozenset({"system", "developer"})
# Unsupported parameters, each with the values that have no effect and are therefore accepted.
_UNSUPPORTED: dict[str, tuple[Any, ...]] = {
    "tools": (None, []),
    "functions": (None, []),
    "n": (None, 1),
    "logprobs": (None, False),
    "top_logprobs": (None, 0),
    "audio": (None,),
    "response_format": (None, {"type": "text"}),
}


class TextPart(BaseModel):
    """A part of a message; only text parts are accepted."""

    type: str
    text: str = ""

    @field_validator("type")
    @classmethod
    def _only_text(cls, value: str) -> str:
        if value != "text":
            raise ValueError(f"Only text is read here, no parts of type “{value}”.")
        return value


class ChatMessage(BaseModel):
    """One message of a request."""

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
        """Return the text of the message, without NUL characters."""
        text = self.content or ""
        if isinstance(text, list):
            text = "\n".join(part.text for part in text)
        return text.replace("\x00", "")


class StreamOptions(BaseModel):
    """Options of a streamed response."""

    include_usage: bool | None = None


class ChatRequest(BaseModel):
    """A request for a reply. Sampling parameters other than `temperature` are ignored."""

    model_config = ConfigDict(extra="allow")

    model: str = ""
    messages: list[ChatMessage] = Field(min_length=1)
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    stop: Annotated[
        list[Annotated[str, StringConstraints(max_length=200)]], Field(max_length=_MAX_STOPS)
    ] = []
    metadata: dict[str, str] = {}

    @model_validator(mode="before")
    @classmethod
    def _normalise(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        for name, harmless in _UNSUPPORTED.items():
            if given.get(name) not in harmless:
                raise ValueError(_("“%s” is not supported here.") % name)
        # Clients send null for unused parameters, also where OpenAI's schema does not allow null.
        asked = {name: value for name, value in given.items() if value is not None}
        stop = asked.get("stop") or []
        about = asked.get("metadata") or {}
        if isinstance(about, dict):
            about = {name: value for name, value in about.items() if value is not None}
        return asked | {"stop": [stop] if isinstance(stop, str) else stop, "metadata": about}

    @property
    def options(self) -> ReplyOptions:
        """Return the options of the reply."""
        limits = [limit for limit in (self.max_tokens, self.max_completion_tokens) if limit is not None]
        return ReplyOptions(min(limits, default=None), self.temperature, tuple(self.stop))

    def split_messages(self) -> tuple[str, list[tuple[Role, str]], str]:
        """Return the system prompt, the history, and the text of the last message.

        Consecutive messages of one role are joined. Raises ValueError where the last is not a user's message.
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
