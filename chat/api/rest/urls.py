"""The addresses below `/api/`."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern, path, re_path
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET

from chat.api.auth import authenticate
from chat.api.problems import Problem, not_found
from chat.views.scope import HtmxHttpRequest, asked_by_owner

from .api import api, opened


@login_not_required
@require_GET
def openapi(request: HtmxHttpRequest) -> HttpResponse:
    """Answer with the OpenAPI document, for whoever may use what it describes."""
    if not asked_by_owner(request):
        return Problem("unauthorised", _("Send a token: “Authorization: Bearer …”.")).response()
    return JsonResponse(api.described())


@login_not_required
@csrf_exempt
def nowhere(request: HttpRequest) -> HttpResponse:
    """Answer where there is nothing, in the way of all the rest."""
    try:
        authenticate(request)
    except Problem as problem:
        return problem.response()
    return not_found().response()


def _mounted() -> list[URLPattern]:
    patterns = [pattern for pattern in api.urls[0] if isinstance(pattern, URLPattern)]
    for pattern in patterns:
        pattern.callback = opened(pattern.callback)
    return patterns


app_name = "rest"
urlpatterns = [
    path("openapi.json", openapi, name="openapi"),
    *_mounted(),
    re_path("", nowhere, name="nowhere"),
]
