"""The request of `/v1/chat/completions`, and the reply that it starts.

Parameters that memoryapp does not support are refused by name. A valid request finds or creates its
conversation and sends the message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal
from uuid import UUID

from django.utils.translation import gettext as _
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from chat.access import HtmxHttpRequest, conversations_of, find_app_by_slug
from chat.actions import client_history, messages
from chat.actions.conversation_titles import make_opening_title
from chat.actions.owners import SWITCH_VALUES, default_app
from chat.api.problems import RETRY_HEADERS, Problem, build_retry_headers, invalid, not_found
from chat.error_messages import describe
from chat.errors import AppError, Busy, IdempotencyKeyReused, ModelNotReady, Overloaded, QuotaExceeded
from chat.generation.options import ReplyOptions
from chat.generation.reply_run import ReplyRun
from chat.generation.run import require_model
from chat.llm.registry import registry
from chat.models import App, Conversation, MemoryMode, Message, Role, User

from . import idempotency
from .idempotency import RequestIdentity

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
    """One message of a request for a chat completion."""

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
    """A request for a reply. Sampling parameters other than `temperature` are ignored.

    Any `reasoning_effort` but "none" lets a model that can reason do so before the reply.
    """

    model_config = ConfigDict(extra="allow")

    model: str = ""
    messages: list[ChatMessage] = Field(min_length=1)
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    reasoning_effort: str | None = None
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
        reasoning = self.reasoning_effort != "none" if self.reasoning_effort else None
        return ReplyOptions(min(limits, default=None), self.temperature, tuple(self.stop), reasoning)

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


# Each may be sent in `metadata` or in a header. The header takes precedence: many clients let their users set
# headers but not the body.
CHOICE_NAMES = ("conversation", "app", "memory", "past_chats")
HEADER = "X-Memoryapp-"
NEW = "new"
# Prefixes of the names by which pydantic tells apart the types of `content`.
_TYPE_NAMES = ("str", "list[")


@dataclass(frozen=True, slots=True)
class PendingReply:
    """A reply that has begun, with the parts of its request that shape the response."""

    run: ReplyRun
    conversation: Conversation
    model: str
    stream: bool
    with_usage: bool
    identity: RequestIdentity

    @property
    def retry_window_seconds(self) -> float:
        """Return for how many seconds a disconnected client may request the reply again.

        OpenAI's packages retry by themselves only until they have received the beginning of a response.
        """
        may_retry = self.identity.chosen if self.stream else bool(self.identity.key)
        return idempotency.RETRY_WINDOW_SECONDS if may_retry else 0.0


def parse_request(body: bytes) -> ChatRequest:
    """Parse the body of a request; raises Problem with the place of a fault."""
    try:
        return ChatRequest.model_validate_json(body)
    except ValidationError as error:
        # `content` is validated as text and as parts: the deeper error is the more precise one.
        worst = max(error.errors(include_url=False), key=lambda each: len(each["loc"]))
        if worst["type"] == "json_invalid":
            raise Problem("malformed", _("The body is not JSON.")) from error
        raise invalid(str(worst["msg"]).removeprefix("Value error, "), *_place(worst["loc"])) from error


def _place(loc: tuple[str | int, ...]) -> list[str | int]:
    """Return the place of a fault without the names of the types that pydantic tried."""
    return [part for part in loc if not (isinstance(part, str) and part.startswith(_TYPE_NAMES))]


def begin_reply(request: HtmxHttpRequest, owner: User, chat_request: ChatRequest) -> PendingReply:
    """Save the last message of a request and begin its reply. Not for use in an event loop.

    Raises Problem, Refused and ModelNotReady.
    """
    try:
        system, history, text = chat_request.split_messages()
    except ValueError as reason:
        raise invalid(str(reason), "messages") from reason
    text = messages.validate_message(text)
    chosen = {name: _read_choice(request, chat_request, name) for name in CHOICE_NAMES}
    identity = idempotency.identify_request(request, owner, sorted(chosen.items()))

    def save() -> tuple[Message, Message]:
        require_model()
        found = _resolve_conversation(owner, chosen, system, history, text)
        return messages.send_message(owner, text, found, by_program=True)

    run = idempotency.send_once(identity, save, chat_request.options)
    found = Conversation.objects.for_owner(owner).get(pk=run.conversation)
    with_usage = bool(chat_request.stream_options and chat_request.stream_options.include_usage)
    return PendingReply(run, found, registry.status().name, chat_request.stream, with_usage, identity)


def _read_choice(request: HtmxHttpRequest, chat_request: ChatRequest, name: str) -> str:
    return (
        (request.headers.get(HEADER + name.replace("_", "-")) or chat_request.metadata.get(name) or "")
        .replace("\x00", "")
        .strip()
    )


def _resolve_conversation(
    owner: User, chosen: dict[str, str], system: str, history: client_history.History, text: str
) -> Conversation:
    wanted, memory, past_chats = chosen["conversation"], chosen["memory"], chosen["past_chats"]
    if memory and memory not in MemoryMode.values:
        raise invalid(_("Memory is “on”, “read_only” or “off”."), "metadata", "memory")
    if past_chats and past_chats not in SWITCH_VALUES:
        raise invalid(_("“past_chats” is “on” or “off”."), "metadata", "past_chats")
    if wanted and wanted != NEW:
        return _check_choices(_find_conversation(owner, wanted), chosen)
    app = _find_app(owner, chosen["app"])
    if wanted == NEW:
        title = make_opening_title(history[0][1] if history else text)
        mode = memory or MemoryMode.ON
    elif memory == MemoryMode.ON:
        sentence = _("Memory learns only in a permanent conversation: send “conversation: new”.")
        raise invalid(sentence, "metadata", "memory")
    else:
        title, mode = None, memory or MemoryMode.OFF
    quotes = SWITCH_VALUES[past_chats] if past_chats else wanted == NEW
    fields: dict[str, Any] = {"system_prompt": system, "memory_mode": mode, "use_past_chats": quotes}
    found = None if wanted == NEW else client_history.resume_conversation(owner, app, history, **fields)
    return found or client_history.create_from_history(owner, app, history, title=title, **fields)


def _check_choices(found: Conversation, chosen: dict[str, str]) -> Conversation:
    """Return the conversation; raises Problem where a choice contradicts it."""
    if chosen["memory"] not in ("", found.memory_mode):
        sentence = _("In this conversation memory is “%s”. Change it there, or leave “memory” out.")
        raise invalid(sentence % found.memory_mode, "metadata", "memory")
    if (switch := chosen["past_chats"]) and SWITCH_VALUES[switch] != found.use_past_chats:
        sentence = _("In this conversation “past_chats” is “%s”. Change it there, or leave “past_chats” out.")
        raise invalid(sentence % ("on" if found.use_past_chats else "off"), "metadata", "past_chats")
    if chosen["app"] not in ("", found.app.slug):
        sentence = _("This conversation belongs to the app “%s”.")
        raise invalid(sentence % found.app.slug, "metadata", "app")
    return found


def _find_conversation(owner: User, key: str) -> Conversation:
    try:
        found = conversations_of(owner).filter(pk=UUID(key)).first()
    except ValueError:
        raise not_found() from None
    if found is None:
        raise not_found()
    return found


def _find_app(owner: User, slug: str) -> App:
    if not slug:
        return default_app(owner)
    found = find_app_by_slug(owner, slug)
    if found is None:
        raise not_found()
    return found


def build_problem(reason: AppError) -> Problem:
    """Return the problem document of an error that kept a reply from beginning."""
    if isinstance(reason, ModelNotReady):
        return Problem("no-model", describe(reason))
    if isinstance(reason, IdempotencyKeyReused):
        return Problem("key-reused", describe(reason))
    if isinstance(reason, QuotaExceeded):
        return Problem("too-many", describe(reason), headers=build_retry_headers(reason))
    if isinstance(reason, Overloaded):
        return Problem("busy", describe(reason), headers=RETRY_HEADERS)
    if isinstance(reason, Busy):
        return Problem("conflict", describe(reason), headers=RETRY_HEADERS)
    return Problem("invalid", describe(reason))
