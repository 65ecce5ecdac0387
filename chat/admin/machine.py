"""What the model was used for, and what background work may still take of it."""

from __future__ import annotations

from django.contrib import admin

from chat.models import Energy, UsageRecord

from .base import ReadOnly


@admin.register(UsageRecord)
class UsageRecordAdmin(ReadOnly):
    """One row a model call."""

    list_display = (
        *("created_at", "purpose", "lane", "owner", "prompt_tokens", "cached_tokens", "completion_tokens"),
        *("seconds", "energy", "outcome"),
    )
    list_filter = ("purpose", "lane", "outcome", "owner")
    list_select_related = ("owner",)
    date_hierarchy = "created_at"


@admin.register(Energy)
class EnergyAdmin(ReadOnly):
    """The one row of this machine."""

    list_display = ("level", "measured_at")
    date_hierarchy = "measured_at"
