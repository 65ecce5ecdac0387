"""The chat application: rooms and their one direction are described in the README."""

from django.apps import AppConfig


class ChatConfig(AppConfig):
    """Registers the models; starts nothing, since `ready` runs in every command."""

    name = "chat"
    default_auto_field = "django.db.models.BigAutoField"
