"""The template context of every page: sidebar, number of facts, model, pending deletions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, Min
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from chat.access import is_admin
from chat.actions.deletion_batch import UNDO_GRACE
from chat.actions.own_model import preparation
from chat.error_messages import describe
from chat.llm.model_status import ModelState
from chat.llm.registry import registry
from chat.models import App, Conversation, Deletion, Fact, Theme, User

from .deletions import describe_deletion
from .statistics import load_energy_gauge

_MAX_SIDEBAR_CONVERSATIONS = 200
# Reasons of a missing model that setting it up removes.
_SET_UP_HELPS = {"no-engine", "weights-missing"}


@dataclass(frozen=True, slots=True)
class ThemeChoice:
    """The theme in force, its icon and label, and the value of the theme after it."""

    value: str
    icon: str
    label: Any
    next: str


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """The model as the header shows it; `command` is what mends a missing model."""

    name: str
    label: str
    state: str
    sentence: str
    command: str
    remote: bool
    host: str
    can_be_set_up: bool


def page_context(request: HttpRequest) -> dict[str, Any]:
    """Context processor. Values that need a query are lazy: they run where a template uses them."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated or request.path_info.startswith("/admin/"):
        signup_open = settings.SIGNUP == "approval" and not settings.OIDC_ONLY
        return {"mode": settings.MODE, "signup_open": settings.MODE == "server" and signup_open}
    # The machine is shown only to people who have access to it.
    sees_machine = settings.MODE == "local" or user.is_staff
    return {
        "sidebar": SimpleLazyObject(lambda: load_sidebar(user)),
        "memory_count": SimpleLazyObject(lambda: Fact.objects.for_owner(user).live().count()),
        "gauge": SimpleLazyObject(lambda: load_energy_gauge(user)),
        "model": describe_model() if sees_machine else describe_model_for_member(),
        # The state of the background job that compiles the engine and downloads the weights.
        "preparation": preparation.state if sees_machine else None,
        "finds_servers": settings.FIND_MODEL_SERVERS and settings.MODE == "local",
        "data_dir": str(settings.DATA_DIR) if sees_machine else "",
        "old_chats": SimpleLazyObject(lambda: describe_old_chats(user)),
        "pending_deletions": SimpleLazyObject(lambda: list_pending_deletions(user)),
        "mode": settings.MODE,
        "is_admin": is_admin(user),
        "theme": describe_theme(request.preferences.theme),  # type: ignore[attr-defined]
    }


def describe_theme(theme: str) -> ThemeChoice:
    """Return the theme of the page, and the one that the theme button switches to."""
    themes = list(Theme)
    current = Theme(theme)
    following = themes[(themes.index(current) + 1) % len(themes)]
    return ThemeChoice(current.value, current.name.lower(), current.label, following.value)


def load_sidebar(user: User) -> list[tuple[App, list[Conversation]]]:
    """Return the active apps with their newest conversations, pinned ones first; two queries."""
    by_app: dict[Any, tuple[App, list[Conversation]]] = {
        app.pk: (app, []) for app in App.objects.for_owner(user).active()
    }
    listed = Conversation.objects.for_owner(user).listed().filter(app__archived_at__isnull=True)
    newest = listed.order_by("-pinned", "-updated_at", "-created_at")
    for conversation in newest[:_MAX_SIDEBAR_CONVERSATIONS]:
        by_app[conversation.app_id][1].append(conversation)
    return list(by_app.values())


def describe_model() -> ModelSummary:
    """Return name and state of the model; `sentence` says in words why it is not ready."""
    status = registry.status()
    return ModelSummary(
        name=status.name,
        label=status.label,
        state=status.state.value,
        sentence=describe(status.reason) if status.reason else "",
        command=status.command,
        remote=status.remote,
        host=status.host,
        can_be_set_up=status.reason is not None and status.reason.code in _SET_UP_HELPS,
    )


def describe_model_for_member() -> ModelSummary:
    """Return name and state of the model for somebody who cannot mend it: without files and commands."""
    model = describe_model()
    if model.state not in (ModelState.MISSING, ModelState.FAILED):
        return replace(model, command="")
    sentence = _(
        "The model cannot be used now. The people who run this server can see why. You can still read."
    )
    return replace(model, sentence=sentence, command="")


@dataclass(frozen=True, slots=True)
class OldChats:
    """Chats that are deleted by age, and when; they can be shown again until then."""

    count: int
    until: datetime


def describe_old_chats(user: User) -> OldChats | None:
    """Return how many chats wait to be deleted by age, and the first moment; None without any. One query."""
    waiting = Deletion.objects.for_owner(user).pending().filter(by_age=True, expires_at__gt=timezone.now())
    found = waiting.order_by().aggregate(count=Count("conversations"), until=Min("expires_at"))
    return OldChats(found["count"], found["until"]) if found["count"] else None


def list_pending_deletions(user: User) -> list[dict[str, Any]]:
    """Return the toasts of all deletions that can still be undone, for a page that was just opened."""
    now = timezone.now()
    rows = (
        Deletion.objects.for_owner(user)
        .pending()
        .filter(expires_at__gt=now - UNDO_GRACE)
        # What a message asked to forget is told below its reply, and old chats below the list of chats.
        .filter(message=None, by_age=False)
        .prefetch_related("facts", "conversations", "app_memories")
    )
    batches = [(row, list(row.facts.all()), next(iter(row.conversations.all()), None)) for row in rows]
    return [
        describe_deletion(row, facts, now, None if row.whole else chat)
        for row, facts, chat in batches
        if facts or chat or row.whole or row.app_memories.all()
    ]
