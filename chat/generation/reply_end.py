"""The end of a reply, and saving it also where the database is locked for a moment."""

from __future__ import annotations

import logging
import time

from django.db import DatabaseError

from chat.actions import messages
from chat.models import Message, MessageState

logger = logging.getLogger(__name__)

# Attempts to save an end while the database is locked; each pause is twice as long as the last, in seconds.
_ATTEMPTS, _PAUSE_SECONDS = 4, 0.25

# How a reply ended: its row, text, state, and the encoded reason why it is incomplete ("" for a complete
# one).
ReplyEnd = tuple[Message, str, MessageState, str]


def save_reply_end(end: ReplyEnd) -> bool:
    """Save the end of a reply; False when the database failed, for instance because it was locked."""
    row, text, state, failure = end
    try:
        messages.finish_reply(row, text, state, failure)
    except DatabaseError:
        logger.warning("the end of the reply could not be saved", extra={"reply": str(row.pk)}, exc_info=True)
        return False
    return True


def save_reply_end_patiently(end: ReplyEnd) -> bool:
    """Save the end of a reply in several attempts; False when all failed. It waits up to 3.5 seconds."""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_SECONDS * 2**attempt)
        if save_reply_end(end):
            return True
    return False
