"""What goes wrong around `/api` and `/v1`, before or behind their views, as programs read it."""

from __future__ import annotations

import sys
from typing import Any

from django.core.exceptions import DisallowedHost
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _
from django.views import defaults

from .problems import Problem, busy

_OPENAI, _REST = "/v1/", "/api/"
# What is here are pages.
_PAGES = (_REST, f"{_REST}docs")


def is_for_programs(request: HttpRequest) -> bool:
    """Return whether whoever asks at this address reads problems, and no pages."""
    return request.path_info.startswith((_OPENAI, _REST)) and request.path_info not in _PAGES


def told(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Return a problem in the words of the door that was asked at."""
    if not request.path_info.startswith(_OPENAI):
        return problem.response()
    # Its door looks at the models, which are not there yet when middleware is read.
    from .openai.answers import refused

    return refused(problem)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Answer what Django itself would not take; the handler of 400."""
    if not is_for_programs(request):
        return defaults.bad_request(request, exception)
    sentence = _("This request cannot be read, so nothing was changed.")
    if isinstance(exception, DisallowedHost):
        sentence = _("This host name is not one of memoryapp's own, so nothing was changed.")
    return told(request, Problem("malformed", sentence))


def server_error(request: HttpRequest) -> HttpResponseBase:
    """Answer where something broke outside of a view; the handler of 500. Django has logged it."""
    if not is_for_programs(request):
        return defaults.server_error(request)
    return told(request, of_error(sys.exc_info()[1]))


def of_error(error: Any) -> Problem:
    """Return the problem for what broke here: a database that another program holds is soon free again."""
    if isinstance(error, OperationalError) and "locked" in str(error):
        return busy()
    return Problem("broken", _("Something went wrong here. It is in the log."))
