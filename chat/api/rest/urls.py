"""The addresses below `/api/`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, re_path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

from chat.api.auth import authenticate
from chat.api.problems import KINDS, Problem, method, not_found
from chat.views.scope import HtmxHttpRequest, asked_by_owner

from .api import api, opened
from .reference import Reference


def read_only(view: Callable[[HtmxHttpRequest], HttpResponse]) -> Callable[[HtmxHttpRequest], HttpResponse]:
    """Return a view that is read, and tells every other method so as all the rest here does."""

    @csrf_exempt
    @wraps(view)
    def answer(request: HtmxHttpRequest) -> HttpResponse:
        if request.method not in ("GET", "HEAD"):
            return method("GET", "HEAD").response()
        return view(request)

    return answer


@read_only
@login_not_required
def openapi(request: HtmxHttpRequest) -> HttpResponse:
    """Answer with the OpenAPI document, for whoever may use what it describes."""
    if not asked_by_owner(request):
        return Problem("unauthorised", _("Send a token: “Authorization: Bearer …”.")).response()
    return JsonResponse(api.described())


@read_only
def docs(request: HtmxHttpRequest) -> HttpResponse:
    """Show what the document says as a page of our own: ninja's needs scripts that our policy forbids."""
    told = Reference(api.described())
    ours = f"{request.scheme}://{request.get_host()}"
    context = {
        "version": api.version,
        "example": f'curl -H "Authorization: Bearer mem_…" {ours}{reverse("rest:list_facts")}',
        "sections": told.sections(),
        "shapes": told.shapes(),
        "problems": [(kind, *known) for kind, known in KINDS.items()],
    }
    return render(request, "api/reference.html", context)


@read_only
def root(request: HtmxHttpRequest) -> HttpResponse:
    """Lead to the reference."""
    return redirect("rest:docs")


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
    path("", root, name="root"),
    path("docs", docs, name="docs"),
    path("openapi.json", openapi, name="openapi"),
    *_mounted(),
    re_path("", nowhere, name="nowhere"),
]
