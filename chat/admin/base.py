"""The base class of read-only admin tables."""

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
    """A table that can be inspected and not changed: only actions write these rows."""

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        """Return False: a row created here would have no history."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: a change made here would have no event in the history."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: the admin site would delete rows without undo, and leave traces of them elsewhere."""
        return False


def shortened(text: str, most: int = 100) -> str:
    """Return the beginning of a text in one line of at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
