"""API tokens on the page of settings: made, shown once, revoked."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages as notices
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from chat.actions import tokens
from chat.actions.messages import Refused
from chat.models import ApiToken

from .answers import toast
from .scope import HtmxHttpRequest
from .settings import programs, whole


@require_POST
def create(request: HtmxHttpRequest) -> HttpResponse:
    """Make a token and show it, this once: never in an address, a session or a message that is kept."""
    name = request.POST.get("name", "")
    try:
        secret = tokens.create_token(request.user, name)
    except Refused as problem:
        return _shown(request, 422, error=str(problem), wanted=name)
    return _shown(request, 200, secret=secret, name=" ".join(name.split()))


@require_POST
def revoke(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Close the door to a token for good."""
    token = get_object_or_404(ApiToken.objects.for_owner(request.user).standing(), pk=pk)
    tokens.revoke_token(token)
    sentence = _("“%(name)s” is revoked.") % {"name": token.name}
    if not request.htmx:
        notices.success(request, sentence)
        return redirect("settings")
    return toast(_shown(request, 200), sentence)


def _shown(request: HtmxHttpRequest, status: int, **more: Any) -> HttpResponse:
    if request.htmx:
        return render(request, "settings/_tokens.html", {**programs(request.user), **more}, status=status)
    return whole(request, status, **more)
