"""Replies that another process writes: stops them, waits for their end, and follows them as text.

The message bus carries the wish, and the database says what came of it. Used with REDIS_URL only.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import DatabaseError, close_old_connections

from chat.actions import messages
from chat.llm.types import Usage
from chat.models import Message, MessageState, PromptReport
from chat.topics.contents import load_contents
from memoryapp.base.message_bus import bus

from .following import stop_if_abandoned
from .hub import hub
from .reply_run import STOPPED, ReplyRun

logger = logging.getLogger(__name__)

_POLL_SECONDS, _ASYNC_POLL_SECONDS = 0.05, 0.3
# While a program follows a reply of another process, it says so every few seconds. A reply of which nobody
# has said it for `_FOLLOWED_SECONDS` is stopped, as where its only program has gone away.
_SAY_SECONDS, _FOLLOWED_SECONDS = 3.0, 10.0
_STOP, _FOLLOWED = "stop-reply", "reply-followed"


def listen(find_run: Callable[[Any], ReplyRun | None]) -> None:
    """Let other processes stop, and keep running, the replies that this process writes.

    `find_run` returns the run of a reply by its key, None where this process does not write it.
    """
    bus.listen(_STOP, partial(_stop_here, find_run))
    bus.listen(_FOLLOWED, partial(_keep_here, find_run))


def _stop_here(find_run: Callable[[Any], ReplyRun | None], message: dict[str, Any]) -> None:
    run = find_run(message["reply"])
    if run is not None and message["conversation"] in ("", run.conversation):
        run.end_early()


def _keep_here(find_run: Callable[[Any], ReplyRun | None], message: dict[str, Any]) -> None:
    run = find_run(message["reply"])
    if run is None or run.loop is None:
        return
    run.loop.call_soon_threadsafe(_expect_again, run, run.loop)


def _expect_again(run: ReplyRun, loop: asyncio.AbstractEventLoop) -> None:
    run.departures += 1
    loop.call_later(_FOLLOWED_SECONDS, stop_if_abandoned, run, run.departures)


def is_running(reply: str, conversation: str = "") -> bool:
    """Return whether any process writes a reply, as far as the database knows; in this conversation, if
    given. `reply` may be anything that a client sent.
    """
    try:
        found = Message.objects.filter(pk=UUID(reply), state=MessageState.STREAMING)
    except ValueError:
        return False
    return (found.filter(conversation=UUID(conversation)) if conversation else found).exists()


def is_expected(reply: str, conversation: str | None) -> bool:
    """Return whether another process writes a reply of this conversation; watchers will then see its end.

    Called for a reply that the hub does not show; without Redis always False.
    """
    if not hub.is_shared or conversation is None or not is_running(reply, conversation):
        return False
    hub.expect(conversation, str(UUID(reply)))
    return True


def request_stop(reply: str, conversation: str = "") -> bool:
    """Ask the process that writes a reply to stop it, without waiting; False where that cannot be asked.

    With a conversation only a reply of it is stopped.
    """
    return hub.is_shared and bus.publish(_STOP, reply=reply, conversation=conversation)


def stop(reply: str, timeout: float, conversation: str = "") -> bool:
    """Stop a reply, of this conversation if given, and wait up to `timeout` seconds; returns whether it has
    ended.

    Where its process does not answer, the saved text is its end: the process notices at its next checkpoint.
    """
    if not hub.is_shared or not is_running(reply, conversation):
        return False
    if request_stop(reply, conversation):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if not is_running(reply):
                return True
            time.sleep(_POLL_SECONDS)
        if not timeout:
            return False
    return end_with_saved_text(reply)


async def ask_to_stop(reply: str, seconds: float, conversation: str) -> bool:
    """Ask the process that writes a reply of a conversation to stop it, and wait up to `seconds` in an event
    loop. Returns False where it still runs: `end_with_saved_text` ends it then.
    """
    try:
        key = str(UUID(reply))
    except ValueError:
        return True
    # At once: a thread for the question may not be free.
    was_asked = request_stop(key, conversation)
    if not await sync_to_async(is_running)(key, conversation):
        return True
    return was_asked and await wait_end(key, seconds)


def end_with_saved_text(reply: str) -> bool:
    """End a reply with its saved text, as stopped by the user; False where it has ended."""
    return messages.stop_reply(reply, STOPPED)


def find_in_conversation(conversation: str) -> list[str]:
    """Return the replies that any process writes in a conversation; without Redis none."""
    if not hub.is_shared:
        return []
    rows = Message.objects.filter(conversation=UUID(conversation), state=MessageState.STREAMING)
    return [str(key) for key in rows.values_list("pk", flat=True)]


def _may_be_running(reply: str) -> bool:
    """Return whether a reply is being written. While the database does not answer, the answer is True."""
    try:
        return is_running(reply)
    except DatabaseError:
        _note_database_fault()
        return True


def _note_database_fault() -> None:
    """Log a fault of the database; the caller asks again later, over a new connection if this one is lost."""
    logger.warning("the database could not be asked for a reply of another process", exc_info=True)
    close_old_connections()


async def wait_end(reply: str, seconds: float) -> bool:
    """Wait up to `seconds` until a reply has ended; call it in an event loop. Returns whether it has."""
    deadline = time.monotonic() + seconds
    ask = sync_to_async(_may_be_running)
    # What it waits for happens in another process.
    while hub.is_shared and time.monotonic() < deadline:
        if not await ask(reply):
            return True
        await asyncio.sleep(_ASYNC_POLL_SECONDS)
    return False


@dataclass
class ReplyElsewhere(ReplyRun):
    """A reply of another process, as the database knows it: its text grows once a second."""

    refresh_seconds: float = 0.5
    said_monotonic: float = 0.0

    def end_early(self) -> None:
        """Do nothing: where nobody follows it, its own process stops it."""

    async def refresh(self) -> None:
        """Read its text and state from the database, and tell its process that it is followed."""
        if time.monotonic() - self.said_monotonic > _SAY_SECONDS:
            self.said_monotonic = time.monotonic()
            bus.publish(_FOLLOWED, reply=self.reply)
        await sync_to_async(self._read)()

    def _read(self) -> None:
        try:
            row = Message.objects.filter(pk=self.reply).first()
            if row is not None:
                fill_from_row(self, row)
                return
        except DatabaseError:
            _note_database_fault()
            return
        self.state, self.is_over = MessageState.STOPPED, True


def follow_elsewhere(reply: Message, options: Any) -> ReplyElsewhere | None:
    """Return a reply that another process writes, for following; None where that is not known here."""
    if not hub.is_shared:
        return None
    return ReplyElsewhere(str(reply.pk), str(reply.conversation_id), options)


def fill_from_row(run: ReplyRun, reply: Message) -> None:
    """Set what is known of a reply from its row, and its cost where it has ended."""
    load_contents([reply])
    with run.lock:
        run.unsent = reply.content
    if reply.state == MessageState.STREAMING:
        return
    report = PromptReport.objects.filter(reply=reply).first()
    if report is not None:
        run.usage = Usage(report.prompt_tokens, report.cached_tokens, report.completion_tokens)
    run.finish = "length" if reply.cut_off else "stop"
    run.reasoning.text = reply.reasoning
    run.state, run.failure, run.is_over = MessageState(reply.state), reply.failure, True
