"""Tells open browsers that something changed, after the transaction that changed it has committed.

Events carry no content, only what to look at again: a browser asks through its own door, where it is
authorised. The channel layer may drop them (traps C4), so nothing may depend on one arriving.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction

logger = logging.getLogger(__name__)

# In the place of an owner: what concerns the machine, such as the model, is told to every open page.
EVERYONE = "everyone"

# The in-memory layer belongs to the loop that the sockets live in; other threads hand over to it.
_loop: asyncio.AbstractEventLoop | None = None


def bind_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Remember the loop in which this process's sockets live."""
    global _loop
    _loop = loop


def group_of(owner_id: object) -> str:
    """Return the name of the group that all sockets of one owner listen to."""
    return f"owner.{owner_id}"


def tell(owner_id: object, kind: str, **payload: Any) -> None:
    """Send an event to the owner's open pages once the current transaction has committed."""
    transaction.on_commit(lambda: send_now(owner_id, {"type": kind, **payload}))


def send_now(owner_id: object, event: dict[str, Any]) -> None:
    """Send an event at once, from any thread that runs no loop of its own."""
    layer = get_channel_layer()
    if layer is None:
        return
    message = {"type": "owner.event", "event": event}
    if _loop is not None and _loop.is_running():
        asyncio.run_coroutine_threadsafe(layer.group_send(group_of(owner_id), message), _loop)
        return
    try:
        async_to_sync(layer.group_send)(group_of(owner_id), message)
    except Exception:  # an event is a hint: losing one must not fail what it tells of
        logger.warning("an event could not be sent", exc_info=True)
