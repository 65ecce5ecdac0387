"""What each slash command does on the page; all of them work without JavaScript too."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

from django.contrib import messages as notices
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect, trigger_client_event

from chat.access import HtmxHttpRequest, conversations_of
from chat.actions import conversations, deletions, message_edits
from chat.actions.facts import add_fact
from chat.actions.quotas import count_message
from chat.commands import COMMANDS, parse_chat_id, parse_chat_place
from chat.errors import Refused
from chat.memory.formatting import format_for_quotation
from chat.models import Conversation, Deletion, Message, Origin, User
from chat.search.search import HitKind, find
from chat.search.semantic import find_best_match

from . import conversation_menu
from . import deletions as deletions_module
from .deletions import MAX_QUOTE_LENGTH, describe_deletion
from .message_view import build_message_views
from .responses import add_toast, announce_memory_change, build_message_url

# Commands that use the model or the embedder count as messages.
_COUNTED = frozenset({"remember", "unlearn"})

CommandHandler = Callable[[HtmxHttpRequest, Conversation | None, str], HttpResponse]


def run_command(
    request: HtmxHttpRequest, conversation: Conversation | None, name: str, rest: str
) -> HttpResponse:
    """Run a slash command and return the response; raises Refused."""
    with count_message(request.user) if name in _COUNTED else nullcontext():
        return _HANDLERS[name](request, conversation, rest)


def _redirect_to(name: str, query: str = "") -> CommandHandler:
    def redirect_there(
        request: HtmxHttpRequest, conversation: Conversation | None, rest: str
    ) -> HttpResponse:
        return _open(request, reverse(name) + query)

    return redirect_there


def _open(request: HtmxHttpRequest, address: str) -> HttpResponse:
    return HttpResponseClientRedirect(address) if request.htmx else redirect(address)


def _remember(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    fact = add_fact(request.user, rest, Origin.TOLD)
    if fact.mention_count > 1:
        return _respond_with_notice(request, conversation, _("Already remembered."))
    sentence = _("Remembered “%(text)s”") % {
        "text": Truncator(format_for_quotation(fact.text)).chars(MAX_QUOTE_LENGTH)
    }
    if not request.htmx:
        return _respond_with_notice(request, conversation, sentence)
    return add_toast(
        announce_memory_change(HttpResponse(status=204)), sentence, reverse("fact_delete", args=[fact.pk])
    )


def _unlearn(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    fact = find_best_match(request.user, rest)
    if fact is None:
        raise Refused("fact-not-found")
    deletion = deletions.forget_facts(request.user, [fact.pk])
    if not request.htmx:
        return redirect(_page_url(conversation))
    return announce_memory_change(
        HttpResponse(status=204), forgot=describe_deletion(deletion, [fact], deletion.pressed_at)
    )


def _clear(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    if conversation is None:
        raise Refused("nothing-to-clear")
    marked = message_edits.clear_conversation(conversation)
    sentence = _("The model no longer sees what was said here. /restore brings it back.")
    return _respond_with_notice(request, conversation, sentence, marked)


def _restore(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    if conversation is None or not conversation.cleared_through:
        raise Refused("nothing-cleared")
    marked = message_edits.undo_clear(conversation)
    return _respond_with_notice(
        request, conversation, _("The model sees everything that was said here again."), marked
    )


def _history(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    first = None if conversation is None else conversation.messages.current_branch().first()
    if first is None:
        raise Refused("conversation-empty")
    return _open(request, build_message_url(first))


def _forget(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    if conversation is None:
        raise Refused("nothing-to-delete")
    if conversation.temporary:
        raise Refused("conversation-temporary")
    return conversation_menu.delete_conversation(request, conversation.pk)


def _load(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    found = _find_conversation(request.user, rest)
    if found is None:
        raise Refused("conversation-not-found")
    return _open(request, found.get_absolute_url())


def _find_conversation(owner: User, text: str) -> Conversation | None:
    """Return the conversation at this place of the list, with this id, or else with these words."""
    found, own = None, conversations_of(owner)
    if place := parse_chat_place(text):
        found = next(iter(own.listed().newest_first()[place - 1 : place]), None)
    elif key := parse_chat_id(text):
        found = own.filter(pk=key).first()
    if found is None:
        hits = find(owner, text, kinds=[HitKind.CONVERSATION, HitKind.MESSAGE], limit=1).hits
        found = hits[0].conversation if hits else None
    return found


def _save(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    if conversation is None:
        raise Refused("conversation-empty")
    if not conversations.keep_temporary(conversation):
        return _respond_with_notice(request, conversation, _("Everything here is saved already."))
    notices.info(request, _("This chat stays from now on."))
    # Load the page again: its header, composer and list still show a temporary chat.
    return _open(request, conversation.get_absolute_url())


def _undo(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    newest = Deletion.objects.for_owner(request.user).pending().filter(by_age=False).last()
    if newest is None:
        raise Refused("nothing-to-undo")
    return deletions_module.undo_deletion(request, newest.pk)


def _handled_by_script(name: str, elsewhere: CommandHandler) -> CommandHandler:
    """Return a handler that lets the page's script act; `elsewhere` handles plain forms."""

    def trigger_or_fall_back(
        request: HtmxHttpRequest, conversation: Conversation | None, rest: str
    ) -> HttpResponse:
        if not request.htmx:
            return elsewhere(request, conversation, rest)
        return trigger_client_event(HttpResponse(status=204), "command", {"name": name})

    return trigger_or_fall_back


def _list_commands(request: HtmxHttpRequest, conversation: Conversation | None, rest: str) -> HttpResponse:
    return _respond_with_notice(request, conversation, " · ".join(f"/{c.name}: {c.does}" for c in COMMANDS))


def _respond_with_notice(
    request: HtmxHttpRequest,
    conversation: Conversation | None,
    sentence: str,
    changed_message: Message | None = None,
) -> HttpResponse:
    if not request.htmx:
        notices.info(request, sentence)
        return redirect(_page_url(conversation))
    if conversation is None or changed_message is None:
        return announce_memory_change(add_toast(HttpResponse(status=204), sentence))
    context = {"conversation": conversation, "message_views": build_message_views([changed_message])}
    return add_toast(render(request, "chat/_messages.html", context), sentence)


def _page_url(conversation: Conversation | None) -> str:
    return reverse("conversation", args=[conversation.pk]) if conversation else reverse("home")


_HANDLERS: dict[str, CommandHandler] = {
    "new": _redirect_to("home"),
    "temporary": _redirect_to("home", "?temporary=1"),
    "forget": _forget,
    "memories": _handled_by_script("memories", _redirect_to("memory")),
    "remember": _remember,
    "unlearn": _unlearn,
    "clear": _clear,
    "restore": _restore,
    "history": _history,
    "load": _load,
    "save": _save,
    "undo": _undo,
    "sessions": _handled_by_script("sessions", _redirect_to("home")),
    "help": _handled_by_script("help", _list_commands),
}
