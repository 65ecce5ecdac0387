"""Export of all data as one document, and import from memoryapp, ChatGPT, Claude or mem0."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated, Any, Literal

from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from ninja import File, Query, Router, Schema
from ninja.files import UploadedFile
from pydantic import Field

from chat.actions import importing
from chat.actions.export import export_json
from chat.actions.export_markdown import export_markdown
from chat.actions.importing import ImportOptions, ImportReport, uploads
from chat.actions.importing.report import describe_source
from chat.actions.quotas import count_import
from chat.api.problems import RETRY_HEADERS, FieldError, Problem, build_retry_headers
from chat.error_messages import describe
from chat.errors import BadFile, Busy, QuotaExceeded, Refused
from chat.views.responses import stream_download

from .common import ApiRequest, problem_responses

router = Router(tags=["export and import"])
_FORMATS: dict[str, tuple[Any, str, str]] = {
    "json": (export_json, "memoryapp.json", "application/json"),
    "markdown": (export_markdown, "memoryapp.md", "text/markdown; charset=utf-8"),
}
# Skipped entries that a response lists one by one.
_MOST_REFUSALS = 1000


class TallyOut(Schema):
    """Numbers of entries that are added, changed, present already, and skipped."""

    added: int
    changed: int
    there: int
    refused: int


class RefusalOut(Schema):
    """A skipped entry, and why it is skipped."""

    what: str
    why: str


class OutcomeOut(Schema):
    """What an import did, or would do."""

    dry_run: bool
    source: str = Field(description="memoryapp, chatgpt, claude or mem0")
    detail: str
    apps: TallyOut
    conversations: TallyOut
    messages: TallyOut
    facts: TallyOut
    app_memories: TallyOut
    settings: TallyOut
    refusals: list[RefusalOut]
    notes: list[str]
    persons: list[str] = Field(
        description="The people of the file; where there are several, choose one with `person`."
    )


_EXPORTED: dict[str, Any] = {
    "responses": {
        200: {
            "description": "The document.",
            "content": {
                "application/json": {"schema": {"type": "object"}},
                "text/markdown": {"schema": {"type": "string"}},
            },
        },
        422: {},
    }
}


@router.get("/export", openapi_extra=_EXPORTED)
def export_memory(request: ApiRequest, format: Literal["json", "markdown"] = "json") -> HttpResponseBase:
    """Export chats, facts with their history, apps and settings: JSON to import again, Markdown to read."""
    export_bytes, name, content_type = _FORMATS[format]
    return stream_download(request, export_bytes(request.auth), name, content_type)


@router.post("/import", response=OutcomeOut, openapi_extra=problem_responses(409, 413, 429))
def import_memory(
    request: ApiRequest,
    file: Annotated[UploadedFile, File(description="JSON, or a zip archive with it; 256 MB at most.")],
    dry_run: Annotated[bool, Query(description="Report what would happen, and change nothing.")] = False,
    learn: Annotated[bool, Query(description="Extract facts from the imported chats.")] = False,
    forgotten: Annotated[bool, Query(description="Also import facts that were deleted here.")] = False,
    person: Annotated[
        str, Query(max_length=200, description="Whose memories, where the file has several people's.")
    ] = "",
) -> OutcomeOut:
    """Import chats and memories from a file in one transaction; importing it again adds nothing."""
    options = ImportOptions(learn=learn, forgotten=forgotten, person=person)
    try:
        key = uploads.store_upload(request.auth, file.chunks(), file.size or 0)
    except Refused as reason:
        raise _problem(reason, "too-large") from reason
    try:
        with uploads.lock_upload(request.auth):
            path = uploads.find_upload(request.auth, key)
            work = importing.dry_run if dry_run else importing.import_file
            if path is None:
                raise Problem("conflict", _("Another file was sent meanwhile. Send one at a time."))
            with nullcontext() if dry_run else count_import(request.auth):
                return _build_outcome(work(request.auth, path, options), dry_run)
    except BadFile as fault:
        sentence = describe(fault)
        place = fault.where if isinstance(fault.where, str) else describe(fault.where)
        errors = [FieldError(loc=["body", "file", place], detail=sentence)]
        raise Problem("invalid", sentence, errors=errors) from fault
    except Refused as reason:
        # The handler of the API would read the body, which is consumed already.
        raise _problem(reason, "invalid") from reason
    finally:
        uploads.discard_upload(request.auth, key)


def _problem(reason: Refused, kind: str) -> Problem:
    if isinstance(reason, QuotaExceeded):
        return Problem("too-many", describe(reason), headers=build_retry_headers(reason))
    if isinstance(reason, Busy):
        return Problem("conflict", describe(reason), headers=RETRY_HEADERS)
    return Problem(kind, describe(reason))


def _build_outcome(outcome: ImportReport, dry_run: bool) -> OutcomeOut:
    return OutcomeOut(
        dry_run=dry_run,
        source=outcome.source,
        detail=describe_source(outcome.source),
        refusals=[RefusalOut(what=r.what, why=r.why) for r in outcome.refusals[:_MOST_REFUSALS]],
        notes=outcome.notes,
        persons=outcome.persons,
        **{
            name: TallyOut(added=tally.added, changed=tally.changed, there=tally.there, refused=tally.refused)
            for name, tally in outcome.tallies().items()
        },
    )
