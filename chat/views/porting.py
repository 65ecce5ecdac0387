"""Export to a file, and import from one; an import shows a dry run first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from chat.access import HtmxHttpRequest
from chat.actions import importing
from chat.actions.export import export_json
from chat.actions.export_encryption import can_encrypt_exports, encrypt_export
from chat.actions.export_markdown import export_markdown
from chat.actions.importing import ImportOptions, ImportReport, uploads
from chat.actions.importing.report import describe_source, list_report_rows
from chat.actions.quotas import check_imports, count_import
from chat.error_messages import describe
from chat.errors import BadFile, Busy, Overloaded, Refused

from .responses import respond_with_error, stream_download

_FORMATS = {
    "json": (export_json, "json", "application/json"),
    "markdown": (export_markdown, "md", "text/markdown; charset=utf-8"),
}
# Skipped entries that the page lists one by one.
_MAX_SHOWN_REFUSALS = 50


@require_POST
def export_data(request: HtmxHttpRequest) -> HttpResponseBase:
    """Send all data of the user as JSON or Markdown."""
    made, ending, content_type = _FORMATS.get(request.POST.get("format", ""), _FORMATS["json"])
    name = f"memoryapp-{timezone.localdate().isoformat()}.{ending}"
    content = made(request.user)
    if request.POST.get("encrypted") and can_encrypt_exports():
        content, name, content_type = encrypt_export(content), f"{name}.age", "application/octet-stream"
    try:
        return stream_download(request, content, name, content_type)
    except Overloaded as problem:
        return respond_with_error(request, problem, "settings")


@require_POST
def upload_import(request: HtmxHttpRequest) -> HttpResponse:
    """Store an uploaded file and redirect to its dry run."""
    file: Any = request.FILES.get("file")
    if file is None:
        return respond_with_error(request, Refused("no-file-chosen"), "settings")
    try:
        check_imports(request.user)
        key = uploads.store_upload(request.user, file.chunks(), file.size)
    except Refused as problem:
        return respond_with_error(request, problem, "settings")
    return redirect("import_file", pk=key)


@require_http_methods(["GET", "POST"])
def import_file(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show what an import would do; on POST carry it out or discard the file."""
    try:
        with uploads.lock_upload(request.user):
            return _import_file(request, pk)
    except Busy as problem:
        return respond_with_error(request, problem, "settings")


def _import_file(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    path = uploads.find_upload(request.user, pk)
    if path is None:
        # Imported already, discarded, expired, or another user's.
        raise Http404(_("This file is not here any more. Choose it again."))
    if request.POST.get("do") == "cancel":
        uploads.discard_upload(request.user, pk)
        return redirect("settings")
    chosen = ImportOptions(
        learn=bool(request.POST.get("learn")),
        forgotten=bool(request.POST.get("forgotten")),
        near=frozenset(_parse_ids(request.POST.getlist("near"))),
        person=request.POST.get("person", ""),
    )
    try:
        if request.POST.get("do") == "import":
            with count_import(request.user):
                outcome = importing.import_file(request.user, path, chosen)
            uploads.discard_upload(request.user, pk)
            return _render_report(request, pk, outcome, chosen, done=True)
        return _render_report(request, pk, importing.dry_run(request.user, path, chosen), chosen)
    except BadFile as problem:
        uploads.discard_upload(request.user, pk)
        return render(request, "settings/import.html", {"problem": describe(problem)}, status=422)
    except Refused as problem:
        return respond_with_error(request, problem, reverse("import_file", args=[pk]))


def _parse_ids(values: list[str]) -> Iterator[UUID]:
    for value in values:
        with suppress(ValueError):
            yield UUID(value)


def _render_report(
    request: HtmxHttpRequest, pk: UUID, outcome: ImportReport, chosen: ImportOptions, *, done: bool = False
) -> HttpResponse:
    return render(
        request,
        "settings/import.html",
        {
            "key": pk,
            "outcome": outcome,
            "chosen": chosen,
            "done": done,
            "source": describe_source(outcome.source),
            "rows": list_report_rows(outcome),
            "refusals": outcome.refusals[:_MAX_SHOWN_REFUSALS],
            "more": max(0, len(outcome.refusals) - _MAX_SHOWN_REFUSALS),
        },
    )
