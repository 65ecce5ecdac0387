"""One message at a time: show it, stop it, write it anew, and what memory gave to it."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chat.actions import branches
from chat.actions import messages as actions
from chat.generation import run as generation
from chat.models import Fact, PromptReport

from .answers import address_of, refused
from .articles import articles
from .scope import HtmxHttpRequest, own_message

# The answer comes when the next message can be sent; the engine gives way within a token.
_STOPPING_SECONDS = 2.0


@require_GET
def message(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show one message as it is now."""
    generation.settle()
    found = own_message(request, pk)
    [article] = articles([found])
    return render(request, "chat/_message.html", {"m": article, "conversation": found.conversation})


@require_POST
def stop(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """End a reply at once; its text stays."""
    found = own_message(request, pk)
    generation.stop(found.pk, patience=_STOPPING_SECONDS)
    return HttpResponse(status=204) if request.htmx else redirect("conversation", found.conversation_id)


@require_POST
def retry(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Write a stopped, failed or finished reply anew; the old text is kept in the database."""
    generation.settle()
    found = own_message(request, pk)
    back = reverse("conversation", args=[found.conversation_id])
    try:
        reply = branches.retry_reply(found)
    except actions.Refused as problem:
        return refused(request, str(problem), 409, back)
    generation.start(reply)
    if not request.htmx:
        return redirect(back)
    [article] = articles([reply])
    return render(request, "chat/_message.html", {"m": article, "conversation": found.conversation})


@require_http_methods(["GET", "POST"])
def edit(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show a message of the user's as a form, or send it in other words, with a reply of its own."""
    generation.settle()
    found = own_message(request, pk)
    back = address_of(found)
    if request.method == "GET":
        [article] = articles([found])
        context = {"m": article, "conversation": found.conversation, "back": back}
        return render(request, "chat/_revise.html" if request.htmx else "chat/revise.html", context)
    try:
        asked, reply = branches.resend(found, request.POST.get("text", ""))
    except actions.Refused as problem:
        status = 409 if isinstance(problem, actions.Busy) else 422
        return refused(request, str(problem), status, reverse("message_edit", args=[found.pk]))
    generation.start(reply)
    if not request.htmx:
        return redirect("conversation", found.conversation_id)
    context = {"conversation": found.conversation, "articles": articles([asked, reply])}
    return render(request, "chat/_messages.html", context)


@require_POST
def flag(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Mark a message as important, or not."""
    found = own_message(request, pk)
    branches.flag(found, request.POST.get("flagged") == "1")
    if not request.htmx:
        return redirect(address_of(found))
    [article] = articles([found])
    return render(request, "chat/_message.html", {"m": article, "conversation": found.conversation})


@require_GET
def used(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """List the memories that a reply was given and that are still known."""
    found = own_message(request, pk)
    report = PromptReport.objects.filter(reply=found).first()
    ids = report.facts if report else []
    facts = Fact.objects.for_owner(request.user).live().filter(pk__in=ids).grouped()
    return render(
        request, "chat/_used.html", {"facts": facts, "m": found, "conversation": found.conversation}
    )
