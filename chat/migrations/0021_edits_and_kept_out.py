"""Parts of messages that memory does not use, and what an edited message takes back."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add columns to messages and deletions."""

    dependencies: ClassVar = [("chat", '0020_dates_of_facts')]

    operations: ClassVar = [
        migrations.AddField("message", "kept_out", models.JSONField(blank=True, default=list)),
        migrations.AddField("deletion", "retraction", models.JSONField(blank=True, null=True)),
        migrations.AddField("deletion", "marked_messages", models.JSONField(blank=True, default=list)),
        migrations.AddField("deletion", "is_searched", models.BooleanField(default=False)),
    ]
