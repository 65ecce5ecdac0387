"""Users with their settings, tokens and deletions, and the export of a user's data."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase

from chat.actions.export import export_json
from chat.actions.owners import (
    EXTRACTION_DELAY_RANGE,
    LOCAL_NAME,
    PRUNE_AFTER_CHOICES,
    is_local,
    list_time_zones,
    local_owner,
    set_up_owner,
)
from chat.models import (
    AccountRequest,
    AdminAct,
    ApiToken,
    Deletion,
    FirstLink,
    IdempotentRequest,
    Invitation,
    LoginFailure,
    OwnerSettings,
    PersonQuota,
    QuotaUse,
    Tombstone,
)
from chat.views.responses import stream_download

from .base import AnyAdmin, AnyForm, ReadOnly, may_read_contents, record_look


class SettingsForm(AnyForm):
    """The same values as on the settings page."""

    language = forms.ChoiceField(required=False, choices=[("", "as the browser asks"), *settings.LANGUAGES])
    look_after = forms.IntegerField(min_value=EXTRACTION_DELAY_RANGE[0], max_value=EXTRACTION_DELAY_RANGE[1])
    prune_after = forms.TypedChoiceField(
        coerce=int, choices=[(days, days or "never") for days in PRUNE_AFTER_CHOICES]
    )

    def clean_time_zone(self) -> str:
        """Accept a time zone of this machine, or none."""
        zone = str(self.cleaned_data["time_zone"])
        if zone and zone not in list_time_zones():
            raise forms.ValidationError("There is no time zone with this name.")
        return zone


admin.site.unregister(User)


@admin.register(User)
class PersonAdmin(UserAdmin):  # type: ignore[type-arg]
    """Users. They are not deleted here: actions erase a user's data with all traces."""

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Protect the owner of a local installation, whom requests find by name and with its rights. On a
        server rights are changed on the page of people only, which keeps an admin and records each act.
        """
        fixed = tuple(super().get_readonly_fields(request, obj))
        if obj is None:
            return fixed
        is_local_owner = is_local() and obj == local_owner()
        named = ("username",) if is_local_owner or obj.get_username() == LOCAL_NAME else ()
        keeps = is_local_owner or not is_local()
        return (*fixed, *named, *(("is_active", "is_staff", "is_superuser") if keeps else ()))

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return whether users can be added here; on a server they come by invitation or by signing up."""
        return is_local() and super().has_add_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: deactivate a user instead, which keeps their data consistent."""
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Create settings and first app of a new user."""
        super().save_model(request, obj, form, change)
        if not change:
            set_up_owner(obj)


@admin.register(OwnerSettings)
class OwnerSettingsAdmin(AnyAdmin):
    """Settings of users; the one table that can be changed here."""

    form = SettingsForm
    list_display = (
        *("owner", "time_zone", "language", "theme", "look_after", "redact_secrets", "use_past_chats"),
        *("send_past_chats", "offer_past_chats", "prune_after", "faded_through"),
    )
    list_filter = ("language", "theme", "redact_secrets", "use_past_chats")
    search_fields = ("owner__username",)
    list_select_related = ("owner",)
    date_hierarchy = "faded_through"
    readonly_fields = ("owner", "faded_through")
    actions = ("export",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: the row is created with its owner."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: changes of an owner's memory lock this row."""
        return False

    def save_model(self, request: HttpRequest, obj: OwnerSettings, form: Any, change: bool) -> None:
        """Save the changed columns only: jobs may have written others since the page was opened."""
        obj.save(update_fields=form.changed_data)

    def has_export_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may export: the permission to view messages and facts, where the admin site
        shows them.
        """
        return may_read_contents() and request.user.has_perms(("chat.view_message", "chat.view_fact"))

    @admin.action(description="Export all that is kept of the owner", permissions=["export"])
    def export(self, request: HttpRequest, queryset: QuerySet[OwnerSettings]) -> HttpResponseBase | None:
        """Send one owner's data as JSON."""
        chosen = list(queryset.select_related("owner")[:2])
        if len(chosen) != 1:
            self.message_user(request, "Choose one owner.", messages.WARNING)
            return None
        owner = chosen[0].owner
        record_look(request, OwnerSettings, str(chosen[0].pk), f"all data of {owner.get_username()}")
        return stream_download(
            request, export_json(owner), f"memoryapp-{owner.get_username()}.json", "application/json"
        )


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnly):
    """API tokens; their hashes are not shown."""

    holds_contents = False
    list_display = ("name", "owner", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at")
    list_filter = (("revoked_at", admin.EmptyFieldListFilter), "owner")
    search_fields = ("name",)
    list_select_related = ("owner",)
    date_hierarchy = "created_at"
    exclude = ("digest",)


@admin.register(LoginFailure)
class LoginFailureAdmin(ReadOnly):
    """Attempts to log in with a wrong password, kept for 30 days."""

    holds_contents = False
    list_display = ("created_at", "owner", "address")
    list_filter = ("owner",)
    search_fields = ("address",)
    list_select_related = ("owner",)
    date_hierarchy = "created_at"


@admin.register(PersonQuota)
class PersonQuotaAdmin(ReadOnly):
    """Limits of persons that differ from the settings of the server; an action sets them."""

    holds_contents = False
    list_display = ("owner", "messages_a_minute", "model_seconds_a_day", "imports_a_day")
    list_select_related = ("owner",)
    date_hierarchy = "owner__date_joined"


@admin.register(QuotaUse)
class QuotaUseAdmin(ReadOnly):
    """Messages and imports that count against the limits, kept for a day."""

    holds_contents = False
    list_display = ("created_at", "owner", "what")
    list_filter = ("what", "owner")
    list_select_related = ("owner",)
    date_hierarchy = "created_at"


@admin.register(IdempotentRequest)
class IdempotentRequestAdmin(ReadOnly):
    """Requests with an Idempotency-Key, kept for a day."""

    holds_contents = False
    list_display = ("created_at", "owner", "key", "status")
    list_filter = ("status", "owner")
    search_fields = ("key",)
    list_select_related = ("owner",)
    date_hierarchy = "created_at"
    exclude = ("digest",)


@admin.register(Deletion)
class DeletionAdmin(ReadOnly):
    """Deletions, pending and finished."""

    holds_contents = False
    list_display = ("pressed_at", "owner", "state", "everything", "whole", "account", "expires_at")
    list_filter = ("state", "everything", "whole", "account", "owner")
    list_select_related = ("owner",)
    date_hierarchy = "pressed_at"


@admin.register(Tombstone)
class TombstoneAdmin(ReadOnly):
    """Hashes of deleted facts."""

    holds_contents = False
    list_display = ("pressed_at", "owner", "digest")
    list_filter = ("owner",)
    search_fields = ("digest",)
    list_select_related = ("owner",)
    date_hierarchy = "pressed_at"


@admin.register(Invitation)
class InvitationAdmin(ReadOnly):
    """Invitations; their hashes are not shown."""

    holds_contents = False
    list_display = ("created_at", "inviter", "role", "note", "expires_at", "used_at", "used_by", "revoked_at")
    list_filter = ("role", ("used_at", admin.EmptyFieldListFilter))
    search_fields = ("note",)
    list_select_related = ("inviter", "used_by")
    date_hierarchy = "created_at"
    exclude = ("digest",)


@admin.register(AccountRequest)
class AccountRequestAdmin(ReadOnly):
    """Accounts that wait for approval."""

    holds_contents = False
    list_display = ("created_at", "user")
    search_fields = ("user__username",)
    list_select_related = ("user",)
    date_hierarchy = "created_at"


@admin.register(AdminAct)
class AdminActAdmin(ReadOnly):
    """What admins did with accounts, kept for a year."""

    holds_contents = False
    list_display = ("created_at", "actor_name", "kind", "subject_name")
    list_filter = ("kind",)
    search_fields = ("actor_name", "subject_name")
    date_hierarchy = "created_at"


@admin.register(FirstLink)
class FirstLinkAdmin(ReadOnly):
    """The link for the first account, while there is none; its hash is not shown."""

    holds_contents = False
    list_display = ("created_at",)
    date_hierarchy = "created_at"
    exclude = ("digest",)
