"""Pages of conversations, and sending."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages as notices
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect

from chat.actions import messages as actions
from chat.commands import COMMANDS, NoCommand, parse
from chat.generation import run as generation
from chat.models import App, Conversation, Message, PromptReport

from .answers import address_of, refused
from .articles import articles, window_share
from .health import menu
from .obeying import obey
from .scope import HtmxHttpRequest, own_app, own_conversation, uuid_or_404
from .stretches import Stretch, around, stretch


@require_GET
def home(request: HtmxHttpRequest) -> HttpResponse:
    """Show an empty chat, a temporary one if asked; its conversation begins with the first message."""
    chosen = own_app(request, uuid_or_404(request.GET["app"])) if "app" in request.GET else None
    return _home(request, temporary=request.GET.get("temporary") == "1", app=chosen)


def _home(request: HtmxHttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    first = not Conversation.objects.for_owner(request.user).listed().exists()
    context = {"conversation": None, "articles": [], "commands": COMMANDS, "is_first_run": first, **more}
    return render(request, "chat/page.html", context, status=status)


@require_GET
def conversation(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show a conversation: its end, around a message (`m`), before or after a place; for htmx that alone."""
    found = own_conversation(request, pk)
    generation.settle()
    if "m" in request.GET:
        message = get_object_or_404(found.messages, pk=uuid_or_404(request.GET["m"]))
        shown = Message.objects.now_shown(message)
        if shown != message:
            return redirect(address_of(shown))
        part = around(shown)
    else:
        part = stretch(found, request.GET)
    if request.htmx:
        # What is there already needs no way to it.
        goes_on = {"earlier": part.earlier} if "before" in request.GET else {"later": part.later}
        context = {"conversation": found, "articles": articles(part.rows), **goes_on}
        return render(request, "chat/_messages.html", context)
    return _page(request, found, part)


def _page(
    request: HtmxHttpRequest, found: Conversation, part: Stretch, status: int = 200, **more: Any
) -> HttpResponse:
    newest = PromptReport.objects.filter(reply__in=found.messages.shown()).order_by("-reply__seq").first()
    context = {
        **menu(found),
        "conversation": found,
        "articles": articles(part.rows),
        "earlier": part.earlier,
        "later": part.later,
        "commands": COMMANDS,
        "context_share": window_share(newest) or 0,
        "is_first_run": False,
        **more,
    }
    return render(request, "chat/page.html", context, status=status)


@require_GET
def messages_after(request: HtmxHttpRequest, pk: UUID, seq: int) -> HttpResponse:
    """Show what a page lacks after its last message."""
    found = own_conversation(request, pk)
    rows = Message.objects.filter(conversation=found, seq__gt=seq).shown()
    return render(request, "chat/_messages.html", {"conversation": found, "articles": articles(rows)})


@require_POST
def send(request: HtmxHttpRequest) -> HttpResponse:
    """Save a message and begin its reply, or do what it commands."""
    given, text = request.POST.get("conversation", ""), request.POST.get("text", "")
    found = own_conversation(request, uuid_or_404(given)) if given else None
    room = request.POST.get("app", "")
    chosen = own_app(request, uuid_or_404(room)) if room else None
    temporary = request.POST.get("temporary") == "1"
    generation.settle()
    try:
        if (command := parse(text)) is not None:
            return obey(request, found, *command)
        asked, reply = actions.send_message(request.user, text, found, app=chosen, temporary=temporary)
    except (actions.Refused, NoCommand) as problem:
        status = 409 if isinstance(problem, actions.Busy) else 422
        return _kept(request, found, str(problem), text, status, chosen)
    generation.start(reply)
    page = reverse("conversation", args=[reply.conversation_id])
    if not request.htmx:
        return redirect(page)
    if found is None:
        return HttpResponseClientRedirect(page)
    return render(
        request, "chat/_messages.html", {"conversation": found, "articles": articles([asked, reply])}
    )


def _kept(
    request: HtmxHttpRequest,
    found: Conversation | None,
    sentence: str,
    text: str,
    status: int,
    app: App | None,
) -> HttpResponse:
    """Say why something was not sent, and leave it in the box: for a plain form on the page itself."""
    if request.htmx:
        return refused(request, sentence, status, "")
    notices.error(request, sentence)
    if found is None:
        temporary = request.POST.get("temporary") == "1"
        return _home(request, status, draft=text, temporary=temporary, app=app)
    return _page(request, found, stretch(found, QueryDict()), status, draft=text)


@require_POST
def flush(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Have memory read what waits here at once: its page was left or hidden."""
    actions.flush(own_conversation(request, pk).pk)
    return HttpResponse(status=204)
