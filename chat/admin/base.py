"""What the tables of the admin site share: they are looked at, never changed by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest

if TYPE_CHECKING:  # Django's admin classes are generic for the type checker only
    AnyAdmin = admin.ModelAdmin[Any]
    AnyInline = admin.TabularInline[Any, Any]
else:
    AnyAdmin, AnyInline = admin.ModelAdmin, admin.TabularInline


class ReadOnly(AnyAdmin):
    """Rows that only actions may write: looked at, never changed by hand."""

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        """Refuse: a row made here would lack its history."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: a change made here would lack its event."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: the panel forgets with undo and without traces."""
        return False
