"""Everything out in one document, and in from one of ours, of ChatGPT, Claude or mem0."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from ninja import File, Query, Router, Schema
from ninja.files import UploadedFile
from pydantic import Field

from chat.actions import importing
from chat.actions.export import export
from chat.actions.export_markdown import export_markdown
from chat.actions.importing import Options, Outcome, uploads
from chat.actions.importing.words import title_of
from chat.actions.messages import Busy, Refused
from chat.api.problems import COME_AGAIN, FieldError, Problem
from chat.porting.problems import BadFile
from chat.views.downloads import download

from .common import Request, responses

router = Router(tags=["export and import"])
_FORMATS: dict[str, tuple[Any, str, str]] = {
    "json": (export, "memoryapp.json", "application/json"),
    "markdown": (export_markdown, "memoryapp.md", "text/markdown; charset=utf-8"),
}
# What is not taken is told one by one up to here.
_MOST_REFUSALS = 1000


class TallyOut(Schema):
    """How many are added, changed, there already, and not taken."""

    added: int
    changed: int
    there: int
    refused: int


class RefusalOut(Schema):
    """Something that is not taken, and why."""

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
    persons: list[str] = Field(description="Among whom to choose one with `person`, where there are several.")


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
def export_memory(request: Request, format: Literal["json", "markdown"] = "json") -> HttpResponseBase:
    """Send chats, memories with their history, apps and settings: JSON to import again, Markdown to read."""
    made, name, content_type = _FORMATS[format]
    return download(request, made(request.auth), name, content_type)


@router.post("/import", response=OutcomeOut, openapi_extra=responses(409, 413))
def import_memory(
    request: Request,
    file: Annotated[UploadedFile, File(description="JSON, or a zip archive with it; 256 MB at most.")],
    dry_run: Annotated[bool, Query(description="Say what would happen, and change nothing.")] = False,
    learn: Annotated[bool, Query(description="Have memory read the chats that come in.")] = False,
    forgotten: Annotated[bool, Query(description="Bring back what was forgotten here too.")] = False,
    person: Annotated[
        str, Query(max_length=200, description="Whose memories, where the file has several people's.")
    ] = "",
) -> OutcomeOut:
    """Take chats and memories in from a file, whole or not at all; the same file again adds nothing."""
    options = Options(learn=learn, forgotten=forgotten, person=person)
    try:
        key = uploads.keep(request.auth, file.chunks(), file.size or 0)
    except Refused as reason:
        raise _problem(reason, "too-large") from reason
    try:
        with uploads.reading(request.auth):
            path = uploads.path_of(request.auth, key)
            work = importing.dry_run if dry_run else importing.carry_out
            if path is None:
                raise Problem("conflict", _("Another file was sent meanwhile. Send one at a time."))
            return _out(work(request.auth, path, options), dry_run)
    except BadFile as fault:
        raise Problem(
            "invalid", str(fault), errors=[FieldError(loc=["body", "file", fault.where], detail=str(fault))]
        ) from fault
    except Refused as reason:
        # The file was read already, so the API's own handler could not look at the body again.
        raise _problem(reason, "invalid") from reason
    finally:
        uploads.discard(request.auth, key)


def _problem(reason: Refused, kind: str) -> Problem:
    if isinstance(reason, Busy):
        return Problem("conflict", str(reason), headers=COME_AGAIN)
    return Problem(kind, str(reason))


def _out(outcome: Outcome, dry_run: bool) -> OutcomeOut:
    return OutcomeOut(
        dry_run=dry_run,
        source=outcome.source,
        detail=title_of(outcome.source),
        refusals=[RefusalOut(what=r.what, why=r.why) for r in outcome.refusals[:_MOST_REFUSALS]],
        notes=outcome.notes,
        persons=outcome.persons,
        **{
            name: TallyOut(added=tally.added, changed=tally.changed, there=tally.there, refused=tally.refused)
            for name, tally in outcome.tallies().items()
        },
    )
