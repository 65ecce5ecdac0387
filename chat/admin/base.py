"""The base class of read-only admin tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.http import HttpRequest

from chat.actions.owners import is_local

if TYPE_CHECKING:  # Django's admin classes are generic for the type checker only
    AnyAdmin = admin.ModelAdmin[Any]
    AnyInline = admin.TabularInline[Any, Any]
    AnyForm = forms.ModelForm[Any]
else:
    AnyAdmin, AnyInline, AnyForm = admin.ModelAdmin, admin.TabularInline, forms.ModelForm


# The `action_flag` of a log entry for a viewed page; Django uses 1 to 3 for additions, changes and deletions.
LOOKED = 4


def may_read_contents() -> bool:
    """Return whether the admin site shows what people have written: on their own machine, or where the
    operator has decided so.
    """
    return is_local() or bool(settings.ADMIN_READS_CHATS)


class ReadOnly(AnyAdmin):
    """A table that can be inspected and not changed: only actions write these rows.

    In server mode each view of a table with what people have written is logged in the admin site's log.
    """

    # Whether its rows hold what people have written, or what was made of it.
    holds_contents = True

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the rows may be seen."""
        if self.holds_contents and not may_read_contents():
            return False
        return bool(super().has_view_permission(request, obj))

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Return whether the table is listed."""
        if self.holds_contents and not may_read_contents():
            return False
        return bool(super().has_module_permission(request))

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Show the list of rows, and log on a server that the user has viewed it."""
        response = super().changelist_view(request, extra_context)
        if response.status_code == 200:
            self._record_look(request, "", "the list", request.GET.urlencode())
        return response

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> Any:
        """Show the page of one row, and log on a server that the user has viewed it."""
        response = super().change_view(request, object_id, form_url, extra_context)
        if response.status_code == 200:
            self._record_look(request, object_id, f"row {object_id}", "")
        return response

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        """Show the history of a row, and log on a server that the user has viewed it."""
        self._record_look(request, object_id, f"the history of row {object_id}", "")
        return super().history_view(request, object_id, extra_context)

    def _record_look(self, request: HttpRequest, key: str, what: str, query: str) -> None:
        if self.holds_contents:
            record_look(request, self.model, key, f"{what}{', filtered' if query else ''}")

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        """Return False: a row created here would have no history."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: a change made here would have no event in the history."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: the admin site would delete rows without undo, and leave traces of them elsewhere."""
        return False


def record_look(request: HttpRequest, model: Any, key: str, what: str) -> None:
    """Log in server mode that a member of the staff has viewed what people have written."""
    if is_local():
        return
    LogEntry.objects.create(
        user_id=int(request.user.pk or 0),
        content_type=ContentType.objects.get_for_model(model),
        object_id=key or None,
        # Neither a text nor a search for one.
        object_repr=f"{model._meta.verbose_name}: {what}"[:200],
        action_flag=LOOKED,
        change_message=f"Looked at {what}.",
    )


def shortened(text: str, most: int = 100) -> str:
    """Return the beginning of a text in one line of at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
