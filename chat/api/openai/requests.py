"""Turns a request at `/v1` into a running reply: finds or creates its conversation and sends the message."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _
from pydantic import ValidationError

from chat.access import HtmxHttpRequest, conversations_of, find_app_by_slug
from chat.actions import client_history, conversations, messages
from chat.actions.owners import default_app
from chat.api.problems import RETRY_HEADERS, Problem, invalid, not_found
from chat.error_messages import describe
from chat.errors import AppError, Busy, IdempotencyKeyReused, ModelNotReady
from chat.generation.exchange import require_model
from chat.generation.reply_run import ReplyRun
from chat.llm.registry import registry
from chat.models import App, Conversation, MemoryMode, Message, User

from . import idempotency
from .idempotency import RequestIdentity
from .schema import ChatRequest

# Each may be sent in `metadata` or in a header. The header takes precedence: many clients let their users set
# headers but not the body.
CHOICE_NAMES = ("conversation", "app", "memory")
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
        (request.headers.get(HEADER + name) or chat_request.metadata.get(name) or "")
        .replace("\x00", "")
        .strip()
    )


def _resolve_conversation(
    owner: User, chosen: dict[str, str], system: str, history: client_history.History, text: str
) -> Conversation:
    wanted, memory = chosen["conversation"], chosen["memory"]
    if memory and memory not in MemoryMode.values:
        raise invalid(_("Memory is “on”, “read_only” or “off”."), "metadata", "memory")
    if wanted and wanted != NEW:
        return _check_choices(_find_conversation(owner, wanted), chosen)
    app = _find_app(owner, chosen["app"])
    if wanted == NEW:
        title = conversations.make_opening_title(history[0][1] if history else text)
        mode = memory or MemoryMode.ON
        return client_history.create_from_history(
            owner, app, history, title=title, system_prompt=system, memory_mode=mode
        )
    if memory == MemoryMode.ON:
        sentence = _("Memory learns only in a permanent conversation: send “conversation: new”.")
        raise invalid(sentence, "metadata", "memory")
    mode = memory or MemoryMode.OFF
    found = client_history.resume_conversation(owner, app, mode, system, history)
    return found or client_history.create_from_history(
        owner, app, history, system_prompt=system, memory_mode=mode
    )


def _check_choices(found: Conversation, chosen: dict[str, str]) -> Conversation:
    """Return the conversation; raises Problem where a choice contradicts it."""
    if chosen["memory"] not in ("", found.memory_mode):
        sentence = _("In this conversation memory is “%s”. Change it there, or leave “memory” out.")
        raise invalid(sentence % found.memory_mode, "metadata", "memory")
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
    if isinstance(reason, Busy):
        return Problem("conflict", describe(reason), headers=RETRY_HEADERS)
    return Problem("invalid", describe(reason))
