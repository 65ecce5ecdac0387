"""Answers that several views give: sentences, toasts, and where a plain form goes next."""

from __future__ import annotations

from typing import Any

from django.contrib import messages as notices
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django_htmx.http import trigger_client_event

from chat.models import Message

from .scope import HtmxHttpRequest


def refused(request: HtmxHttpRequest, sentence: str, status: int, back: str) -> HttpResponse:
    """Answer with a sentence: for htmx as a toast, for a plain form on the page it came from."""
    if not request.htmx:
        notices.error(request, sentence)
        return redirect(back)
    return toast(HttpResponse(sentence, status=status, content_type="text/plain; charset=utf-8"), sentence)


def address_of(message: Message) -> str:
    """Return where a message is shown."""
    return f"{reverse('conversation', args=[message.conversation_id])}?m={message.pk}#m-{message.pk}"


def toast(response: HttpResponse, sentence: str, undo: str = "") -> HttpResponse:
    """Add a toast to an answer; `undo` is the address that a button in it posts to."""
    return trigger_client_event(response, "toast", {"text": sentence} | ({"undo": undo} if undo else {}))


def changed(response: HttpResponse, **events: Any) -> HttpResponse:
    """Tell the page that memory has changed, and what else there is to tell."""
    for name, detail in {"memory-changed": {}, **events}.items():
        trigger_client_event(response, name, detail)
    return response
