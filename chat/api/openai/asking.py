"""From a request at `/v1` to a reply in the making: which conversation it means, and what is said in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from pydantic import ValidationError

from chat.actions import borrowed, messages
from chat.actions.idempotency import KeyReused
from chat.actions.owners import default_app
from chat.api.problems import COME_AGAIN, Problem, invalid, not_found
from chat.generation import run as generation
from chat.generation.writing import Run
from chat.llm.registry import registry
from chat.llm.state import ModelState
from chat.models import App, Conversation, MemoryMode, Message
from chat.views import spoken
from chat.views.scope import HtmxHttpRequest

from . import repeats
from .repeats import Saying
from .schema import ChatRequest

# Each may be said in `metadata` or in a header; the header wins, for not every program lets its user near the
# body.
CHOICES = ("conversation", "app", "memory")
HEADER = "X-Memoryapp-"
NEW = "new"
# By these names pydantic tells apart what `content` may be.
_TRIED = ("str", "list[")


@dataclass(frozen=True, slots=True)
class Asked:
    """A reply that has begun, and what the program wanted to know of it."""

    run: Run
    conversation: Conversation
    model: str
    stream: bool
    with_usage: bool
    saying: Saying

    @property
    def returns(self) -> float:
        """For how many seconds a program that went may come back to the reply.

        A package asks again by itself only until it has heard the beginning of an answer.
        """
        comes = self.saying.chosen if self.stream else bool(self.saying.key)
        return repeats.RETURNS_SECONDS if comes else 0.0


def read(body: bytes) -> ChatRequest:
    """Return what a program asks for; raises Problem with the place of a fault."""
    try:
        return ChatRequest.model_validate_json(body)
    except ValidationError as error:
        # Of a text that may also be parts, what is wrong with the part says more.
        worst = max(error.errors(include_url=False), key=lambda one: len(one["loc"]))
        if worst["type"] == "json_invalid":
            raise Problem("malformed", _("The body is not JSON.")) from error
        raise invalid(str(worst["msg"]).removeprefix("Value error, "), *_place(worst["loc"])) from error


def _place(loc: tuple[str | int, ...]) -> list[str | int]:
    """Return where a fault is as its program knows it: which kind of contents was tried is no place."""
    return [part for part in loc if not (isinstance(part, str) and part.startswith(_TRIED))]


def begin(request: HtmxHttpRequest, owner: Any, asked: ChatRequest) -> Asked:
    """Save what is said and begin its reply; not in an event loop.

    Raises Problem, and Refused with a sentence where this cannot be said now.
    """
    try:
        system, history, text = asked.said()
    except ValueError as reason:
        raise invalid(str(reason), "messages") from reason
    text = messages.sendable(text)
    chosen = {name: _chosen(request, asked, name) for name in CHOICES}
    generation.settle()
    saying = repeats.saying_of(request, owner, sorted(chosen.items()))

    def say() -> tuple[Message, Message]:
        _need_model()
        found = _conversation(owner, chosen, system, history, text)
        return messages.send_message(owner, text, found)

    run = repeats.said_once(saying, say, _need_model, asked.options)
    found = Conversation.objects.for_owner(owner).get(pk=run.conversation)
    with_usage = bool(asked.stream_options and asked.stream_options.include_usage)
    return Asked(run, found, registry.status().name, asked.stream, with_usage, saying)


def _chosen(request: HtmxHttpRequest, asked: ChatRequest, name: str) -> str:
    return (request.headers.get(HEADER + name) or asked.metadata.get(name) or "").replace("\x00", "").strip()


def _need_model() -> None:
    status = registry.status()
    if status.state in (ModelState.MISSING, ModelState.FAILED):
        raise Problem("no-model", spoken.said(status.sentence))


def _conversation(
    owner: Any, chosen: dict[str, str], system: str, history: borrowed.History, text: str
) -> Conversation:
    wanted, memory = chosen["conversation"], chosen["memory"]
    if memory and memory not in MemoryMode.values:
        raise invalid(_("Memory is “on”, “read_only” or “off”."), "metadata", "memory")
    if wanted and wanted != NEW:
        return _as_chosen(_own(owner, wanted), chosen)
    app = _app(owner, chosen["app"])
    if wanted == NEW:
        title = messages.title_of(history[0][1] if history else text)
        mode = memory or MemoryMode.ON
        return borrowed.begin(owner, app, history, title=title, system_prompt=system, memory_mode=mode)
    if memory == MemoryMode.ON:
        sentence = _("Memory learns only where a conversation stays: send “conversation: new”.")
        raise invalid(sentence, "metadata", "memory")
    mode = memory or MemoryMode.OFF
    found = borrowed.continued(owner, app, mode, system, history)
    return found or borrowed.begin(owner, app, history, system_prompt=system, memory_mode=mode)


def _as_chosen(found: Conversation, chosen: dict[str, str]) -> Conversation:
    """Refuse what a conversation that is there would not keep to."""
    if chosen["memory"] not in ("", found.memory_mode):
        said = _("In this conversation memory is “%s”. Change it there, or leave “memory” out.")
        raise invalid(said % found.memory_mode, "metadata", "memory")
    if chosen["app"] not in ("", found.app.slug):
        said = _("This conversation belongs to the app “%s”.")
        raise invalid(said % found.app.slug, "metadata", "app")
    return found


def _own(owner: Any, key: str) -> Conversation:
    try:
        mine = Conversation.objects.for_owner(owner).kept().filter(pk=UUID(key))
    except ValueError:
        raise not_found() from None
    found = mine.select_related("app", "owner").first()
    if found is None:
        raise not_found()
    return found


def _app(owner: Any, slug: str) -> App:
    if not slug:
        return default_app(owner)
    found = App.objects.for_owner(owner).select_related("owner").filter(slug=slug).first()
    if found is None:
        raise not_found()
    return found


def refusal(reason: messages.Refused) -> Problem:
    """Return the problem that says why something cannot be said now."""
    if isinstance(reason, KeyReused):
        return Problem("key-reused", str(reason))
    if isinstance(reason, messages.Busy):
        return Problem("conflict", str(reason), headers=COME_AGAIN)
    return Problem("invalid", str(reason))
