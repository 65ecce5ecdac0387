"""Getters that no view can go around: an object that the user does not own does not exist for them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django_htmx.middleware import HtmxDetails

from chat.models import (
    App,
    AppMemory,
    Conversation,
    Deletion,
    Fact,
    FactEvent,
    Message,
    OwnerSettings,
    PromptReport,
    Topic,
)


class HtmxHttpRequest(HttpRequest):
    """A request that went through django-htmx's middleware."""

    htmx: HtmxDetails
    user: Any
    preferences: OwnerSettings


def asked_by_owner(request: HtmxHttpRequest) -> bool:
    """Return whether somebody known asks on our own page, from the address bar, or with a bearer token.

    For addresses that programs read. In local mode every request is the owner's, those of other sites' pages
    included (design §10); a browser says of each where it comes from, and no page can change that.
    """
    if getattr(request, "bearer_owner", None) is not None:
        return True
    ours = f"{request.scheme}://{request.get_host()}"
    own_page = request.headers.get("Origin") == ours
    own_page = own_page or request.headers.get("Sec-Fetch-Site") in ("same-origin", "none")
    return own_page and bool(request.user.is_authenticated)


def own_app(request: HtmxHttpRequest, pk: UUID) -> App:
    """Return the user's app, or answer 404."""
    return get_object_or_404(App.objects.for_owner(request.user).select_related("owner"), pk=pk)


def own_app_memory(request: HtmxHttpRequest, pk: UUID) -> AppMemory:
    """Return what an app of the user remembers, or answer 404."""
    rows = AppMemory.objects.for_owner(request.user).select_related("app", "owner", "source_conversation")
    return get_object_or_404(rows, pk=pk)


def own_conversation(request: HtmxHttpRequest, pk: UUID) -> Conversation:
    """Return the user's conversation, or answer 404."""
    rows = Conversation.objects.for_owner(request.user).kept().select_related("app", "owner")
    return get_object_or_404(rows, pk=pk)


def own_message(request: HtmxHttpRequest, pk: UUID) -> Message:
    """Return a message of the user's conversations, or answer 404."""
    rows = Message.objects.for_owner(request.user).filter(conversation__deletion=None)
    return get_object_or_404(rows.select_related("conversation__app", "conversation__owner"), pk=pk)


def own_topic(request: HtmxHttpRequest, pk: UUID) -> Topic:
    """Return a topic of the user's conversations, or answer 404."""
    rows = Topic.objects.for_owner(request.user).filter(conversation__deletion=None)
    return get_object_or_404(rows.select_related("conversation"), pk=pk)


def own_report(request: HtmxHttpRequest, pk: UUID) -> PromptReport:
    """Return what a reply of the user's conversations was made of, or answer 404."""
    rows = PromptReport.objects.for_owner(request.user).filter(reply__conversation__deletion=None)
    return get_object_or_404(rows.select_related("reply"), pk=pk)


def own_fact(request: HtmxHttpRequest, pk: UUID) -> Fact:
    """Return the user's fact, live or not, or answer 404."""
    return get_object_or_404(
        Fact.objects.for_owner(request.user).select_related(
            "owner", "supersedes", "source_message", "source_conversation"
        ),
        pk=pk,
    )


def own_event(request: HtmxHttpRequest, pk: UUID) -> FactEvent:
    """Return an event of the user's facts, or answer 404."""
    return get_object_or_404(FactEvent.objects.for_owner(request.user).select_related("fact"), pk=pk)


def own_deletion(request: HtmxHttpRequest, pk: UUID) -> Deletion:
    """Return the user's deletion, or answer 404."""
    return get_object_or_404(Deletion.objects.for_owner(request.user).select_related("owner"), pk=pk)


def uuid_or_404(text: str) -> UUID:
    """Return the key that a form names, or answer 404."""
    try:
        return UUID(text)
    except ValueError as error:
        raise Http404 from error
