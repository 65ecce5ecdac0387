"""Apps: list, create, edit, archive and restore."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.http import HttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from chat.actions import apps as actions
from chat.actions import optimistic_lock
from chat.actions.idempotency import CreatedObjects
from chat.models import App, Strategy

from .common import (
    ApiRequest,
    Body,
    Flag,
    IdempotencyKey,
    IfMatch,
    Limit,
    Offset,
    Page,
    create_once,
    find_app,
    paginate,
    parse_if_match,
    problem_responses,
    require_row,
    set_etag,
    set_location,
)
from .deletions import DeletionOut, build_deletion, find_pending_deletion

router = Router(tags=["apps"])


class AppOut(Schema):
    """An app; `app_id` is its slug, which never changes. `persona` "" stands for the default persona."""

    id: UUID
    app_id: str
    name: str
    persona: str
    strategy: Strategy
    created_at: datetime
    archived_at: datetime | None
    etag: str = Field(description="Send it as `If-Match` to change what you have read.")


class AppIn(Body):
    """A new app."""

    name: str = Field(min_length=1, max_length=actions.LONGEST_NAME)
    persona: str = Field(default="", max_length=actions.MAX_PERSONA)
    strategy: Strategy = Strategy.HYBRID


class AppPatch(Body):
    """The members to change; the others stay."""

    name: str | None = Field(default=None, min_length=1, max_length=actions.LONGEST_NAME)
    persona: str | None = Field(default=None, max_length=actions.MAX_PERSONA)
    strategy: Strategy | None = None


class ArchiveIn(Body):
    """Whether the memories of the app are deleted too."""

    purge: Flag = False


class ArchivedOut(Schema):
    """The app, and the deletion of its memories where there was one."""

    app: AppOut
    deletion: DeletionOut | None


def app_etag(app: App) -> str:
    """Return the etag of an app; it changes with every editable member."""
    return optimistic_lock.fingerprint(app.pk, app.name, app.persona, app.strategy, app.archived_at)


def build_app(app: App) -> AppOut:
    """Return an app as clients see it."""
    return AppOut(
        id=app.pk,
        app_id=app.slug,
        name=str(app),
        persona=app.persona,
        strategy=Strategy(app.strategy),
        created_at=app.created_at,
        archived_at=app.archived_at,
        etag=app_etag(app),
    )


@router.get("", response=Page[AppOut])
def list_apps(
    request: ApiRequest,
    archived: Annotated[bool, Query(description="List archived apps instead.")] = False,
    limit: Limit = 20,
    offset: Offset = 0,
) -> Page[AppOut]:
    """List the apps, the oldest first."""
    rows = App.objects.for_owner(request.auth).filter(archived_at__isnull=not archived)
    return paginate(request, rows.order_by("created_at", "pk"), build_app, limit, offset)


@router.post("", response={201: AppOut}, openapi_extra=problem_responses(410))
def make_app(
    request: ApiRequest, response: HttpResponse, body: AppIn, idempotency_key: IdempotencyKey = None
) -> AppOut:
    """Create an app; its `app_id` is derived from its name."""

    def make() -> CreatedObjects:
        made = actions.create_app(request.auth, body.name)
        actions.set_persona(made, body.persona)
        actions.set_app_strategy(made, body.strategy)
        return CreatedObjects([str(made.pk)])

    made = create_once(request, response, idempotency_key, make)
    app = require_row(App.objects.for_owner(request.auth).filter(pk__in=made.ids))
    set_location(response, "get_app", app.slug)
    set_etag(response, app_etag(app))
    return build_app(app)


@router.get("/{app_id}", response=AppOut)
def get_app(request: ApiRequest, response: HttpResponse, app_id: str) -> AppOut:
    """Return one app, by its slug or id."""
    app = find_app(request, app_id)
    set_etag(response, app_etag(app))
    return build_app(app)


@router.patch("/{app_id}", response=AppOut, openapi_extra=problem_responses(412))
def edit_app(
    request: ApiRequest, response: HttpResponse, app_id: str, body: AppPatch, if_match: IfMatch = None
) -> AppOut:
    """Change an app's name, persona or strategy."""
    setters: dict[str, Callable[[App, str], None]] = {
        "name": actions.rename_app,
        "persona": actions.set_persona,
        "strategy": actions.set_app_strategy,
    }
    read = lambda: find_app(request, app_id)  # noqa: E731
    with optimistic_lock.lock_if_unchanged(request.auth, read, app_etag, parse_if_match(if_match)) as app:
        for name, value in body.model_dump(exclude_none=True).items():
            setters[name](app, value)
    return get_app(request, response, app_id)


@router.post("/{app_id}/archive", response=ArchivedOut, openapi_extra=problem_responses(409))
def archive_app(request: ApiRequest, app_id: str, body: ArchiveIn) -> ArchivedOut:
    """Archive an app; its conversations stay, and its memories unless they are purged.

    Where the memories are being deleted already, it returns that deletion.
    """
    app = find_app(request, app_id)
    deletion = actions.archive_app(app, purge=body.purge)
    if deletion is None and body.purge:
        deletion = find_pending_deletion(request, app=app)
    return ArchivedOut(
        app=build_app(find_app(request, app_id)), deletion=build_deletion(deletion) if deletion else None
    )


@router.post("/{app_id}/bring-back", response=AppOut)
def bring_back_app(request: ApiRequest, response: HttpResponse, app_id: str) -> AppOut:
    """Restore an archived app to the lists."""
    actions.unarchive_app(find_app(request, app_id))
    return get_app(request, response, app_id)
