"""The door for Prometheus: off unless METRICS says so, for the owner on their own page or with a token."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from chat.statistics.metrics import exposition

from .scope import HtmxHttpRequest, asked_by_owner

REFUSED = "Send a token: Authorization: Bearer …\n"


@login_not_required
@require_GET
def metrics(request: HtmxHttpRequest) -> HttpResponse:
    """Answer with the numbers of whoever asks; 404 while switched off, 401 to a stranger."""
    if not settings.METRICS:
        raise Http404
    if not asked_by_owner(request):
        headers = {"WWW-Authenticate": "Bearer"}
        return HttpResponse(REFUSED, status=401, headers=headers, content_type="text/plain; charset=utf-8")
    text, content_type = exposition(request.user, timezone.now(), request.headers.get("Accept", ""))
    return HttpResponse(text, content_type=content_type)
