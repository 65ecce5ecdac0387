"""Encrypts exports with the passphrase of the data, as files of age, which other programs can open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from django.conf import settings

from memoryapp.base.encryption import encrypt_for_people
from memoryapp.base.passphrase import is_encrypted

from .owners import is_local


def can_encrypt_exports() -> bool:
    """Return whether a page offers it: the data is encrypted, and its user knows the passphrase."""
    return is_local() and is_encrypted(Path(settings.DATA_DIR))


def encrypt_export(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield an encrypted export; the whole export is in memory meanwhile."""
    yield encrypt_for_people(b"".join(parts))
