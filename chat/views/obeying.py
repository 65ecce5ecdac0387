"""What a command does that was sent instead of a message; each works as a plain form too."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages as notices
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect, trigger_client_event

from chat.actions import branches, conversations, deletions
from chat.actions.facts import add_fact
from chat.actions.messages import Refused
from chat.commands import COMMANDS
from chat.memory.shown import shown
from chat.models import Conversation, Deletion, Message, Origin
from chat.search.finding import Kind, find
from chat.search.meant import meant

from . import forgetting, rooms
from .answers import changed, toast
from .articles import articles
from .forgetting import SHOWN_CHARACTERS, told
from .scope import HtmxHttpRequest

Doer = Callable[[HtmxHttpRequest, Conversation | None, str], HttpResponse]


def obey(request: HtmxHttpRequest, conversation: Conversation | None, name: str, rest: str) -> HttpResponse:
    """Do what a command says; raises Refused with a sentence where it cannot be done."""
    return _DOERS[name](request, conversation, rest)


def _leads_to(name: str, query: str = "") -> Doer:
    def go(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
        address = reverse(name) + query
        return HttpResponseClientRedirect(address) if request.htmx else redirect(address)

    return go


def _remember(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    fact = add_fact(request.user, rest, Origin.TOLD)
    if fact.mention_count > 1:
        return _said(request, conversation, _("Already remembered."))
    sentence = _("Remembered “%(text)s”") % {"text": Truncator(shown(fact.text)).chars(SHOWN_CHARACTERS)}
    if not request.htmx:
        return _said(request, conversation, sentence)
    return toast(changed(HttpResponse(status=204)), sentence, reverse("fact_delete", args=[fact.pk]))


def _unlearn(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    fact = meant(request.user, rest)
    if fact is None:
        raise Refused(_("Nothing remembered says this."))
    deletion = deletions.forget(request.user, [fact.pk])
    if not request.htmx:
        return redirect(_page(conversation))
    return changed(HttpResponse(status=204), forgot=told(deletion, [fact], deletion.pressed_at))


def _clear(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    if conversation is None:
        raise Refused(_("There is nothing to clear yet."))
    marked = branches.clear(conversation)
    return _said(request, conversation, _("The model no longer sees what was said here."), marked)


def _history(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    if conversation is None or not conversation.cleared_through:
        raise Refused(_("The model sees everything that was said here."))
    marked = branches.unclear(conversation)
    return _said(request, conversation, _("The model sees everything that was said here again."), marked)


def _forget(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    if conversation is None:
        raise Refused(_("There is nothing to delete yet."))
    if conversation.temporary:
        raise Refused(_("This chat is gone once you leave it."))
    return rooms.delete(request, conversation.pk)


def _load(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    hits = find(request.user, rest, kinds=[Kind.CONVERSATION, Kind.MESSAGE], limit=1).hits
    if not hits or hits[0].conversation is None:
        raise Refused(_("No chat holds this."))
    address = hits[0].conversation.get_absolute_url()
    return HttpResponseClientRedirect(address) if request.htmx else redirect(address)


def _save(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    if conversation is None:
        raise Refused(_("Nothing has been said here yet."))
    if not conversations.keep(conversation):
        return _said(request, conversation, _("Everything here is saved already."))
    notices.info(request, _("This chat stays from now on."))
    # All of the page says otherwise: its header, its field, its place in the list.
    address = conversation.get_absolute_url()
    return HttpResponseClientRedirect(address) if request.htmx else redirect(address)


def _undo(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    newest = Deletion.objects.for_owner(request.user).pending().last()
    if newest is None:
        raise Refused(_("There is nothing to undo."))
    return forgetting.undo(request, newest.pk)


def _on_the_page(name: str, elsewhere: Doer) -> Doer:
    """Return what a script of the page does, and what happens without it."""

    def tell(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
        if not request.htmx:
            return elsewhere(request, conversation, rest)
        return trigger_client_event(HttpResponse(status=204), "command", {"name": name})

    return tell


def _listed(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    return _said(request, conversation, " · ".join(f"/{c.name}: {c.does}" for c in COMMANDS))


def _said(
    request: HtmxHttpRequest,
    conversation: Conversation | None,
    sentence: str,
    changed_message: Message | None = None,
) -> HttpResponse:
    if not request.htmx:
        notices.info(request, sentence)
        return redirect(_page(conversation))
    if conversation is None or changed_message is None:
        return changed(toast(HttpResponse(status=204), sentence))
    context = {"conversation": conversation, "articles": articles([changed_message])}
    return toast(render(request, "chat/_messages.html", context), sentence)


def _page(conversation: Conversation | None) -> str:
    return reverse("conversation", args=[conversation.pk]) if conversation else reverse("home")


_DOERS: dict[str, Doer] = {
    "new": _leads_to("home"),
    "temporary": _leads_to("home", "?temporary=1"),
    "forget": _forget,
    "memories": _on_the_page("memories", _leads_to("memory")),
    "remember": _remember,
    "unlearn": _unlearn,
    "clear": _clear,
    "history": _history,
    "load": _load,
    "save": _save,
    "undo": _undo,
    "sessions": _on_the_page("sessions", _leads_to("home")),
    "help": _on_the_page("help", _listed),
}
