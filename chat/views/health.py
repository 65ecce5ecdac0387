"""The health line: when memory last looked at a conversation, what came of it, and what it waits for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect, trigger_client_event

from chat.actions import conversations, keeping
from chat.actions.messages import Refused
from chat.generation import run as generation
from chat.llm.registry import registry
from chat.llm.state import ModelState
from chat.models import Conversation, ExtractionRun, Job, MemoryMode, Message, Strategy

from .answers import refused, toast
from .scope import HtmxHttpRequest, own_conversation
from .spoken import said

_PROVIDER = "ProviderError: "  # its text is a sentence for people; other errors are for the log


@dataclass(slots=True)
class Health:
    """What the line says; `conversation` is None where it speaks of all conversations together."""

    conversation: Conversation | None
    at: datetime | None = None
    came_of_it: list[str] = field(default_factory=list)
    refused: list[dict[str, str]] = field(default_factory=list)
    trouble: str = ""
    waiting: int = 0

    @property
    def modes(self) -> list[tuple[str, Any]]:
        """Return the values and labels of the switch."""
        return [*MemoryMode.choices]


def health_of(owner: Any, conversation: Conversation | None) -> Health:
    """Return the health of a conversation of this owner, or of the one that memory looked at last."""
    looks = ExtractionRun.objects.for_owner(owner).filter(message__conversation__deletion=None)
    if conversation is None:
        last = looks.select_related("message__conversation").first()
        waiting = Message.objects.backlog(owner).count()
        looks = looks.filter(message__conversation=last.message.conversation) if last else looks.none()
    else:
        looks = looks.filter(message__conversation=conversation)
        unread = Message.objects.unread_by_memory(conversation)
        waiting = unread.count() if conversation.memory_mode == MemoryMode.ON else 0
    health = Health(conversation, waiting=waiting)
    if runs := looks.last_sitting():
        health.at = runs[0].created_at
        health.came_of_it = _came_of_it(runs)
        health.refused = [{**r, "reason": said(r["reason"])} for run in runs for r in run.refused]
        health.trouble = said(next((run.error for run in runs if run.error), ""))
    if conversation is not None and waiting:
        health.trouble = _trouble(conversation) or health.trouble
    if waiting and (model := registry.status()).state is ModelState.AWAY:
        health.trouble = _("Memory waits for the model on %(host)s, and goes on by itself.") % {
            "host": model.host
        }
    return health


def _came_of_it(runs: list[ExtractionRun]) -> list[str]:
    stored, known = sum(r.stored for r in runs), sum(r.reinforced for r in runs)
    over, refusals = sum(r.ended for r in runs), sum(len(r.refused) for r in runs)
    outcomes = [
        (stored, ngettext("%d learned", "%d learned", stored)),
        (known, ngettext("%d already known", "%d already known", known)),
        (over, ngettext("%d no longer so", "%d no longer so", over)),
        (refusals, ngettext("%d not kept", "%d not kept", refusals)),
    ]
    return [words % n for n, words in outcomes if n] or [_("nothing to remember")]


def _trouble(conversation: Conversation) -> str:
    """Return in plain words why messages still wait, where that has a reason."""
    job = Job.objects.filter(dedupe_key=f"extract:{conversation.pk}").first()
    if job is None or not job.last_error:
        return ""
    why = said(job.last_error.removeprefix(_PROVIDER)) if job.last_error.startswith(_PROVIDER) else ""
    then = _("The next message tries again.") if job.failed_at else _("It is tried again by itself.")
    return f"{why or _('Something went wrong while memory was looking.')} {then}"


def opened_from(request: HtmxHttpRequest) -> Conversation | None:
    """Return the user's conversation whose page asks by htmx, None on other pages."""
    try:
        page = resolve(urlsplit(request.htmx.current_url_abs_path or "").path)
    except Resolver404:
        return None
    if page.url_name != "conversation":
        return None
    return Conversation.objects.for_owner(request.user).kept().filter(pk=page.kwargs["pk"]).first()


@require_GET
def health(request: HtmxHttpRequest) -> HttpResponse:
    """Show the health line of the conversation whose page asks, else of the last look overall."""
    if not request.htmx:
        return redirect("memory")
    context = {"health": health_of(request.user, opened_from(request))}
    return render(request, "memory/_health.html", context)


@require_GET
def care(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show what the menu of a conversation holds."""
    found = own_conversation(request, pk)
    if not request.htmx:
        return redirect("conversation", found.pk)
    return render(request, "chat/_care.html", menu(found))


def menu(conversation: Conversation) -> dict[str, Any]:
    """Return what the menu of a conversation is made of."""
    return {"conversation": conversation, "modes": MemoryMode.choices, "strategies": Strategy.choices}


@require_POST
def memory_mode(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Turn memory on, to read-only or off in one conversation."""
    return _set(request, pk, "mode", conversations.set_memory_mode)


@require_POST
def strategy(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Choose what one conversation keeps when it outgrows the window."""
    return _set(request, pk, "strategy", keeping.set_strategy)


def _set(
    request: HtmxHttpRequest, pk: UUID, field: str, verb: Callable[[Conversation, str], None]
) -> HttpResponse:
    found = own_conversation(request, pk)
    try:
        verb(found, request.POST.get(field, ""))
    except Refused as problem:
        return refused(request, str(problem), 422, f"/c/{found.pk}/")
    return _chat_changed(request, found)


@require_POST
def end(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """End a conversation; the next message opens it again. A temporary one is gone."""
    found = own_conversation(request, pk)
    if found.temporary:
        generation.stop_in(found.pk, patience=2.0)
    conversations.end(found)
    if found.temporary:
        return HttpResponseClientRedirect(reverse("home")) if request.htmx else redirect("home")
    return toast(_chat_changed(request, found), _("Ended. A new message opens it again."))


def _chat_changed(request: HtmxHttpRequest, found: Conversation) -> HttpResponse:
    if not request.htmx:
        return redirect("conversation", found.pk)
    return trigger_client_event(HttpResponse(status=204), "chat-changed")
