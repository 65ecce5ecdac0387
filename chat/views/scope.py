"""Getters that no view can go around: an object that the user does not own does not exist for them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django_htmx.middleware import HtmxDetails

from chat.models import Conversation, Deletion, Fact, Message


class HtmxHttpRequest(HttpRequest):
    """A request that went through django-htmx's middleware."""

    htmx: HtmxDetails
    user: Any


def own_conversation(request: HtmxHttpRequest, pk: UUID) -> Conversation:
    """Return the user's conversation, or answer 404."""
    return get_object_or_404(
        Conversation.objects.for_owner(request.user).select_related("app", "owner"), pk=pk
    )


def own_message(request: HtmxHttpRequest, pk: UUID) -> Message:
    """Return a message of the user's conversations, or answer 404."""
    rows = Message.objects.for_owner(request.user).select_related("conversation__app", "conversation__owner")
    return get_object_or_404(rows, pk=pk)


def own_fact(request: HtmxHttpRequest, pk: UUID) -> Fact:
    """Return the user's fact, live or not, or answer 404."""
    return get_object_or_404(
        Fact.objects.for_owner(request.user).select_related("owner", "supersedes"), pk=pk
    )


def own_deletion(request: HtmxHttpRequest, pk: UUID) -> Deletion:
    """Return the user's deletion, or answer 404."""
    return get_object_or_404(Deletion.objects.for_owner(request.user).select_related("owner"), pk=pk)
