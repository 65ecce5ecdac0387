"""What the tables of the admin site share: they are looked at, never changed by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

if TYPE_CHECKING:  # Django's admin classes are generic for the type checker only
    AnyAdmin = admin.ModelAdmin[Any]
    AnyInline = admin.TabularInline[Any, Any]
    AnyForm = forms.ModelForm[Any]
else:
    AnyAdmin, AnyInline, AnyForm = admin.ModelAdmin, admin.TabularInline, forms.ModelForm


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


def shortened(text: str, most: int = 100) -> str:
    """Return the beginning of a text in one line, for a column."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
