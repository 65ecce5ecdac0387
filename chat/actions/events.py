"""Notifies open pages of a change, after the transaction that made it has committed.

With REDIS_URL pages of all processes are told, otherwise those of this one.

Events carry no content, only what to reload: the page requests that through a view, which checks access. The
channel layer may drop events, so nothing may depend on their arrival.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction

from memoryapp.base.message_bus import bus

logger = logging.getLogger(__name__)

# In place of an owner's id: events about the machine, such as the model's state, go to every open page.
EVERYONE = "everyone"
# Of messages to other processes.
_KIND = "event"

# The in-memory channel layer belongs to the event loop of the sockets; other threads pass events to it.
_loop: asyncio.AbstractEventLoop | None = None


def bind_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Set the event loop in which this process's sockets run."""
    global _loop
    _loop = loop


def group_name(owner_id: object) -> str:
    """Return the name of the channel group of all sockets of one owner."""
    return f"owner.{owner_id}"


def send_on_commit(owner_id: object, kind: str, **payload: Any) -> None:
    """Send an event to the owner's open pages once the current transaction has committed."""
    transaction.on_commit(lambda: send_now(owner_id, {"type": kind, **payload}))


def send_now(owner_id: object, event: dict[str, Any]) -> None:
    """Send an event at once, from any thread without a running event loop."""
    bus.publish(_KIND, to=str(owner_id), event=event)
    _send_here(owner_id, event)


def listen() -> None:
    """Pass events of other processes on to the pages of this one."""
    bus.listen(_KIND, lambda message: _send_here(message["to"], message["event"]))


def _send_here(owner_id: object, event: dict[str, Any]) -> None:
    layer = get_channel_layer()
    if layer is None:
        return
    message = {"type": "owner.event", "event": event}
    if _loop is not None and _loop.is_running():
        asyncio.run_coroutine_threadsafe(layer.group_send(group_name(owner_id), message), _loop)
        return
    try:
        async_to_sync(layer.group_send)(group_name(owner_id), message)
    except Exception:  # losing an event must not fail the change that it reports
        logger.warning("could not send an event to the pages", exc_info=True)
