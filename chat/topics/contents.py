"""Reads messages whose contents lie in an archive (design §3: the row stays, only its content moves)."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.utils.translation import gettext as _

from chat.models import Message, TopicArchive

from .pack import CorruptArchive, unpack

logger = logging.getLogger(__name__)


def with_contents(messages: Iterable[Message]) -> list[Message]:
    """Return the messages with their contents, those of packed ones from their archives, in one query more.

    What an archive does not give back is replaced by a sentence that says so. The rows are for reading:
    saving one would store its content twice.
    """
    rows = list(messages)
    wanted = {m.archive_id for m in rows if m.archive_id is not None}
    if not wanted:
        return rows
    archives = {archive.pk: read(archive) for archive in TopicArchive.objects.filter(pk__in=wanted)}
    for m in rows:
        if m.archive_id is not None:
            m.content = archives.get(m.archive_id, {}).get(m.seq) or lost()
    return rows


def read(archive: TopicArchive) -> dict[int, str]:
    """Return an archive's contents by their messages' places; empty, and logged, where it is damaged."""
    try:
        return unpack(bytes(archive.data), archive.sha256)
    except CorruptArchive as damage:
        logger.error("an archive is damaged: %s", damage, extra={"archive": str(archive.pk)})
        return {}


def lost() -> str:
    """Return what stands in the place of a message that cannot be read back."""
    return _("This message was packed away, and what was stored is damaged. It cannot be shown.")
