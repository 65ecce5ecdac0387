"""`manage.py decrypt`: takes the encryption away again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from chat.management.encryption import decrypt_data
from chat.management.engine_lock import lock_engine
from memoryapp.base.passphrase import is_encrypted


class Command(BaseCommand):
    """Decrypt the database and the files beside it."""

    help = "Decrypt the data for good; asks for the passphrase. Stop the server first."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        data = Path(settings.DATA_DIR)
        if not is_encrypted(data):
            self.stdout.write("The data is not encrypted.")
            return
        with lock_engine(data, "decrypt"):
            damaged = decrypt_data()
        for path in damaged:
            self.stdout.write(f"{path} is damaged, and nothing can open it any more.")
        self.stdout.write("Decrypted. Everybody who can read this disk can read the data now.")
