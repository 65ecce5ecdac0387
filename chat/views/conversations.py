"""The page of a conversation, the pages of its messages, and sending."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages as notices
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect

from chat.access import (
    HtmxHttpRequest,
    find_whole_number,
    messages_of,
    own_app,
    own_conversation,
    uuid_or_404,
)
from chat.actions import conversation_jobs
from chat.actions import messages as actions
from chat.actions.idempotency import hash_request
from chat.commands import COMMANDS, parse
from chat.error_messages import describe
from chat.errors import AppError, Refused, UnknownCommand, status_of
from chat.generation.exchange import NO_KEY, RequestKey
from chat.generation.run import begin_exchange
from chat.models import App, Conversation, Message, PromptReport
from chat.models.message import MessageQuerySet

from .commands import run_command
from .conversation_menu import header_menu_context
from .message_view import build_message_views, compute_window_share
from .responses import build_message_url, respond_with_error

# Messages of one page. Links at both ends load the next page.
PAGE_SIZE = 60
# The key that a form carries, so that a message whose answer is lost is not said twice.
_KEY = re.compile(r"[\w-]{8,64}")
# Messages that are shown before the one that a search result or a link leads to.
_LEADING_MESSAGES = 8


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Messages in order; `earlier` and `later` are the `seq` to go on from, None at an end of the history."""

    rows: list[Message]
    earlier: int | None = None
    later: int | None = None


@require_GET
def home(request: HtmxHttpRequest) -> HttpResponse:
    """Show an empty chat, temporary if asked; the first message creates its conversation."""
    chosen = own_app(request, uuid_or_404(request.GET["app"])) if "app" in request.GET else None
    return _render_empty_chat(request, temporary=request.GET.get("temporary") == "1", app=chosen)


def _render_empty_chat(request: HtmxHttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    first = not Conversation.objects.for_owner(request.user).listed().exists()
    context = {
        "conversation": None,
        "message_views": [],
        "commands": COMMANDS,
        "form_key": secrets.token_urlsafe(16),
        "is_first_run": first,
        **more,
    }
    return render(request, "chat/page.html", context, status=status)


@require_GET
def conversation(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show a conversation at its end, around message `m`, or `before` or `after` a `seq`.

    htmx receives the messages alone.
    """
    found = own_conversation(request, pk)
    if "m" in request.GET:
        message = get_object_or_404(found.messages, pk=uuid_or_404(request.GET["m"]))
        branch = Message.objects.newest_version(message)
        if branch != message:
            return redirect(build_message_url(branch))
        part = load_page_around(branch)
    else:
        part = load_message_page(found, request.GET)
    if request.htmx:
        # Send the load-more link only for the side that is extended.
        link = {"earlier": part.earlier} if "before" in request.GET else {"later": part.later}
        context = {"conversation": found, "message_views": build_message_views(part.rows), **link}
        return render(request, "chat/_messages.html", context)
    return _render_conversation(request, found, part)


def _render_conversation(
    request: HtmxHttpRequest, found: Conversation, part: MessagePage, status: int = 200, **more: Any
) -> HttpResponse:
    newest = (
        PromptReport.objects.filter(reply__in=found.messages.current_branch()).order_by("-reply__seq").first()
    )
    context = {
        **header_menu_context(found),
        "conversation": found,
        "message_views": build_message_views(part.rows),
        "earlier": part.earlier,
        "later": part.later,
        "commands": COMMANDS,
        "form_key": secrets.token_urlsafe(16),
        "context_share": compute_window_share(newest) or 0,
        "is_first_run": False,
        **more,
    }
    return render(request, "chat/page.html", context, status=status)


@require_GET
def messages_after(request: HtmxHttpRequest, pk: UUID, seq: int) -> HttpResponse:
    """Show the messages after a `seq`, which the page does not have yet."""
    found = own_conversation(request, pk)
    rows = list(Message.objects.filter(conversation=found, seq__gt=seq).current_branch()[: PAGE_SIZE + 1])
    if len(rows) > PAGE_SIZE:
        # The page has missed so much that it is loaded anew.
        return HttpResponseClientRedirect(reverse("conversation", args=[pk]))
    return render(
        request, "chat/_messages.html", {"conversation": found, "message_views": build_message_views(rows)}
    )


@require_POST
def send_message(request: HtmxHttpRequest) -> HttpResponse:
    """Save a message and begin its reply, or run a slash command."""
    given, text = request.POST.get("conversation", ""), request.POST.get("text", "")
    found = own_conversation(request, uuid_or_404(given)) if given else None
    app = request.POST.get("app", "")
    chosen = own_app(request, uuid_or_404(app)) if app else None
    temporary = request.POST.get("temporary") == "1"
    key = _request_key(request.POST.get("key", ""), given or app or str(temporary), text)
    try:
        if (command := parse(text)) is not None:
            return run_command(request, found, *command)
        exchange = begin_exchange(
            request.user,
            lambda: actions.send_message(request.user, text, found, app=chosen, temporary=temporary),
            key=key,
        )
    except (Refused, UnknownCommand) as problem:
        return _respond_not_sent(request, found, problem, text, chosen)
    # The answer to the first request may have been lost; this one gets the same.
    rows = exchange.saved or messages_of(request.user).filter(pk__in=exchange.keys).order_by("seq")
    if not rows:
        return respond_with_error(request, Refused("conversation-deleted"), "home")
    page = reverse("conversation", args=[rows[0].conversation_id])
    if not request.htmx:
        return redirect(page)
    if found is None:
        return HttpResponseClientRedirect(page)
    return render(
        request,
        "chat/_messages.html",
        {"conversation": found, "message_views": build_message_views(rows)},
    )


def _request_key(given: str, where: str, text: str) -> RequestKey:
    """Return what identifies this message among repeated requests; an edited text is another message."""
    if not _KEY.fullmatch(given):
        return NO_KEY
    request = f"{where}\n{text}".encode()
    return RequestKey(f"page:{given}:{hash_request(request)[:32]}", request)


def _respond_not_sent(
    request: HtmxHttpRequest,
    found: Conversation | None,
    problem: AppError,
    text: str,
    app: App | None,
) -> HttpResponse:
    """Show why a message was not sent; a plain form is rendered again with the text still in it."""
    if request.htmx:
        return respond_with_error(request, problem, "")
    notices.error(request, describe(problem))
    status = status_of(problem)
    if found is None:
        temporary = request.POST.get("temporary") == "1"
        return _render_empty_chat(request, status, draft=text, temporary=temporary, app=app)
    return _render_conversation(request, found, load_message_page(found, QueryDict()), status, draft=text)


@require_POST
def request_extraction(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Start extraction of a conversation at once; its page was left or hidden."""
    conversation_jobs.flush_extraction(own_conversation(request, pk).pk)
    return HttpResponse(status=204)


def load_message_page(conversation: Conversation, query: QueryDict) -> MessagePage:
    """Return the messages before or after the `seq` in the query string, else the newest."""
    branch = Message.objects.filter(conversation=conversation).current_branch()
    if (place := find_whole_number(query.get("before", ""))) is not None:
        return _load_page_before(branch, branch.filter(seq__lt=place))
    if (place := find_whole_number(query.get("after", ""))) is not None:
        return _load_page_after(branch, branch.filter(seq__gt=place))
    return _load_page_before(branch, branch)


def load_page_around(message: Message) -> MessagePage:
    """Return a message with a few messages before it and those after it."""
    branch = Message.objects.filter(conversation=message.conversation_id).current_branch()
    leading = list(branch.filter(seq__lt=message.seq).reverse()[:_LEADING_MESSAGES])
    return _load_page_after(branch, branch.filter(seq__gte=leading[-1].seq if leading else message.seq))


def _load_page_before(branch: MessageQuerySet, candidates: MessageQuerySet) -> MessagePage:
    rows = list(candidates.reverse()[: PAGE_SIZE + 1])[::-1]
    more, rows = len(rows) > PAGE_SIZE, rows[-PAGE_SIZE:]
    later = rows[-1].seq if rows and branch.filter(seq__gt=rows[-1].seq).exists() else None
    return MessagePage(rows, rows[0].seq if more else None, later)


def _load_page_after(branch: MessageQuerySet, candidates: MessageQuerySet) -> MessagePage:
    rows = list(candidates[: PAGE_SIZE + 1])
    more, rows = len(rows) > PAGE_SIZE, rows[:PAGE_SIZE]
    earlier = rows[0].seq if rows and branch.filter(seq__lt=rows[0].seq).exists() else None
    return MessagePage(rows, earlier, rows[-1].seq if more else None)
