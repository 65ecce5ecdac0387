"""What all processes on a database share: the fingerprint of the secret key, and the chosen model server."""

from __future__ import annotations

import base64
import logging
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from chat.models import Installation
from memoryapp.base.env import BadValue
from memoryapp.base.provider import ServerChoice, dump_choice, load_choice

logger = logging.getLogger(__name__)

_ONLY = 1
# A table that is in the database while a move into it is unfinished (`manage.py move`).
UNFINISHED_MOVE = "memoryapp_move"
_SALT = "chat.installation"
_OTHER_KEY = (
    "This database was made with another secret key. Use that one: set SECRET_KEY as on the machine that "
    "made it, or copy the file secret_key from its data folder into {}. Only if that key is lost for good: "
    "`manage.py secret_key --accept-loss`."
)


class OtherSecretKey(BadValue):
    """The database was made with another secret key than the one of this process."""


class UnfinishedMove(BadValue):
    """A move into this database was broken off, so it is incomplete."""


def require_same_secret() -> None:
    """Store the fingerprint of the secret key at the first start; later raise OtherSecretKey for another key.

    The first thing that a command does that uses the key. Raises UnfinishedMove too.
    """
    require_no_unfinished_move(connection)
    with transaction.atomic():
        row, _made = Installation.objects.select_for_update().get_or_create(pk=_ONLY)
        if not row.key_fingerprint:
            _update(key_fingerprint=_compute_fingerprint())
        elif not constant_time_compare(row.key_fingerprint, _compute_fingerprint()):
            raise OtherSecretKey(_OTHER_KEY.format(settings.DATA_DIR))


def is_same_secret() -> bool:
    """Return whether the database was made with the secret key of this process, or with none yet. Writes
    nothing.
    """
    found = Installation.objects.filter(pk=_ONLY).values_list("key_fingerprint", flat=True).first()
    return not found or constant_time_compare(found, _compute_fingerprint())


def require_no_unfinished_move(database: BaseDatabaseWrapper) -> None:
    """Raise UnfinishedMove where a move into a database was broken off or is going on."""
    if UNFINISHED_MOVE in database.introspection.table_names():
        raise UnfinishedMove(
            "A move into this database was broken off, so it is incomplete. Run `manage.py move` again where "
            "it was started: it goes on where it stopped."
        )


def accept_lost_secret() -> None:
    """Take the secret key of this process as that of the database, and drop what the lost one encrypted."""
    with transaction.atomic():
        row, _made = Installation.objects.select_for_update().get_or_create(pk=_ONLY)
        version = row.model_server_version + bool(row.model_server)
        _update(key_fingerprint=_compute_fingerprint(), model_server="", model_server_version=version)


def read_model_server() -> ServerChoice | None:
    """Return the model server that an admin chose for all processes; None for none."""
    row = Installation.objects.filter(pk=_ONLY).first()
    if row is None or not row.model_server:
        return None
    try:
        return load_choice(_cipher().decrypt(row.model_server.encode()))
    except (InvalidToken, ValueError, KeyError, TypeError):
        logger.error("the chosen model server cannot be decrypted; choose it again in the settings")
        return None


def read_model_server_version() -> int:
    """Return a number that changes with each choice of a model server."""
    found = Installation.objects.filter(pk=_ONLY).values_list("model_server_version", flat=True)
    return found.first() or 0


def store_model_server(choice: ServerChoice | None) -> None:
    """Store the choice for all processes, encrypted with the secret key; None removes it."""
    text = _cipher().encrypt(dump_choice(choice).encode()).decode() if choice else ""
    with transaction.atomic():
        row, _made = Installation.objects.select_for_update().get_or_create(pk=_ONLY)
        _update(model_server=text, model_server_version=row.model_server_version + 1)


def _update(**values: Any) -> None:
    Installation.objects.filter(pk=_ONLY).update(**values, changed_at=timezone.now())


def _compute_fingerprint() -> str:
    return salted_hmac(f"{_SALT}.fingerprint", "memoryapp", algorithm="sha256").hexdigest()


def _cipher() -> Fernet:
    key = salted_hmac(f"{_SALT}.encryption", "memoryapp", algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(key))
