"""The replies that this process is writing: begin one with its messages, find, stop and await them.

`begin_exchange` is the one way to send: it saves messages, begins the reply to them, and returns both.
Callable from any thread. `reply_id` and `conversation_id` are UUIDs or their text. A `timeout` is in seconds.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

from django.conf import settings

from chat.actions.idempotency import CreatedObjects, run_once
from chat.actions.messages import count_unfinished
from chat.actions.owners import is_local
from chat.actions.quotas import count_message
from chat.errors import ModelNotReady, Overloaded, Reason
from chat.llm.model_status import ModelState
from chat.llm.registry import registry
from chat.models import Message, MessageState, User

from . import elsewhere
from .exchange import NO_KEY, Exchange, RequestKey
from .hub import hub
from .options import DEFAULT_OPTIONS, ReplyOptions
from .reply_end import ReplyEnd, save_reply_end
from .reply_line import ReplyLine
from .reply_run import ReplyRun

_POLL_SECONDS = 0.02
# Replies that are prepared or written at the same time: more where model servers have more places.
REPLY_THREADS, MOST_REPLY_THREADS = 16, 64
# In server mode, those of one owner: the others wait without a thread.
REPLY_THREADS_OF_ONE = 4
# Replies that are written or wait, and in server mode those of one owner.
MAX_REPLIES, MAX_REPLIES_OF_ONE = 200, 50

_lock = threading.Lock()
_running: dict[str, ReplyRun] = {}
_unsaved: dict[str, ReplyEnd] = {}


def start(reply: Message, options: ReplyOptions = DEFAULT_OPTIONS) -> ReplyRun:
    """Let a thread of the pool write a reply, and return at once; a reply that is being written is not
    started again.

    Call it after the transaction that created the row has been committed.
    """
    run = ReplyRun(
        str(reply.pk),
        str(reply.conversation_id),
        options,
        _handle_end,
        owner=str(reply.conversation.owner_id),
        on_begin=line.note_begin,
        withdraw=line.withdraw,
    )
    with _lock:
        if (begun := _running.get(run.reply)) is not None:
            return begun
        hub.begin_reply(run.conversation, run.reply)
        _running[run.reply] = run
    line.add(run, REPLY_THREADS if is_local() else REPLY_THREADS_OF_ONE)
    if run.stop.is_set():
        # It was stopped before it was in the line.
        run.end_early()
    if _most_waiting_seconds():
        line.check_while_waiting(_end_long_waits)
    return run


def _count_places() -> int:
    try:
        return registry.provider().places
    except ModelNotReady:
        return 1


def _show_place(run: ReplyRun, before: int) -> None:
    hub.show_place(run.conversation, run.reply, before)


line = ReplyLine(REPLY_THREADS, _show_place, _count_places, most_threads=MOST_REPLY_THREADS)


def _most_waiting_seconds() -> float:
    return 0 if is_local() else settings.QUEUE_SECONDS


def _end_long_waits() -> None:
    """End the replies that have waited for their turn for more than `QUEUE_SECONDS`."""
    now = time.monotonic()
    if registry.status().state is not ModelState.READY:
        # They wait for the model, which has a limit of its own.
        line.restart_waiting(now)
        return
    most = _most_waiting_seconds()
    for entry in line.find_waiting() if most else ():
        if now - entry.since_monotonic > most:
            entry.run.waited_too_long = True
            entry.run.end_early()


def stop(reply_id: Any, timeout: float = 0.0) -> bool:
    """Stop a reply and keep its text; False when nobody writes it, or another process has not ended it yet.

    Waits up to `timeout` until the text is saved and the conversation is free for the next message.
    """
    if (run := find_run(reply_id)) is None:
        return elsewhere.stop(str(reply_id), timeout)
    run.end_early()
    if timeout:
        run.ended.wait(timeout)
    return True


def stop_here(reply_id: str, conversation: str) -> bool:
    """Stop a reply of a conversation without waiting; False when this process is not writing it."""
    run = find_run(reply_id)
    if run is None or run.conversation != conversation:
        return False
    run.end_early()
    return True


def find_run(reply_id: Any) -> ReplyRun | None:
    """Return the run of a reply, None when this process is not writing it."""
    with _lock:
        return _running.get(str(reply_id))


def await_begin(reply: Message, timeout: float = 1.0) -> ReplyRun | None:
    """Return the run of a reply; None when this process is not writing it.

    Waits up to `timeout` for a reply whose row another request has created and whose run has not started yet.
    """
    deadline = time.monotonic() + timeout
    while (run := find_run(reply.pk)) is None and reply.state == MessageState.STREAMING:
        if time.monotonic() > deadline:
            return None
        time.sleep(_POLL_SECONDS)
    return run


def await_end(reply_id: Any, timeout: float) -> None:
    """Wait up to `timeout` until this process has written a reply to its end."""
    if (run := find_run(reply_id)) is not None:
        run.ended.wait(timeout)


async def wait_end(reply_id: Any, seconds: float) -> None:
    """Wait up to `seconds` like `await_end`, in an event loop and without a thread."""
    if (run := find_run(reply_id)) is None:
        await elsewhere.wait_end(str(reply_id), seconds)
        return
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    listener = partial(loop.call_soon_threadsafe, ended.set)
    run.call_at_end(listener)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await ended.wait()
    finally:
        run.forget_listener(listener)


def save_unsaved_ends() -> None:
    """Save the ends of replies that could not be saved when they ended, because the database was locked.

    Until then such a reply counts as being written, and its conversation accepts no other message.
    """
    with _lock:
        waiting = list(_unsaved.items())
    for key, end in waiting:
        if save_reply_end(end):
            with _lock:
                _unsaved.pop(key, None)


def stop_in_conversation(conversation_id: Any, timeout: float = 0.0) -> None:
    """Stop the reply that is being written in a conversation, as `stop` does."""
    with _lock:
        replies = [run.reply for run in _running.values() if run.conversation == str(conversation_id)]
    replies = replies or elsewhere.find_in_conversation(str(conversation_id))
    for reply in replies:
        stop(reply, timeout)


def listen_to_others() -> None:
    """Let other processes stop the replies that this one writes."""
    elsewhere.listen(find_run)


def count_running() -> int:
    """Return how many replies this process is writing."""
    with _lock:
        return len(_running)


def stop_all(timeout: float = 10.0) -> None:
    """Stop all replies and wait until their text is saved; called when the process ends."""
    with _lock:
        runs = list(_running.values())
    for run in runs:
        run.process_ends = True
        run.end_early()
    wait_all(timeout)


def wait_all(timeout: float = 10.0) -> None:
    """Wait up to `timeout` until all replies have ended."""
    with _lock:
        runs = list(_running.values())
    deadline = time.monotonic() + timeout
    for run in runs:
        run.ended.wait(max(0.0, deadline - time.monotonic()))


def _handle_end(run: ReplyRun, unsaved: ReplyEnd | None) -> None:
    with _lock:
        if unsaved is not None:
            _unsaved[run.reply] = unsaved
        # Set last: a reader that sees `is_over` finds the end in the database or in `_unsaved`.
        run.is_over = True
        _running.pop(run.reply, None)


def begin_exchange(
    owner: User,
    save: Callable[[], Sequence[Message]],
    *,
    key: RequestKey = NO_KEY,
    options: ReplyOptions = DEFAULT_OPTIONS,
    is_answered: bool = True,
) -> Exchange:
    """Save messages by calling `save`, and begin the reply. A repeated idempotency key saves nothing again.

    Call it outside a transaction.

    `save` calls an action and returns the rows that it made, the empty reply last where there is one. A
    message that `is_answered` counts against the owner's limits. Raises what `save` raises, such as Busy and
    Refused, IdempotencyKeyReused, QuotaExceeded, and Overloaded where too many replies wait.
    """
    save_unsaved_ends()
    saved: list[Message] = []

    def make() -> CreatedObjects:
        _require_place(owner)
        with count_message(owner) if is_answered else nullcontext():
            saved.extend(save())
        return CreatedObjects([str(row.pk) for row in saved])

    made = run_once(owner, key.key, key.request, make, anew=key.restart)
    if made.again:
        return Exchange(made.ids, [], repeated=True)
    begun = start(saved[-1], options) if saved[-1].state == MessageState.STREAMING else None
    return Exchange(made.ids, saved, repeated=False, begun=begun)


def _require_place(owner: User) -> None:
    if count_running() >= MAX_REPLIES:
        raise Overloaded("server-overloaded" if is_local() else "queue-full")
    if not is_local() and count_unfinished(owner) >= MAX_REPLIES_OF_ONE:
        raise Overloaded("queue-full-of-yours", count=MAX_REPLIES_OF_ONE)


def require_model() -> None:
    """Raise ModelNotReady where no reply can begin; a reply waits for a model that loads or is away."""
    status = registry.status()
    if status.state in (ModelState.MISSING, ModelState.FAILED):
        raise ModelNotReady(status.reason or Reason("no-model"))
