"""Loads the contents of messages that are packed in a topic archive.

Packing moves only the content: the message row stays, so that links, order and search keep working.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.utils.translation import gettext as _

from chat.models import Message, TopicArchive

from .pack import CorruptArchive, unpack_contents

logger = logging.getLogger(__name__)


def load_contents(messages: Iterable[Message]) -> list[Message]:
    """Return the messages with the contents of packed ones filled in from their archives.

    Needs one more query where a message is packed. A content that cannot be read back is replaced by
    `get_lost_content_text`. Do not save the returned rows: that would store the content twice.
    """
    rows = list(messages)
    unresolved = _fill_contents(rows)
    if unresolved:
        # Their archive is gone because the messages were unpacked or packed again since the rows were read.
        fresh = {m.pk: m for m in Message.objects.filter(pk__in=[m.pk for m in unresolved])}
        still_unresolved = {m.pk for m in _fill_contents(fresh.values())}
        for m in unresolved:
            if m.pk in fresh and m.pk not in still_unresolved:
                m.content = fresh[m.pk].content
    return rows


def _fill_contents(rows: Iterable[Message]) -> list[Message]:
    """Set the contents of packed messages from their archives; return those whose archive is missing."""
    packed = [(m.archive_id, m) for m in rows if m.archive_id is not None]
    wanted = {key for key, _message in packed}
    found = TopicArchive.objects.filter(pk__in=wanted) if wanted else ()
    archives = {archive.pk: read_archive(archive) for archive in found}
    for key, m in packed:
        m.content = archives.get(key, {}).get(m.seq) or get_lost_content_text()
    return [m for key, m in packed if key not in archives]


def read_archive(archive: TopicArchive) -> dict[int, str]:
    """Return the archived contents by `Message.seq`; a damaged archive is logged and gives an empty dict."""
    try:
        return unpack_contents(bytes(archive.data), archive.sha256)
    except CorruptArchive as damage:
        logger.error("an archive is damaged: %s", damage, extra={"archive": str(archive.pk)})
        return {}


def is_content_lost(message: Message) -> bool:
    """Return whether a message that `load_contents` returned could not be read back from its archive."""
    return message.archive_id is not None and message.content == get_lost_content_text()


def get_lost_content_text() -> str:
    """Return the translated sentence that replaces the content of a message that cannot be read back."""
    return _("This message was packed away, and what was stored is damaged. It cannot be shown.")
