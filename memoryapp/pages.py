"""Leads a browser to a page where the address it asked for is none: a fragment, or what only takes a form."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django_htmx.http import HttpResponseClientRedirect

from chat.api import outside

from .middleware import GetResponse, same_origin


class LoginForPages:
    """Lead to the login, and back from there to the page: not to a fragment, nor to what takes a form."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        login = resolve_url(settings.LOGIN_URL)
        fragment = request.headers.get("HX-Request") == "true"
        if (not fragment and request.method in ("GET", "HEAD")) or not (
            response.get("Location", "").startswith(login)
        ):
            return response
        page = request.headers.get("HX-Current-URL" if fragment else "Referer", "")
        address = f"{login}?{urlencode({'next': _path(page, request) or '/'})}"
        return HttpResponseClientRedirect(address) if fragment else HttpResponseRedirect(address)


class PageForNotAllowed:
    """Show a page at an address that only takes a form, where a browser would show an error of its own."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        silent = response.status_code == 405 and not response.streaming and not response.content
        if not silent or request.headers.get("HX-Request") == "true" or outside.is_for_programs(request):
            return response
        page = render(request, "405.html", status=405)
        page["Allow"] = response["Allow"]
        return page


def _path(page: str, request: HttpRequest) -> str:
    """Return the path of a page of ours; "" of another site's, and where none is named."""
    split = urlsplit(page)
    if not same_origin(f"{split.scheme}://{split.netloc}", request.scheme or "", request.get_host()):
        return ""
    return split.path
