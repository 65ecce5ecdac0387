"""Several memories at once, as the panel's Manage mode chooses them."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages as notices
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from chat.actions import batches, deletions
from chat.actions.messages import Refused
from chat.models import Category, Fact

from .answers import changed, refused, toast
from .cards import shelves
from .forgetting import told
from .scope import HtmxHttpRequest, uuid_or_404

_MANAGING = "?manage=1"


@require_POST
def batch(request: HtmxHttpRequest) -> HttpResponse:
    """Forget, pin or move what was chosen, all of it or nothing, and show the list anew."""
    ids = [uuid_or_404(key) for key in request.POST.getlist("fact")]
    facts = list(Fact.objects.for_owner(request.user).filter(pk__in=ids))
    if ids and not facts:
        raise Http404
    try:
        return _done(request, facts, [fact.pk for fact in facts], request.POST.get("do", ""))
    except Refused as problem:
        return refused(request, str(problem), 409, reverse("memory") + _MANAGING)


def _done(request: HtmxHttpRequest, facts: list[Fact], ids: list[UUID], do: str) -> HttpResponse:
    owner = request.user
    if not ids:
        raise Refused(_("Choose at least one memory."))
    if do == "delete":
        deletion = deletions.forget(owner, ids)
        seen = [fact for fact in facts if fact.deletion_id is None]
        return _list(request, "", forgot=told(deletion, seen, deletion.pressed_at))
    if do == "pin":
        pinned = not batches.all_pinned(owner, ids)
        count = batches.pin_facts(owner, ids, pinned)
        if pinned:
            return _list(request, ngettext("Pinned %d memory.", "Pinned %d memories.", count) % count)
        return _list(request, ngettext("Unpinned %d memory.", "Unpinned %d memories.", count) % count)
    count = batches.move_facts(owner, ids, do)
    words = ngettext("Moved %(n)d memory to %(shelf)s.", "Moved %(n)d memories to %(shelf)s.", count)
    return _list(request, words % {"n": count, "shelf": Category(do).label})


def _list(request: HtmxHttpRequest, sentence: str, **events: object) -> HttpResponse:
    if not request.htmx:
        if sentence:
            notices.success(request, sentence)
        return redirect(reverse("memory") + _MANAGING)
    page = changed(render(request, "memory/panel.html#list", shelves(request)), **events)
    return toast(page, sentence) if sentence else page
