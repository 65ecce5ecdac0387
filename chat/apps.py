"""The chat application. chat/README.md describes its parts and which part may import which."""

from django.apps import AppConfig
from django.db.backends.signals import connection_created

from .schema_version import refuse_newer_database


class ChatConfig(AppConfig):
    """Registers the models; starts no work, since `ready` runs in every command."""

    name = "chat"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Look at the version of each database that is connected to."""
        connection_created.connect(refuse_newer_database, dispatch_uid="newer-database")
