"""Deleting facts with undo, and getting facts back: from their history and from the archive."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages as notices
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from chat.access import HtmxHttpRequest, own_deletion, own_event, own_fact, own_outcome, uuid_or_404
from chat.actions import archive, deletions, fact_history, old_conversations, request_outcomes
from chat.errors import Refused, TooLateToUndo
from chat.memory.formatting import format_for_quotation
from chat.models import Conversation, Deletion, Fact, FactEventKind, User

from .memory_cards import load_panel_context
from .responses import add_toast, announce_memory_change, build_message_url, respond_with_error

# Characters of a text that a toast quotes.
MAX_QUOTE_LENGTH = 80


@dataclass(frozen=True, slots=True)
class ArchivedFact:
    """A fact in the archive, and in a few words why it is there."""

    fact: Fact
    reason: str


def describe_deletion(
    deletion: Deletion, facts: list[Fact], now: datetime, chat: Conversation | None = None
) -> dict[str, Any]:
    """Return the toast of a pending deletion as JSON for the page: text, address of undo, and seconds.

    `seconds` is the whole time for undo, `gone` how much of it is over. Superseded facts that are deleted
    together with a fact are not counted.
    """
    seconds = round((deletion.expires_at - deletion.pressed_at).total_seconds())
    counted = [f for f in facts if f.superseded_at is None and f.archived_at is None] or facts
    app_sentence = _describe_app_memories(deletion)
    if deletion.account:
        sentence = _("Your account is deleted")
    elif deletion.whole:
        sentence = _("Everything is deleted")
    elif deletion.everything:
        sentence = _("Memory cleared")
    elif chat is not None:
        sentence = _describe_conversation(chat, len(counted))
    elif app_sentence and not counted:
        sentence = app_sentence
    elif len(counted) == 1:
        sentence = _("Forgot “%(text)s”") % {
            "text": Truncator(format_for_quotation(counted[0].text)).chars(MAX_QUOTE_LENGTH)
        }
    else:
        sentence = ngettext("Forgot %d memory", "Forgot %d memories", len(counted)) % len(counted)
    return {
        "id": str(deletion.pk),
        "undo": reverse("deletion_undo", args=[deletion.pk]),
        "text": sentence,
        "seconds": seconds,
        "gone": max(0, min(seconds - 1, round((now - deletion.pressed_at).total_seconds()))),
        "all": deletion.everything,
        "facts": [str(f.pk) for f in counted],
    }


def _describe_app_memories(deletion: Deletion) -> str:
    """Return the sentence about the app memories of a deletion, "" where it has none."""
    batch = list(deletion.app_memories.all())
    if len(batch) == 1:
        return _("Forgot “%(text)s”") % {"text": Truncator(batch[0].content).chars(MAX_QUOTE_LENGTH)}
    count = len(batch)
    return ngettext("Forgot %d memory", "Forgot %d memories", count) % count if batch else ""


def _describe_conversation(chat: Conversation, memories: int) -> str:
    title = Truncator(str(chat)).chars(MAX_QUOTE_LENGTH)
    if not memories:
        return _("Deleted “%(title)s”") % {"title": title}
    both = ngettext(
        "Deleted “%(title)s” and %(n)d memory", "Deleted “%(title)s” and %(n)d memories", memories
    )
    return both % {"title": title, "n": memories}


@require_POST
def delete_fact(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Delete a fact: hidden at once, erased after four seconds unless undone."""
    found = own_fact(request, pk)
    try:
        deletion = deletions.forget_facts(request.user, [found.pk])
    except Refused as problem:
        return respond_with_error(request, problem, reverse("memory"))
    if not request.htmx:
        return redirect("memory")
    return announce_memory_change(
        HttpResponse(""), forgot=describe_deletion(deletion, [found], deletion.pressed_at)
    )


@require_http_methods(["GET", "POST"])
def clear_memory(request: HtmxHttpRequest) -> HttpResponse:
    """Ask for confirmation, or delete all facts: hidden at once, erased after eight seconds unless undone."""
    if request.method == "GET":
        asking = request.GET.get("keep") != "1"
        context = {"asking": asking, "total": Fact.objects.for_owner(request.user).live().count()}
        return render(request, "memory/_clear.html" if request.htmx else "memory/clear.html", context)
    try:
        deletion = deletions.clear_memory(request.user)
    except Refused as problem:
        return respond_with_error(request, problem, reverse("memory"))
    if not request.htmx:
        return redirect("memory")
    page = render(request, "memory/panel.html#list", {**load_panel_context(request), "cleared": True})
    return announce_memory_change(page, forgot=describe_deletion(deletion, [], deletion.pressed_at))


@require_POST
def undo_deletion(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Undo a pending deletion; a toast says where a fact was merged or superseded meanwhile."""
    found = own_deletion(request, pk)
    back = "home" if found.conversations.exists() else "memory"
    try:
        undone = deletions.undo_deletion(found)
    except TooLateToUndo as problem:
        return respond_with_error(request, problem, reverse(back))
    sentence = undone.sentence if undone.merged or undone.superseded else ""
    if not request.htmx:
        if sentence:
            notices.info(request, sentence)
        return redirect(undone.conversation or "memory")
    answer = announce_memory_change(HttpResponse(status=204))
    if undone.conversation is not None:
        trigger_client_event(answer, "conversations-changed")
    return add_toast(answer, sentence) if sentence else answer


@require_POST
def keep_old_chats(request: HtmxHttpRequest) -> HttpResponse:
    """Show the chats again that are deleted by age."""
    count = old_conversations.keep_old_conversations(request.user)
    sentence = ngettext("Kept %d chat", "Kept %d chats", count) % count
    if not request.htmx:
        notices.success(request, sentence)
        return redirect("home")
    return add_toast(trigger_client_event(HttpResponse(status=204), "conversations-changed"), sentence)


@require_POST
def answer_which(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Forget what a message meant, of the facts that the page offers: one, all of them, or none."""
    found = own_outcome(request, pk)
    ids = [uuid_or_404(key) for key in request.POST.getlist("fact") if key]
    try:
        request_outcomes.forget_candidates(found, None if "all" in request.POST else ids)
    except Refused as problem:
        return respond_with_error(request, problem, build_message_url(found.message))
    if not request.htmx:
        return redirect(build_message_url(found.message))
    return announce_memory_change(HttpResponse(status=204))


@require_POST
def restore_fact(request: HtmxHttpRequest, pk: UUID, event: UUID) -> HttpResponse:
    """Restore a fact to the text and category that it had after an event of its history."""
    found, point = own_fact(request, pk), own_event(request, event)
    try:
        restored = fact_history.restore_fact(found, point)
    except Refused as problem:
        return respond_with_error(request, problem, reverse("memory"))
    return _respond_restored(request, restored, _("Restored."))


@require_GET
def archive_list(request: HtmxHttpRequest) -> HttpResponse:
    """Show the archive of the panel."""
    if not request.htmx:
        return redirect("memory")
    return render(request, "memory/_archive.html", {"archived": list_archived_facts(request.user)})


@require_GET
def heard_once_list(request: HtmxHttpRequest) -> HttpResponse:
    """Show the facts of the panel that were heard once."""
    if not request.htmx:
        return redirect("memory")
    return render(request, "memory/_heard_once.html", {"heard_once": list_heard_once(request.user)})


@require_POST
def unarchive_fact(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Move a fact from the archive back to the list."""
    found = own_fact(request, pk)
    try:
        returned = archive.restore_archived_fact(found)
    except Refused as problem:
        return respond_with_error(request, problem, reverse("memory"))
    return _respond_restored(request, returned, _("Kept.") if found.heard_once else _("Brought back."))


def list_archived_facts(owner: User) -> list[ArchivedFact]:
    """Return the archived facts that can still be restored, the last archived first."""
    since = timezone.now() - archive.ARCHIVE_RETENTION
    rows = Fact.objects.for_owner(owner).archived().filter(archived_at__gt=since)
    return [ArchivedFact(fact, _describe_archiving(fact)) for fact in rows.prefetch_related("events")]


def list_heard_once(owner: User) -> list[Fact]:
    """Return the facts that wait for a second mention, the last heard first."""
    since = timezone.now() - archive.ARCHIVE_RETENTION
    return list(Fact.objects.for_owner(owner).heard_once().filter(archived_at__gt=since))


def _describe_archiving(fact: Fact) -> str:
    """Return why a fact was archived, from the event that archived it; "" where that event is missing."""
    events = [e for e in fact.events.all() if e.kind in ("evict", "expire", "supersede")]
    if not events:
        return ""
    if events[-1].kind == FactEventKind.SUPERSEDE:
        return _("you said that it is over")
    return str(events[-1].get_kind_display())


def _respond_restored(request: HtmxHttpRequest, fact: Fact, sentence: str) -> HttpResponse:
    if not request.htmx:
        notices.success(request, sentence)
        return redirect(f"{reverse('memory')}#fact-{fact.pk}")
    # The same button stands under a reply, where there is no list to render.
    at_list = request.htmx.target in ("memory-list", None)
    page = (
        render(request, "memory/panel.html#list", load_panel_context(request, found=fact))
        if at_list
        else HttpResponse()
    )
    return add_toast(announce_memory_change(page), sentence)
