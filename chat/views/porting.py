"""Everything out into a file, and in from one: a dry run first, which says what would happen (design §9)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from chat.actions import importing
from chat.actions.export import export as export_json
from chat.actions.export_markdown import export_markdown
from chat.actions.importing import Options, Outcome, uploads
from chat.actions.importing.words import rows_of, title_of
from chat.actions.messages import Busy, Refused
from chat.porting.problems import BadFile

from .answers import refused
from .downloads import download
from .scope import HtmxHttpRequest

_FORMATS = {
    "json": (export_json, "json", "application/json"),
    "markdown": (export_markdown, "md", "text/markdown; charset=utf-8"),
}
# Of what is not taken a page tells so many one by one.
_MOST_REFUSALS = 50


@require_POST
def export(request: HtmxHttpRequest) -> HttpResponseBase:
    """Send all that is kept of whoever asks, as JSON or as Markdown."""
    made, ending, content_type = _FORMATS.get(request.POST.get("format", ""), _FORMATS["json"])
    name = f"memoryapp-{timezone.localdate().isoformat()}.{ending}"
    return download(request, made(request.user), name, content_type)


@require_POST
def upload(request: HtmxHttpRequest) -> HttpResponse:
    """Keep a file that is to be imported, and lead to its dry run."""
    file: Any = request.FILES.get("file")
    if file is None:
        return _back(request, _("Choose a file first."))
    try:
        key = uploads.keep(request.user, file.chunks(), file.size)
    except Refused as problem:
        return _back(request, str(problem))
    return redirect("import", pk=key)


@require_http_methods(["GET", "POST"])
def import_file(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show what an import would do, and on POST do it, or throw the file away."""
    try:
        with uploads.reading(request.user):
            return _import_file(request, pk)
    except Busy as problem:
        return _back(request, str(problem))


def _import_file(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    path = uploads.path_of(request.user, pk)
    if path is None:
        # Imported, thrown away, too old, or another's.
        raise Http404(_("This file is not here any more. Choose it again."))
    if request.POST.get("do") == "cancel":
        uploads.discard(request.user, pk)
        return redirect("settings")
    chosen = Options(
        learn=bool(request.POST.get("learn")),
        forgotten=bool(request.POST.get("forgotten")),
        person=request.POST.get("person", ""),
    )
    try:
        if request.POST.get("do") == "import":
            outcome = importing.carry_out(request.user, path, chosen)
            uploads.discard(request.user, pk)
            return _page(request, pk, outcome, chosen, done=True)
        return _page(request, pk, importing.dry_run(request.user, path, chosen), chosen)
    except BadFile as problem:
        uploads.discard(request.user, pk)
        return render(request, "settings/import.html", {"problem": problem}, status=422)
    except Refused as problem:
        return refused(request, str(problem), 409, reverse("import", args=[pk]))


def _page(
    request: HtmxHttpRequest, pk: UUID, outcome: Outcome, chosen: Options, *, done: bool = False
) -> HttpResponse:
    return render(
        request,
        "settings/import.html",
        {
            "key": pk,
            "outcome": outcome,
            "chosen": chosen,
            "done": done,
            "source": title_of(outcome.source),
            "rows": rows_of(outcome),
            "refusals": outcome.refusals[:_MOST_REFUSALS],
            "more": max(0, len(outcome.refusals) - _MOST_REFUSALS),
        },
    )


def _back(request: HtmxHttpRequest, sentence: str) -> HttpResponse:
    # With this status htmx leaves the page as it is.
    return refused(request, sentence, 409, "settings")
