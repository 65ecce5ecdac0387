"""The processes on this database, what they share, and uploaded files that wait for their import."""

from __future__ import annotations

from django.contrib import admin

from chat.models import ImportUpload, ImportUploadPart, Installation, Process

from .base import ReadOnly


@admin.register(Process)
class ProcessAdmin(ReadOnly):
    """Running servers and workers."""

    holds_contents = False
    list_display = ("kind", "host", "pid", "runs_jobs", "started_at", "seen_at")
    list_filter = ("kind", "runs_jobs")
    search_fields = ("host",)
    date_hierarchy = "started_at"
    exclude = ("open_conversations", "caches_to_free")


@admin.register(Installation)
class InstallationAdmin(ReadOnly):
    """What all processes share; one row. The choice of a model server is shown on the settings page."""

    holds_contents = False
    list_display = ("model_server_version", "changed_at")
    date_hierarchy = "changed_at"
    exclude = ("key_fingerprint", "model_server")


@admin.register(ImportUpload)
class ImportUploadAdmin(ReadOnly):
    """Uploaded files between dry run and import, for an hour."""

    list_display = ("id", "owner", "size", "process", "created_at")
    list_filter = ("owner",)
    list_select_related = ("owner",)
    date_hierarchy = "created_at"


@admin.register(ImportUploadPart)
class ImportUploadPartAdmin(ReadOnly):
    """Blocks of uploaded files; their contents are not shown."""

    list_display = ("upload", "number")
    list_select_related = ("upload",)
    date_hierarchy = "upload__created_at"
    exclude = ("content",)
