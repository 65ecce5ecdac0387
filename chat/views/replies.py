"""Views of one message: show, stop, retry, edit and flag it, the facts it used, and its prompt report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chat.access import HtmxHttpRequest, own_message, own_quotation, own_report
from chat.actions import message_edits
from chat.actions.quotations import set_relevance
from chat.context.budget import reply_reserve
from chat.context.past_chats import may_quote
from chat.context.stored_quotations import list_quotations, list_quotations_of
from chat.errors import Refused
from chat.generation import run as generation
from chat.generation.run import begin_exchange
from chat.models import Fact, PromptReport

from .message_view import build_message_views, compute_window_share
from .responses import build_message_url, respond_with_error

# How long a request waits until the stopped reply is saved, so that the next message can be sent at once.
_STOPPING_SECONDS = 2.0

# In the order of the prompt.
_SECTION_LABELS = {
    "persona": lazy("Instructions"),
    "memory": lazy("Memory"),
    "summary": lazy("Summary"),
    "important": lazy("Earlier messages kept as important"),
    "history": lazy("Earlier messages"),
    "note": lazy("Memory for this message"),
    "past_chats": lazy("From your chats"),
    "message": lazy("Your message"),
    "reserve": lazy("Reserved for the reply"),
}


@dataclass(frozen=True, slots=True)
class SectionBar:
    """The bar of one section of the prompt; `width` is in percent of the longest bar."""

    name: str
    label: Any
    tokens: int
    width: float


@require_GET
def message(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show one message in its present state."""
    found = own_message(request, pk)
    [view] = build_message_views([found])
    return render(request, "chat/_message.html", {"m": view, "conversation": found.conversation})


@require_POST
def stop_reply(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Stop a reply; its text so far stays."""
    found = own_message(request, pk)
    generation.stop(found.pk, timeout=_STOPPING_SECONDS)
    return HttpResponse(status=204) if request.htmx else redirect("conversation", found.conversation_id)


@require_POST
def retry_reply(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Replace the last reply by a new one; the database keeps the old text."""
    found = own_message(request, pk)
    back = reverse("conversation", args=[found.conversation_id])
    try:
        reply = begin_exchange(request.user, lambda: [message_edits.retry_reply(found)]).reply
    except Refused as problem:
        return respond_with_error(request, problem, back)
    if not request.htmx:
        return redirect(back)
    [view] = build_message_views([reply])
    return render(request, "chat/_message.html", {"m": view, "conversation": found.conversation})


@require_http_methods(["GET", "POST"])
def edit_message(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show the form for a user's message, or send the edited text and begin a new reply."""
    found = own_message(request, pk)
    back = build_message_url(found)
    if request.method == "GET":
        [view] = build_message_views([found])
        context = {"m": view, "conversation": found.conversation, "back": back}
        return render(
            request, "chat/_edit_message.html" if request.htmx else "chat/edit_message.html", context
        )
    try:
        text = request.POST.get("text", "")
        asked, reply = begin_exchange(request.user, lambda: message_edits.resend_message(found, text)).saved
    except Refused as problem:
        return respond_with_error(request, problem, reverse("message_edit", args=[found.pk]))
    if not request.htmx:
        return redirect("conversation", found.conversation_id)
    context = {"conversation": found.conversation, "message_views": build_message_views([asked, reply])}
    return render(request, "chat/_messages.html", context)


@require_POST
def flag_message(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Mark a message as important, or remove the mark."""
    found = own_message(request, pk)
    message_edits.flag_message(found, request.POST.get("flagged") == "1")
    if not request.htmx:
        return redirect(build_message_url(found))
    [view] = build_message_views([found])
    return render(request, "chat/_message.html", {"m": view, "conversation": found.conversation})


@require_GET
def used_facts(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """List the facts in the prompt of a reply that are still live."""
    found = own_message(request, pk)
    report = PromptReport.objects.filter(reply=found).first()
    ids = report.facts if report else []
    facts = Fact.objects.for_owner(request.user).live().filter(pk__in=ids).in_panel_order()
    return render(
        request, "chat/_used_facts.html", {"facts": facts, "m": found, "conversation": found.conversation}
    )


@require_GET
def quoted_sentences(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """List the sentences of past conversations in the prompt of a reply that may still be quoted."""
    found = own_message(request, pk)
    context = {"quotations": list_quotations(found), "off": not may_quote(found.conversation)}
    return render(request, "chat/_quotations.html", context)


@require_POST
def set_quotation_relevance(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Mark a quotation as irrelevant, or as relevant again, and return its list item."""
    found = own_quotation(request, pk)
    set_relevance(found, relevant=request.POST.get("relevant") == "yes")
    if not request.htmx:
        return redirect("conversation", found.message.conversation_id)
    shown = [one for one in list_quotations_of(found.message) if one.id == found.pk]
    return render(request, "chat/_quotation.html", {"one": shown[0] if shown else None})


@require_GET
def prompt_report(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show what the prompt of a reply contained; without htmx as a page of its own."""
    found = own_report(request, pk)
    facts = Fact.objects.for_owner(request.user).live()
    context = {
        "report": found,
        "m": found.reply,
        "back": build_message_url(found.reply),
        "bars": build_section_bars(found),
        "share": compute_window_share(found),
        "used": _select_grouped(facts, found.facts),
        "left_out": _select_grouped(facts, found.left_out),
        "omissions": list_omissions(found),
        "read": max(0, found.prompt_tokens - found.cached_tokens),
        "seconds": None if found.first_token_ms is None else found.first_token_ms / 1000,
    }
    return render(request, "chat/_prompt_report.html" if request.htmx else "chat/prompt_report.html", context)


def build_section_bars(report: PromptReport) -> list[SectionBar]:
    """Return the bars of the sections that are not empty."""
    tokens = {**report.sections, "reserve": reply_reserve(report.window) if report.window else 0}
    longest = max(tokens.values(), default=0)
    return [
        SectionBar(name, label, tokens[name], round(100 * tokens[name] / longest, 1))
        for name, label in _SECTION_LABELS.items()
        if tokens.get(name)
    ]


def list_omissions(report: PromptReport) -> list[str]:
    """Return in sentences what was left out of the prompt or shortened."""
    sentences = []
    if count := report.cut_messages:
        sentences.append(
            ngettext("%d earlier message was left out.", "%d earlier messages were left out.", count) % count
        )
    if report.summarised:
        sentences.append(_("Earlier messages were replaced by a summary."))
    if report.stage >= 2:
        sentences.append(_("Memory was reduced to the most important facts."))
    if report.stage >= 3:
        sentences.append(_("The last messages were shortened."))
    if report.shortened:
        sentences.append(_("Your message was longer than the window; its middle was left out."))
    return sentences


def _select_grouped(facts: QuerySet[Fact], ids: list[str]) -> Any:
    return facts.filter(pk__in=ids).in_panel_order() if ids else []  # type: ignore[attr-defined]
