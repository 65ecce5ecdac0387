"""Answers the health checks of containers and proxies before all rules for people."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from chat.actions.owners import is_local
from chat.views import health

GetResponse = Callable[[HttpRequest], HttpResponse]
_VIEWS: dict[str, GetResponse] = {"/live": health.live, "/ready": health.ready}


class HealthChecks:
    """Answer `/live` and `/ready` without session, login and redirect to HTTPS; in server mode by any name.

    Who runs a container asks it by its address. The responses contain nothing of a request. In local mode the
    name is compared as always.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        view = _VIEWS.get(request.path_info)
        if view is None:
            return self.get_response(request)
        if is_local():
            request.get_host()
        return view(request)
