"""Reads messages whose contents lie in an archive (design §3: the row stays, only its content moves)."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.utils.translation import gettext as _

from chat.models import Message, TopicArchive

from .pack import CorruptArchive, unpack

logger = logging.getLogger(__name__)


def with_contents(messages: Iterable[Message]) -> list[Message]:
    """Return the messages with their contents, those of packed ones from their archives: a query more.

    What an archive does not give back is replaced by a sentence that says so. The rows are for reading:
    saving one would store its content twice.
    """
    rows = list(messages)
    gone = _fill(rows)
    if gone:
        # They were unpacked, or packed anew, since their rows were read.
        fresh = {m.pk: m for m in Message.objects.filter(pk__in=[m.pk for m in gone])}
        still = {m.pk for m in _fill(fresh.values())}
        for m in gone:
            if m.pk in fresh and m.pk not in still:
                m.content = fresh[m.pk].content
    return rows


def _fill(rows: Iterable[Message]) -> list[Message]:
    """Give messages the contents that their archives hold, and return those whose archive is not there."""
    packed = [(m.archive_id, m) for m in rows if m.archive_id is not None]
    wanted = {key for key, _message in packed}
    found = TopicArchive.objects.filter(pk__in=wanted) if wanted else ()
    archives = {archive.pk: read(archive) for archive in found}
    for key, m in packed:
        m.content = archives.get(key, {}).get(m.seq) or lost()
    return [m for key, m in packed if key not in archives]


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
