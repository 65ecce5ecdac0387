"""The chat application. chat/README.md describes its parts and which part may import which."""

from django.apps import AppConfig


class ChatConfig(AppConfig):
    """Registers the models; starts nothing, since `ready` runs in every command."""

    name = "chat"
    default_auto_field = "django.db.models.BigAutoField"
