"""The URL patterns below `/api/`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, re_path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

from chat.access import HtmxHttpRequest, is_asked_by_owner
from chat.api.auth import authenticate
from chat.api.problems import KINDS, Problem, method, not_found

from .api import api, prepare_view
from .reference import Reference


def read_only(view: Callable[[HtmxHttpRequest], HttpResponse]) -> Callable[[HtmxHttpRequest], HttpResponse]:
    """Return a view that answers methods other than GET and HEAD with a problem document."""

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
    """Return the OpenAPI document; needs a token or the owner's own page."""
    if not is_asked_by_owner(request):
        return Problem("unauthorised", _("Send a token: “Authorization: Bearer …”.")).response()
    return JsonResponse(api.openapi_document())


@read_only
def docs(request: HtmxHttpRequest) -> HttpResponse:
    """Show the OpenAPI document as a page of our own: ninja's needs inline scripts, which the CSP forbids."""
    reference = Reference(api.openapi_document())
    ours = f"{request.scheme}://{request.get_host()}"
    context = {
        "version": api.version,
        "example": f'curl -H "Authorization: Bearer mem_…" {ours}{reverse("rest:list_facts")}',
        "sections": reference.sections(),
        "shapes": reference.list_objects(),
        "problems": [(kind, *known) for kind, known in KINDS.items()],
    }
    return render(request, "api/reference.html", context)


@read_only
def root(request: HtmxHttpRequest) -> HttpResponse:
    """Redirect to the reference."""
    return redirect("rest:docs")


@login_not_required
@csrf_exempt
def not_found_view(request: HttpRequest) -> HttpResponse:
    """Return a problem document for an unknown path."""
    try:
        authenticate(request)
    except Problem as problem:
        return problem.response()
    return not_found().response()


def _mount_operations() -> list[URLPattern]:
    patterns = [pattern for pattern in api.urls[0] if isinstance(pattern, URLPattern)]
    for pattern in patterns:
        pattern.callback = prepare_view(pattern.callback)
    return patterns


app_name = "rest"
urlpatterns = [
    path("", root, name="root"),
    path("docs", docs, name="docs"),
    path("openapi.json", openapi, name="openapi"),
    *_mount_operations(),
    re_path("", not_found_view, name="nowhere"),
]
