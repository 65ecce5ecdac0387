"""What belongs to a person as a whole: settings, tokens, deletions; and their export."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase

from chat.actions.export import export
from chat.actions.owners import LOCAL_NAME, welcome
from chat.actions.preferences import LOOK_AFTER_RANGE, PRUNE_AFTER, zones
from chat.models import ApiToken, Deletion, IdempotentRequest, OwnerSettings, Tombstone
from chat.views.downloads import download

from .base import AnyAdmin, AnyForm, ReadOnly


class SettingsForm(AnyForm):
    """Settings as the page of settings takes them, so that nothing else comes in here."""

    language = forms.ChoiceField(required=False, choices=[("", "as the browser asks"), *settings.LANGUAGES])
    look_after = forms.IntegerField(min_value=LOOK_AFTER_RANGE[0], max_value=LOOK_AFTER_RANGE[1])
    prune_after = forms.TypedChoiceField(
        coerce=int, choices=[(days, days or "never") for days in PRUNE_AFTER]
    )

    def clean_time_zone(self) -> str:
        """Take the name of a zone that this machine knows, or none."""
        zone = str(self.cleaned_data["time_zone"])
        if zone and zone not in zones():
            raise forms.ValidationError("There is no time zone with this name.")
        return zone


admin.site.unregister(User)


@admin.register(User)
class PersonAdmin(UserAdmin):  # type: ignore[type-arg]
    """Who may come in. Nobody is deleted here: what is kept of them goes by the verbs, with its traces."""

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Keep this machine's owner who they are: they are found by their name, and let in as they are."""
        fixed = tuple(super().get_readonly_fields(request, obj))
        if obj is None or obj.get_username() != LOCAL_NAME:
            return fixed
        rights = ("is_active", "is_staff", "is_superuser") if settings.MODE == "local" else ()
        return (*fixed, "username", *rights)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: somebody who is not active any more is kept out, and what is theirs is not torn apart."""
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Give somebody new what every owner has."""
        super().save_model(request, obj, form, change)
        if not change:
            welcome(obj)


@admin.register(OwnerSettings)
class OwnerSettingsAdmin(AnyAdmin):
    """What owners chose; the one table that may be changed here."""

    form = SettingsForm
    list_display = (
        *("owner", "time_zone", "language", "theme", "look_after", "redact_secrets", "prune_after"),
        "faded_through",
    )
    list_filter = ("language", "theme", "redact_secrets")
    search_fields = ("owner__username",)
    list_select_related = ("owner",)
    date_hierarchy = "faded_through"
    readonly_fields = ("owner", "faded_through")
    actions = ("export",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse: the row is made with its owner."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: changes of one owner's memory wait for each other at this row."""
        return False

    def save_model(self, request: HttpRequest, obj: OwnerSettings, form: Any, change: bool) -> None:
        """Save what was changed here, and nothing that the night has written since the page was opened."""
        obj.save(update_fields=form.changed_data)

    def has_export_permission(self, request: HttpRequest) -> bool:
        """Tell whether this person may export: whoever may read messages and facts."""
        return request.user.has_perms(("chat.view_message", "chat.view_fact"))

    @admin.action(description="Export all that is kept of the owner", permissions=["export"])
    def export(self, request: HttpRequest, queryset: QuerySet[OwnerSettings]) -> HttpResponseBase | None:
        """Send one owner's data as JSON."""
        chosen = list(queryset.select_related("owner")[:2])
        if len(chosen) != 1:
            self.message_user(request, "Choose one owner.", messages.WARNING)
            return None
        owner = chosen[0].owner
        return download(request, export(owner), f"memoryapp-{owner.get_username()}.json", "application/json")


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnly):
    """Keys of programs; their hashes are not shown."""

    list_display = ("name", "owner", "created_at", "last_used_at", "revoked_at")
    list_filter = (("revoked_at", admin.EmptyFieldListFilter), "owner")
    search_fields = ("name",)
    list_select_related = ("owner",)
    date_hierarchy = "created_at"
    exclude = ("digest",)


@admin.register(IdempotentRequest)
class IdempotentRequestAdmin(ReadOnly):
    """What programs made with a key of their own, for a day."""

    list_display = ("created_at", "owner", "key", "status")
    list_filter = ("status", "owner")
    search_fields = ("key",)
    list_select_related = ("owner",)
    date_hierarchy = "created_at"
    exclude = ("digest",)


@admin.register(Deletion)
class DeletionAdmin(ReadOnly):
    """Batches on their way out, and those that have gone."""

    list_display = ("pressed_at", "owner", "state", "everything", "whole", "expires_at")
    list_filter = ("state", "everything", "whole", "owner")
    list_select_related = ("owner",)
    date_hierarchy = "pressed_at"


@admin.register(Tombstone)
class TombstoneAdmin(ReadOnly):
    """Hashes of what was forgotten."""

    list_display = ("pressed_at", "owner", "digest")
    list_filter = ("owner",)
    search_fields = ("digest",)
    list_select_related = ("owner",)
    date_hierarchy = "pressed_at"
