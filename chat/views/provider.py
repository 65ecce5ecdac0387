"""Where the model runs: choosing a server in the settings, and telling what the test of one found."""

from __future__ import annotations

from typing import Any

from django.contrib import messages as notices
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRefresh

from chat.actions import provider
from chat.actions.messages import Refused
from chat.jobs.warm import warm_prompts
from chat.llm.remote.capabilities import Binding, Capabilities
from chat.llm.state import short_name
from memoryapp.provider import WINDOW_RANGE

from .answers import refused
from .scope import HtmxHttpRequest
from .spoken import said

_FIELDS = ("url", "model", "key", "window")
# In the session, until the page is shown again; its name is the form's.
_TYPED = "provider"


@require_POST
def choose(request: HtmxHttpRequest) -> HttpResponse:
    """Use the server that is posted, try it, or go back to the model on this machine."""
    wish = request.POST.get("do", "use")
    typed = {name: request.POST.get(name, "") for name in _FIELDS}
    drop = request.POST.get("drop_key") == "on"
    try:
        if wish == "test":
            found = provider.try_out(request.user, **typed, drop_key=drop)
            _keep_typed(request, typed)
            return _told(request, told(found), works=True)
        if wish == "local":
            provider.choose_local(request.user)
            warm_prompts()
        else:
            provider.choose_server(request.user, **typed, drop_key=drop)
    except Refused as problem:
        if wish == "test" and request.htmx:
            return _told(request, [said(str(problem))], works=False)
        _keep_typed(request, typed)
        return refused(request, said(str(problem)), 422, "settings")
    notices.success(request, _("Saved."))
    return HttpResponseClientRefresh() if request.htmx else redirect("settings")


def form(request: HtmxHttpRequest) -> dict[str, Any]:
    """Return what the form of the settings page shows, what was typed first; no key is among it."""
    choice = provider.current()
    return {
        "server": choice,
        "typed": request.session.pop(_TYPED, None) or choice,
        "may_choose": provider.may_choose(request.user),
        "windows": WINDOW_RANGE,
    }


def _keep_typed(request: HtmxHttpRequest, typed: dict[str, str]) -> None:
    """Keep what a form without a script would lose, for the page that tells what came of it."""
    if not request.htmx:
        request.session[_TYPED] = {name: text for name, text in typed.items() if name != "key"}


def told(found: Capabilities) -> list[str]:
    """Return what the probe found, a sentence a thing."""
    window = {"used": intcomma(found.window), "offered": intcomma(found.offered)}
    if not found.offered:
        size = _("It does not say how much it reads at once. %(used)s tokens are used.") % window
    elif found.offered > found.window:
        size = _("It reads up to %(offered)s tokens at once. %(used)s of them are used.") % window
    else:
        size = _("It reads %(used)s tokens at once.") % window
    forms = {
        Binding.GRAMMAR: _("Memory's notes are held to their form by the server."),
        Binding.PATTERN: _("Memory's notes are held to their form by the server."),
        Binding.SCHEMA: _("The server holds some of memory's notes to their form; the others are checked."),
        Binding.NONE: _("The server holds no answer to a form. Memory checks each and asks again once."),
    }
    lines = [
        _("“%(name)s” answers.") % {"name": short_name(found.model)},
        size,
        forms[found.binding],
        _("It counts tokens itself.")
        if found.counts
        else _("It does not count tokens. Four characters are taken for one."),
    ]
    if found.embeddings:
        lines.append(_("It could compare texts too. Memory goes on doing that on this machine."))
    if found.thinks:
        lines.append(_("It thinks aloud before it answers. Its thoughts are left out of replies."))
    return lines


def _told(request: HtmxHttpRequest, lines: list[str], *, works: bool) -> HttpResponse:
    if request.htmx:
        return render(request, "settings/_found.html", {"lines": lines, "works": works})
    notices.success(request, " ".join(lines))
    return redirect("settings")
