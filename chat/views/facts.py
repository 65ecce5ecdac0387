"""Fact cards of the memory panel: show, add, edit and pin one, edit several, remember a selection."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages as notices
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import reswap, retarget

from chat.access import HtmxHttpRequest, own_fact, own_message, uuid_or_404
from chat.actions import deletions, fact_bulk
from chat.actions import facts as fact_actions
from chat.error_messages import describe
from chat.errors import PendingDeletion, Refused
from chat.generation.markdown import to_plain_text
from chat.memory.formatting import format_for_quotation
from chat.memory.text_similarity import normalize_text
from chat.models import Category, Fact, Message, Origin
from chat.topics.contents import load_contents

from .deletions import MAX_QUOTE_LENGTH, describe_deletion
from .memory import render_panel
from .memory_cards import build_card_context, load_panel_context
from .responses import add_toast, announce_memory_change, respond_with_error

_MANAGE_QUERY = "?manage=1"


@require_POST
def edit_batch(request: HtmxHttpRequest) -> HttpResponse:
    """Delete, pin or move the chosen facts in one transaction, and render the list."""
    ids = [uuid_or_404(key) for key in request.POST.getlist("fact")]
    facts = list(Fact.objects.for_owner(request.user).filter(pk__in=ids))
    if ids and not facts:
        raise Http404
    try:
        return _apply_to_facts(request, facts, [fact.pk for fact in facts], request.POST.get("do", ""))
    except Refused as problem:
        return respond_with_error(request, problem, reverse("memory") + _MANAGE_QUERY)


def _apply_to_facts(request: HtmxHttpRequest, facts: list[Fact], ids: list[UUID], do: str) -> HttpResponse:
    owner = request.user
    if not ids:
        raise Refused("no-facts-chosen")
    if do == "delete":
        deletion = deletions.forget_facts(owner, ids)
        seen = [fact for fact in facts if fact.deletion_id is None]
        return _render_list(request, "", forgot=describe_deletion(deletion, seen, deletion.pressed_at))
    if do == "pin":
        pinned = not fact_bulk.are_all_pinned(owner, ids)
        count = fact_bulk.pin_facts(owner, ids, pinned)
        if pinned:
            return _render_list(request, ngettext("Pinned %d memory.", "Pinned %d memories.", count) % count)
        return _render_list(request, ngettext("Unpinned %d memory.", "Unpinned %d memories.", count) % count)
    if do not in Category.values:
        raise Refused("bulk-action-unknown")
    count = fact_bulk.move_facts(owner, ids, do)
    words = ngettext("Moved %(n)d memory to %(shelf)s.", "Moved %(n)d memories to %(shelf)s.", count)
    return _render_list(request, words % {"n": count, "shelf": Category(do).label})


def _render_list(request: HtmxHttpRequest, sentence: str, **events: object) -> HttpResponse:
    if not request.htmx:
        if sentence:
            notices.success(request, sentence)
        return redirect(reverse("memory") + _MANAGE_QUERY)
    page = announce_memory_change(
        render(request, "memory/panel.html#list", load_panel_context(request)), **events
    )
    return add_toast(page, sentence) if sentence else page


@require_POST
def remember_highlight(request: HtmxHttpRequest) -> HttpResponse:
    """Remember text that the user selected in a message, or say that it is known already."""
    source = own_message(request, uuid_or_404(request.POST.get("message", "")))
    quote, back = request.POST.get("text", ""), reverse("conversation", args=[source.conversation_id])
    if len(quote) > fact_actions.MAX_CHARACTERS:
        return respond_with_error(
            request, Refused("highlight-too-long", most=fact_actions.MAX_CHARACTERS), back
        )
    if not _is_quoted_from(quote, source):
        return respond_with_error(request, Refused("highlight-not-found"), back)
    try:
        saved = fact_actions.add_fact(request.user, quote, Origin.HIGHLIGHT, source=source)
    except Refused as problem:
        return respond_with_error(request, problem, back)
    known = saved.mention_count > 1
    words = {"text": Truncator(format_for_quotation(saved.text)).chars(MAX_QUOTE_LENGTH)}
    sentence = (_("Already remembered: “%(text)s”") if known else _("Remembered “%(text)s”")) % words
    if not request.htmx:
        notices.success(request, sentence)
        return redirect(back)
    return add_toast(
        announce_memory_change(HttpResponse(status=204)),
        sentence,
        "" if known else reverse("fact_delete", args=[saved.pk]),
    )


def _is_quoted_from(quote: str, message: Message) -> bool:
    """Return whether a message contains the quote; punctuation and line breaks are ignored."""
    [row] = load_contents([message])
    wanted = normalize_text(quote)
    return bool(wanted) and any(
        wanted in normalize_text(said) for said in (to_plain_text(row.content), row.content)
    )


@require_GET
def fact_card(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show the card of a fact."""
    return render(request, "memory/_fact_card.html", build_card_context(_live_fact(own_fact(request, pk))))


@require_POST
def add_fact(request: HtmxHttpRequest) -> HttpResponse:
    """Add a fact in the user's words; a known one is confirmed and its card is shown."""
    try:
        saved = fact_actions.add_fact(request.user, request.POST.get("text", ""))
    except Refused as problem:
        if not request.htmx:
            return respond_with_error(request, problem, reverse("memory"))
        wrong = {"error": describe(problem), "text": request.POST.get("text", "")}
        composer = render(request, "memory/panel.html#composer", wrong, status=422)
        return reswap(retarget(composer, "#remember"), "outerHTML")
    known = _("Already remembered.") if saved.mention_count > 1 else ""
    if not request.htmx:
        if known:
            notices.info(request, known)
        return redirect(f"{reverse('memory')}#fact-{saved.pk}" if known else "memory")
    context = {**load_panel_context(request, found=saved if known else None), "written": True}
    page = render(request, "memory/panel.html#list", context)
    return add_toast(announce_memory_change(page), known) if known else announce_memory_change(page)


@require_http_methods(["GET", "POST"])
def edit_fact(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show the form of a card, or save it."""
    found = own_fact(request, pk)
    full = (request.GET if request.method == "GET" else request.POST).get("full") == "1"
    context: dict[str, Any] = {
        "fact": found,
        "full": full or not request.htmx,
        "categories": Category.choices,
    }
    if request.method == "GET":
        _live_fact(found)
        return render(request, "memory/_fact_card_edit.html" if request.htmx else "memory/edit.html", context)
    try:
        saved = fact_actions.edit_fact(found, request.POST.get("text", ""), request.POST.get("category", ""))
    except PendingDeletion as problem:
        return respond_with_error(request, problem, reverse("memory"))
    except Refused as problem:
        context |= {"error": describe(problem), "text": request.POST.get("text", "")}
        return render(
            request,
            "memory/_fact_card_edit.html" if request.htmx else "memory/edit.html",
            context,
            status=422,
        )
    if not request.htmx:
        return redirect("memory")
    return announce_memory_change(
        render(request, "memory/_fact_card.html", {**build_card_context(saved), "saved": True})
    )


@require_POST
def pin_fact(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Pin or unpin a fact. Where the limit of pins is reached, offer to unpin the oldest (`instead`)."""
    found = own_fact(request, pk)
    given = request.POST.get("instead")
    instead = own_fact(request, uuid_or_404(given)) if given else None
    try:
        if instead is None:
            fact_actions.pin_fact(found, not found.pinned)
        else:
            fact_actions.swap_pins(found, instead)
    except Refused as problem:
        oldest = fact_actions.find_oldest_pin_if_full(found)
        if oldest is None:
            return respond_with_error(request, problem, reverse("memory"))
        return _offer_unpin(request, found, oldest)
    if not request.htmx:
        return redirect("memory")
    return announce_memory_change(render(request, "memory/panel.html#list", load_panel_context(request)))


def _offer_unpin(request: HtmxHttpRequest, found: Fact, oldest: Fact) -> HttpResponse:
    offer = {"fact": found, "oldest": oldest, "most": fact_actions.MAX_PINNED}
    if not request.htmx:
        return render_panel(request, status=409, offer=offer)
    # Not 409: htmx does not put the body of a 409 into the page.
    card = render(
        request, "memory/_fact_card.html", {**build_card_context(found), "offer": offer}, status=422
    )
    return reswap(retarget(card, f"#fact-{found.pk}"), "outerHTML")


def _live_fact(found: Fact) -> Fact:
    if found.deletion_id is not None or found.superseded_at is not None or found.archived_at is not None:
        raise Http404
    return found


@require_GET
def fact_with_history(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show a card with its source and its history; without htmx as a page of its own."""
    found = own_fact(request, pk)
    if found.deletion_id is not None:
        raise Http404
    template = "memory/_fact_card.html" if request.htmx else "memory/fact_history.html"
    return render(request, template, build_card_context(found, is_open=True))
