"""The choice of the model on the settings page: tests a server, uses it, or returns to the local model."""

from __future__ import annotations

from typing import Any

from django.contrib import messages as notices
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRefresh

from chat.access import HtmxHttpRequest
from chat.actions import found_servers, provider
from chat.actions.own_model import preparation
from chat.error_messages import describe
from chat.errors import Refused
from chat.jobs.prompts import start_warming
from chat.later_response import respond_from_slow_thread
from chat.llm.model_status import shorten_model_name
from chat.llm.remote.protocol import Capabilities, ConstraintSupport
from memoryapp.base.provider import WINDOW_RANGE

from .responses import respond_with_error

_SERVER_FIELDS = ("url", "model", "key", "window")
# Session key of the values in the form of the model server, until the page is rendered again.
_SERVER_SESSION_KEY = "provider"


@require_POST
def choose_provider(request: HtmxHttpRequest) -> HttpResponse:
    """Use the posted server or found model, test a server, or go back to the model of this machine."""
    wish = request.POST.get("do", "use")
    typed = {name: request.POST.get(name, "") for name in _SERVER_FIELDS}
    drop = request.POST.get("drop_key") == "on"
    try:
        if wish == "test":
            if not request.htmx:
                # What it stores in the session must be there before the middleware saves it.
                return _test_server(request, typed, drop)
            tested: HttpResponse = respond_from_slow_thread(
                request, lambda: _test_server(request, typed, drop)
            )
            return tested
        if wish == "local":
            provider.choose_local(request.user, then=start_warming)
        elif wish == "stop":
            provider.stop_preparation(request.user)
        elif wish == "found":
            program, model = request.POST.get("program", ""), request.POST.get("found_model", "")
            found_servers.choose(request.user, program, model)
        else:
            provider.choose_server(request.user, **typed, drop_key=drop)
    except Refused as problem:
        _remember_typed(request, typed)
        return respond_with_error(request, problem, "settings")
    if not preparation.state.is_running:
        notices.success(request, _("Saved."))
    return HttpResponseClientRefresh() if request.htmx else redirect("settings")


@require_GET
def show_preparation(request: HtmxHttpRequest) -> HttpResponse:
    """Show how far the model of this machine is set up; without htmx redirect to the settings."""
    return render(request, "settings/_preparation.html") if request.htmx else redirect("settings")


@require_GET
def list_found_servers(request: HtmxHttpRequest) -> HttpResponse:
    """Show the models of other programs on this machine; for htmx only their list, empty without any."""

    def look() -> HttpResponse:
        port = request.get_port()
        found = found_servers.find_for(request.user, own_port=int(port) if port.isdecimal() else 0)
        template = "settings/_found_servers.html" if request.htmx else "settings/found_servers.html"
        return render(request, template, {"found": found})

    later: HttpResponse = respond_from_slow_thread(request, look)
    return later


def _test_server(request: HtmxHttpRequest, typed: dict[str, str], drop: bool) -> HttpResponse:
    try:
        found = provider.probe_server(request.user, **typed, drop_key=drop)
    except Refused as problem:
        if request.htmx:
            return _respond_test_result(request, [describe(problem)], works=False)
        _remember_typed(request, typed)
        return respond_with_error(request, problem, "settings")
    _remember_typed(request, typed)
    lines = [*describe_capabilities(found.found), *_describe_pool(found)]
    return _respond_test_result(request, lines, works=True)


def load_provider_context(request: HtmxHttpRequest) -> dict[str, Any]:
    """Return the context of the form, with unsaved input first; it never contains the key."""
    choice = provider.describe_chosen_server()
    return {
        "server": choice,
        "typed": request.session.pop(_SERVER_SESSION_KEY, None) or choice,
        "may_choose": provider.is_choice_allowed(request.user),
        "key_in_database": provider.is_choice_shared(),
        "windows": WINDOW_RANGE,
    }


def _remember_typed(request: HtmxHttpRequest, typed: dict[str, str]) -> None:
    """Keep the input of a plain form in the session for the page after the redirect; never the key."""
    if not request.htmx:
        request.session[_SERVER_SESSION_KEY] = {name: text for name, text in typed.items() if name != "key"}


def describe_capabilities(found: Capabilities) -> list[str]:
    """Return the capabilities that the probe found, one sentence each."""
    window = {"used": intcomma(found.window), "offered": intcomma(found.offered)}
    if not found.offered:
        size = _("It does not state its context window. %(used)s tokens are used.") % window
    elif found.offered > found.window:
        size = _("Its context window has %(offered)s tokens. %(used)s of them are used.") % window
    else:
        size = _("Its context window has %(used)s tokens.") % window
    forms = {
        ConstraintSupport.GRAMMAR: _("The server enforces the output formats that memory needs."),
        ConstraintSupport.PATTERN: _("The server enforces the output formats that memory needs."),
        ConstraintSupport.SCHEMA: _(
            "The server enforces some of the output formats that memory needs; memory checks the others."
        ),
        ConstraintSupport.NONE: _(
            "The server enforces no output format. Memory checks each answer and asks again once."
        ),
    }
    lines = [
        _("“%(name)s” answers.") % {"name": shorten_model_name(found.model)},
        size,
        forms[found.constraint],
        _("It counts tokens itself.")
        if found.counts_tokens
        else _("It does not count tokens. Four characters are counted as one."),
    ]
    if found.embeddings:
        lines.append(_("It offers embeddings too. Memory continues to compute them on this machine."))
    if found.can_reason:
        lines.append(_("The model can think before it replies. Each chat has a switch for that."))
    elif found.writes_reasoning:
        lines.append(_("The model thinks before it replies. The page shows that folded."))
    return lines


def _describe_pool(probed: provider.Probed) -> list[str]:
    """Return how many of several servers answer, and what is wrong with the others."""
    if probed.servers < 2:
        return []
    counts = {"working": probed.servers - len(probed.problems), "all": probed.servers}
    problems = [f"{host}: {describe(reason)}" for host, reason in probed.problems]
    return [_("%(working)s of %(all)s servers can be used.") % counts, *problems]


def _respond_test_result(request: HtmxHttpRequest, lines: list[str], *, works: bool) -> HttpResponse:
    if request.htmx:
        return render(request, "settings/_connection_test.html", {"lines": lines, "works": works})
    notices.success(request, " ".join(lines))
    return redirect("settings")
