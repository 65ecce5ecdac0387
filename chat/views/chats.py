"""Pages of conversations, and sending."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect

from chat.actions import messages as actions
from chat.generation import run as generation
from chat.models import Conversation, Message, PromptReport

from .answers import address_of, refused
from .articles import articles, window_share
from .health import menu
from .scope import HtmxHttpRequest, own_conversation, uuid_or_404
from .stretches import around, stretch


@require_GET
def home(request: HtmxHttpRequest) -> HttpResponse:
    """Show an empty chat; its conversation begins with the first message."""
    first = not Conversation.objects.for_owner(request.user).exists()
    return render(request, "chat/page.html", {"conversation": None, "articles": [], "is_first_run": first})


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
    context = {"conversation": found, "articles": articles(part.rows)}
    if request.htmx:
        # What is there already needs no way to it.
        goes_on = {"earlier": part.earlier} if "before" in request.GET else {"later": part.later}
        return render(request, "chat/_messages.html", {**context, **goes_on})
    newest = PromptReport.objects.filter(reply__in=found.messages.shown()).order_by("-reply__seq").first()
    context |= {"earlier": part.earlier, "later": part.later, "context_share": window_share(newest) or 0}
    return render(request, "chat/page.html", {**menu(found), **context, "is_first_run": False})


@require_GET
def messages_after(request: HtmxHttpRequest, pk: UUID, seq: int) -> HttpResponse:
    """Show what a page lacks after its last message."""
    found = own_conversation(request, pk)
    rows = Message.objects.filter(conversation=found, seq__gt=seq).shown()
    return render(request, "chat/_messages.html", {"conversation": found, "articles": articles(rows)})


@require_POST
def send(request: HtmxHttpRequest) -> HttpResponse:
    """Save a message and begin its reply."""
    given = request.POST.get("conversation", "")
    found = own_conversation(request, uuid_or_404(given)) if given else None
    back = reverse("conversation", args=[found.pk]) if found else reverse("home")
    generation.settle()
    try:
        asked, reply = actions.send_message(request.user, request.POST.get("text", ""), found)
    except actions.Busy as busy:
        return refused(request, str(busy), 409, back)
    except actions.Refused as problem:
        return refused(request, str(problem), 422, back)
    generation.start(reply)
    page = reverse("conversation", args=[reply.conversation_id])
    if not request.htmx:
        return redirect(page)
    if found is None:
        return HttpResponseClientRedirect(page)
    return render(
        request, "chat/_messages.html", {"conversation": found, "articles": articles([asked, reply])}
    )


@require_POST
def flush(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Have memory read what waits here at once: its page was left or hidden."""
    actions.flush(own_conversation(request, pk).pk)
    return HttpResponse(status=204)
