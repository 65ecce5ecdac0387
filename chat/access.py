"""Access to owned objects. Every entry point (pages, REST, /v1, sockets, Python) selects rows here.

The functions `…_of` return the rows of an owner that are not deleted. The functions `own_…` return one row of
the user of a request and raise Http404 for one that is missing, deleted or another user's: the three look
alike. REST and /v1 map Http404 to a problem document.
"""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django_htmx.middleware import HtmxDetails

from chat.actions.owners import is_local
from chat.generation import run as generation
from chat.models import (
    ApiToken,
    App,
    AppMemory,
    Conversation,
    Deletion,
    Fact,
    FactEvent,
    Message,
    OwnerSettings,
    PromptReport,
    Quotation,
    RequestOutcome,
    Topic,
    User,
)
from chat.models.conversation import ConversationQuerySet
from chat.models.message import MessageQuerySet
from chat.models.topic import TopicQuerySet
from chat.origins import is_own_origin


class HtmxHttpRequest(HttpRequest):
    """A request that went through the middleware of django-htmx and of memoryapp."""

    htmx: HtmxDetails
    user: User
    preferences: OwnerSettings


def is_admin(user: User) -> bool:
    """Return whether a user may manage the accounts of server mode; False in local mode, which has none."""
    return not is_local() and user.is_active and user.is_staff and user.is_superuser


def require_admin(request: HtmxHttpRequest) -> User:
    """Return the user of a request who is an admin of server mode, or raise Http404."""
    if not is_admin(request.user):
        raise Http404
    return request.user


def is_asked_by_owner(request: HtmxHttpRequest) -> bool:
    """Return whether a GET comes from our own page, the address bar, or with a valid bearer token.

    For addresses that programs read. In local mode every request has the owner as its user, also one that
    another site's page sends. The browser states where a request comes from, and no page can change that.
    """
    if getattr(request, "bearer_owner", None) is not None:
        return True
    own_page = is_own_origin(request.headers.get("Origin"), request.scheme or "", request.get_host())
    own_page = own_page or request.headers.get("Sec-Fetch-Site") in ("same-origin", "none")
    return own_page and bool(request.user.is_authenticated)


def is_from_another_site(request: HttpRequest) -> bool:
    """Return whether a link or a script of another site's page led here: it could measure what this takes."""
    return request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")


def conversations_of(owner: User) -> ConversationQuerySet:
    """Return the owner's conversations that are not deleted, with app and owner loaded."""
    return Conversation.objects.for_owner(owner).not_deleted().select_related("app", "owner")


def messages_of(owner: User) -> MessageQuerySet:
    """Return the messages of the owner's conversations, with conversation, app and owner loaded."""
    rows = Message.objects.for_owner(owner).filter(conversation__deletion=None)
    return rows.select_related("conversation__app", "conversation__owner")


def topics_of(owner: User) -> TopicQuerySet:
    """Return the topics of the owner's conversations, with the conversation loaded."""
    rows = Topic.objects.for_owner(owner).filter(conversation__deletion=None)
    return rows.select_related("conversation")


def find_app_by_slug(owner: User, slug: str) -> App | None:
    """Return the owner's app with this slug, with its owner loaded; None where there is none."""
    if "\x00" in slug:
        # PostgreSQL raises an error for a NUL in a parameter.
        return None
    return App.objects.for_owner(owner).select_related("owner").filter(slug=slug).first()


def has_conversation(owner: User, key: str) -> bool:
    """Return whether this key is that of a conversation of the owner that is not deleted."""
    try:
        return conversations_of(owner).filter(pk=UUID(key)).exists()
    except ValueError:
        return False


def own_app(request: HtmxHttpRequest, pk: UUID) -> App:
    """Return an app of the user."""
    return get_object_or_404(App.objects.for_owner(request.user).select_related("owner"), pk=pk)


def own_app_memory(request: HtmxHttpRequest, pk: UUID) -> AppMemory:
    """Return a memory of the user's apps; it may be pending deletion."""
    rows = AppMemory.objects.for_owner(request.user).select_related("app", "owner", "source_conversation")
    return get_object_or_404(rows, pk=pk)


def own_conversation(request: HtmxHttpRequest, pk: UUID) -> Conversation:
    """Return a conversation of the user, with the ends of its replies."""
    generation.save_unsaved_ends()
    return get_object_or_404(conversations_of(request.user), pk=pk)


def own_message(request: HtmxHttpRequest, pk: UUID) -> Message:
    """Return a message of the user's conversations; a reply that has ended is read with its end."""
    generation.save_unsaved_ends()
    return get_object_or_404(messages_of(request.user), pk=pk)


def own_quotation(request: HtmxHttpRequest, pk: UUID) -> Quotation:
    """Return a quotation in a prompt of the user's conversations, with its message and conversation."""
    rows = Quotation.objects.for_owner(request.user).filter(message__conversation__deletion=None)
    return get_object_or_404(rows.select_related("message__conversation"), pk=pk)


def own_topic(request: HtmxHttpRequest, pk: UUID) -> Topic:
    """Return a topic of the user's conversations."""
    return get_object_or_404(topics_of(request.user), pk=pk)


def own_report(request: HtmxHttpRequest, pk: UUID) -> PromptReport:
    """Return the prompt report of a reply in the user's conversations."""
    rows = PromptReport.objects.for_owner(request.user).filter(reply__conversation__deletion=None)
    return get_object_or_404(rows.select_related("reply"), pk=pk)


def own_fact(request: HtmxHttpRequest, pk: UUID) -> Fact:
    """Return a fact of the user: live, superseded, archived or pending deletion."""
    rows = Fact.objects.for_owner(request.user)
    rows = rows.with_conversations().select_related("owner", "supersedes", "source_message")
    return get_object_or_404(rows, pk=pk)


def own_event(request: HtmxHttpRequest, pk: UUID) -> FactEvent:
    """Return an event in the history of the user's facts."""
    return get_object_or_404(FactEvent.objects.for_owner(request.user).select_related("fact"), pk=pk)


def own_deletion(request: HtmxHttpRequest, pk: UUID) -> Deletion:
    """Return a deletion of the user, in any state."""
    return get_object_or_404(Deletion.objects.for_owner(request.user).select_related("owner"), pk=pk)


def own_outcome(request: HtmxHttpRequest, pk: UUID) -> RequestOutcome:
    """Return what came of a request to memory in a message of the user."""
    rows = RequestOutcome.objects.for_owner(request.user).filter(message__conversation__deletion=None)
    return get_object_or_404(rows.select_related("message__conversation"), pk=pk)


def own_token(request: HtmxHttpRequest, pk: UUID) -> ApiToken:
    """Return an API token of the user that is not revoked."""
    return get_object_or_404(ApiToken.objects.for_owner(request.user).unrevoked(), pk=pk)


def find_whole_number(text: str, digits: int = 10) -> int | None:
    """Return the number that a parameter of a page holds, None for any other text and for longer numbers.

    Python raises an error for a number of thousands of digits.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def uuid_or_404(text: str) -> UUID:
    """Return the UUID that a form names, or raise Http404."""
    try:
        return UUID(text)
    except ValueError as error:
        raise Http404 from error
