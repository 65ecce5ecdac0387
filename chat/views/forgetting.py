"""Forgetting one memory or all, and undo while the deadline lasts."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages as notices
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import trigger_client_event

from chat.actions import deletions
from chat.actions.messages import Refused
from chat.memory.shown import shown
from chat.models import Conversation, Deletion, Fact

from .answers import changed, refused, toast
from .cards import shelves
from .scope import HtmxHttpRequest, own_deletion, own_fact

SHOWN_CHARACTERS = 80


def told(
    deletion: Deletion, facts: list[Fact], now: datetime, chat: Conversation | None = None
) -> dict[str, Any]:
    """Return what a toast tells of a batch that can still be undone, with its time in seconds.

    What a forgotten memory had replaced goes with it and is not counted.
    """
    seconds = round((deletion.expires_at - deletion.pressed_at).total_seconds())
    seen = [f for f in facts if f.superseded_at is None and f.archived_at is None] or facts
    rooms = _forgot_of_apps(deletion)
    if deletion.whole:
        sentence = _("Everything is deleted")
    elif deletion.everything:
        sentence = _("Memory cleared")
    elif chat is not None:
        sentence = _deleted(chat, len(seen))
    elif rooms and not seen:
        sentence = rooms
    elif len(seen) == 1:
        sentence = _("Forgot “%(text)s”") % {"text": Truncator(shown(seen[0].text)).chars(SHOWN_CHARACTERS)}
    else:
        sentence = ngettext("Forgot %d memory", "Forgot %d memories", len(seen)) % len(seen)
    return {
        "id": str(deletion.pk),
        "undo": reverse("undo", args=[deletion.pk]),
        "text": sentence,
        "seconds": seconds,
        "gone": max(0, min(seconds - 1, round((now - deletion.pressed_at).total_seconds()))),
        "all": deletion.everything,
        "facts": [str(f.pk) for f in seen],
    }


def _forgot_of_apps(deletion: Deletion) -> str:
    """Tell of what apps remembered in a batch, empty where there is nothing."""
    batch = list(deletion.app_memories.all())
    if len(batch) == 1:
        return _("Forgot “%(text)s”") % {"text": Truncator(batch[0].content).chars(SHOWN_CHARACTERS)}
    count = len(batch)
    return ngettext("Forgot %d memory", "Forgot %d memories", count) % count if batch else ""


def _deleted(chat: Conversation, memories: int) -> str:
    title = Truncator(str(chat)).chars(SHOWN_CHARACTERS)
    if not memories:
        return _("Deleted “%(title)s”") % {"title": title}
    both = ngettext(
        "Deleted “%(title)s” and %(n)d memory", "Deleted “%(title)s” and %(n)d memories", memories
    )
    return both % {"title": title, "n": memories}


@require_POST
def delete(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Forget a fact: gone at once, for good after four seconds."""
    found = own_fact(request, pk)
    try:
        deletion = deletions.forget(request.user, [found.pk])
    except Refused as problem:
        return refused(request, str(problem), 409, reverse("memory"))
    if not request.htmx:
        return redirect("memory")
    return changed(HttpResponse(""), forgot=told(deletion, [found], deletion.pressed_at))


@require_http_methods(["GET", "POST"])
def clear(request: HtmxHttpRequest) -> HttpResponse:
    """Ask whether all is to be forgotten, or forget it: gone at once, for good after eight seconds."""
    if request.method == "GET":
        asking = request.GET.get("keep") != "1"
        context = {"asking": asking, "total": Fact.objects.for_owner(request.user).live().count()}
        return render(request, "memory/_clear.html" if request.htmx else "memory/clear.html", context)
    try:
        deletion = deletions.clear_all(request.user)
    except Refused as problem:
        return refused(request, str(problem), 409, reverse("memory"))
    if not request.htmx:
        return redirect("memory")
    page = render(request, "memory/panel.html#list", {**shelves(request), "cleared": True})
    return changed(page, forgot=told(deletion, [], deletion.pressed_at))


@require_POST
def undo(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Bring back what was forgotten or deleted while its deadline lasts; say so where it is not as it was."""
    found = own_deletion(request, pk)
    back = "home" if found.conversations.exists() else "memory"
    try:
        undone = deletions.undo(found)
    except deletions.TooLate as problem:
        return refused(request, str(problem), 409, reverse(back))
    sentence = undone.sentence if undone.merged or undone.superseded else ""
    if not request.htmx:
        if sentence:
            notices.info(request, sentence)
        return redirect(undone.conversation or "memory")
    answer = changed(HttpResponse(status=204))
    if undone.conversation is not None:
        trigger_client_event(answer, "rooms-changed")
    return toast(answer, sentence) if sentence else answer
