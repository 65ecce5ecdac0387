"""Apps: rooms of conversations that are made, changed, put away and brought back (seed 003)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.http import HttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from chat.actions import apps as actions
from chat.actions import guard, preferences
from chat.actions.idempotency import Made
from chat.models import App, Strategy

from .common import (
    Body,
    DeletionOut,
    Flag,
    IdempotencyKey,
    IfMatch,
    Limit,
    Offset,
    Page,
    Request,
    app_or_404,
    create,
    deletion_out,
    located,
    page,
    pending,
    responses,
    seen,
    still_there,
    tagged,
)

router = Router(tags=["apps"])


class AppOut(Schema):
    """A room of conversations; `app_id` is its slug, which never changes. `persona` "" is the default one."""

    id: UUID
    app_id: str
    name: str
    persona: str
    strategy: Strategy
    created_at: datetime
    archived_at: datetime | None
    etag: str = Field(description="Send it as `If-Match` to change what you have read.")


class AppIn(Body):
    """An app to make."""

    name: str = Field(min_length=1, max_length=actions.LONGEST_NAME)
    persona: str = Field(default="", max_length=preferences.MAX_PERSONA)
    strategy: Strategy = Strategy.HYBRID


class AppPatch(Body):
    """What is to change; what is left out stays."""

    name: str | None = Field(default=None, min_length=1, max_length=actions.LONGEST_NAME)
    persona: str | None = Field(default=None, max_length=preferences.MAX_PERSONA)
    strategy: Strategy | None = None


class ArchiveIn(Body):
    """Whether what the app remembers is forgotten, too."""

    purge: Flag = False


class ArchivedOut(Schema):
    """The app, and how to take back the forgetting of its memories where there was any."""

    app: AppOut
    deletion: DeletionOut | None


def app_mark(app: App) -> str:
    """Return what changes with everything of an app that can be edited."""
    return guard.mark(app.pk, app.name, app.persona, app.strategy, app.archived_at)


def app_out(app: App) -> AppOut:
    """Tell an app."""
    return AppOut(
        id=app.pk,
        app_id=app.slug,
        name=str(app),
        persona=app.persona,
        strategy=Strategy(app.strategy),
        created_at=app.created_at,
        archived_at=app.archived_at,
        etag=app_mark(app),
    )


@router.get("", response=Page[AppOut])
def list_apps(
    request: Request,
    archived: Annotated[bool, Query(description="Those that were put away instead.")] = False,
    limit: Limit = 20,
    offset: Offset = 0,
) -> Page[AppOut]:
    """List the apps, the oldest first."""
    rows = App.objects.for_owner(request.auth).filter(archived_at__isnull=not archived)
    return page(request, rows.order_by("created_at", "pk"), app_out, limit, offset)


@router.post("", response={201: AppOut}, openapi_extra=responses(410))
def make_app(
    request: Request, response: HttpResponse, body: AppIn, idempotency_key: IdempotencyKey = None
) -> AppOut:
    """Make an app; its `app_id` is made from its name."""

    def make() -> Made:
        made = actions.create(request.auth, body.name)
        preferences.set_persona(made, body.persona)
        preferences.set_app_strategy(made, body.strategy)
        return Made([str(made.pk)])

    made = create(request, response, idempotency_key, make)
    app = still_there(App.objects.for_owner(request.auth).filter(pk__in=made.ids))
    located(response, "get_app", app.slug)
    tagged(response, app_mark(app))
    return app_out(app)


@router.get("/{app_id}", response=AppOut)
def get_app(request: Request, response: HttpResponse, app_id: str) -> AppOut:
    """Tell one app, by its slug or id."""
    app = app_or_404(request, app_id)
    tagged(response, app_mark(app))
    return app_out(app)


@router.patch("/{app_id}", response=AppOut, openapi_extra=responses(412))
def edit_app(
    request: Request, response: HttpResponse, app_id: str, body: AppPatch, if_match: IfMatch = None
) -> AppOut:
    """Change an app's name, persona or strategy."""
    verbs: dict[str, Callable[[App, str], None]] = {
        "name": actions.rename,
        "persona": preferences.set_persona,
        "strategy": preferences.set_app_strategy,
    }
    read = lambda: app_or_404(request, app_id)  # noqa: E731
    with guard.unchanged(request.auth, read, app_mark, seen(if_match)) as app:
        for name, value in body.model_dump(exclude_none=True).items():
            verbs[name](app, value)
    return get_app(request, response, app_id)


@router.post("/{app_id}/archive", response=ArchivedOut, openapi_extra=responses(409))
def archive_app(request: Request, app_id: str, body: ArchiveIn) -> ArchivedOut:
    """Put an app away ("uninstall"): its conversations and memories stay, unless they are purged.

    Where those are on their way already the same deletion is told.
    """
    app = app_or_404(request, app_id)
    gone = actions.archive(app, purge=body.purge)
    if gone is None and body.purge:
        gone = pending(request, app=app)
    return ArchivedOut(
        app=app_out(app_or_404(request, app_id)), deletion=deletion_out(gone) if gone else None
    )


@router.post("/{app_id}/bring-back", response=AppOut)
def bring_back_app(request: Request, response: HttpResponse, app_id: str) -> AppOut:
    """Let an app that was put away stand in the lists again."""
    actions.bring_back(app_or_404(request, app_id))
    return get_app(request, response, app_id)
