"""Pages of conversations, and sending."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect

from chat.actions import messages as actions
from chat.generation import run as generation
from chat.models import Conversation, Message

from .answers import refused
from .articles import articles
from .health import menu
from .scope import HtmxHttpRequest, own_conversation, uuid_or_404


@require_GET
def home(request: HtmxHttpRequest) -> HttpResponse:
    """Show an empty chat; its conversation begins with the first message."""
    first = not Conversation.objects.for_owner(request.user).exists()
    return render(request, "chat/page.html", {"conversation": None, "articles": [], "is_first_run": first})


@require_GET
def conversation(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show one conversation."""
    found = own_conversation(request, pk)
    shown = articles(Message.objects.filter(conversation=found).shown())
    share = next((a.share for a in reversed(shown) if a.share is not None), 0)
    context = {
        **menu(found),
        "articles": shown,
        "is_first_run": False,
        "context_share": share,
    }
    return render(request, "chat/page.html", context)


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
