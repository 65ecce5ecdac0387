"""The replies that this process is writing: begun, looked for, stopped and waited for (design §8)."""

from __future__ import annotations

import threading
import time
from typing import Any

from chat.models import Message, MessageState

from .hub import hub
from .options import AS_USUAL, Options
from .writing import End, Run, saved

_A_MOMENT = 0.02  # seconds

_lock = threading.Lock()
_running: dict[str, Run] = {}
_unsaved: dict[str, End] = {}


def start(reply: Message, options: Options = AS_USUAL) -> Run:
    """Begin to write a reply; returns at once. Call it after the transaction that made the row."""
    run = Run(str(reply.pk), str(reply.conversation_id), options, _ended)
    with _lock:
        if (begun := _running.get(run.reply)) is not None:
            return begun
        hub.open(run.conversation, run.reply)
        run.thread = threading.Thread(target=run.main, name=f"reply-{run.reply[:8]}", daemon=True)
        # Under the lock: whoever finds it here may wait for its thread, which must have begun.
        run.thread.start()
        _running[run.reply] = run
    return run


def stop(reply_id: Any, patience: float = 0.0) -> bool:
    """End a reply at once, keeping its text; False when it is not being written in this process.

    Waits up to `patience` seconds until the text is saved and the conversation free for the next message.
    """
    if (run := writing(reply_id)) is None:
        return False
    run.stop.set()
    if patience and run.thread is not None:
        run.thread.join(patience)
    return True


def writing(reply_id: Any) -> Run | None:
    """Return the reply as this process is writing it, None when it does not."""
    with _lock:
        return _running.get(str(reply_id))


def await_begin(reply: Message, patience: float = 1.0) -> Run | None:
    """Return a reply as this process is writing it; None when it does not.

    Of one that another request has just made, and begins in a moment, the beginning is waited for.
    """
    until = time.monotonic() + patience
    while (run := writing(reply.pk)) is None and reply.state == MessageState.STREAMING:
        if time.monotonic() > until:
            return None
        time.sleep(_A_MOMENT)
    return run


def await_end(reply_id: Any, patience: float) -> None:
    """Wait until a reply that this process writes has come to its end, but no longer than so many seconds."""
    run = writing(reply_id)
    if run is not None and run.thread is not None:
        run.thread.join(patience)


def settle() -> None:
    """Save the ends of replies that the database would not take when they came; whenever somebody looks.

    Until then such a reply counts as being written, and its conversation takes no other message.
    """
    with _lock:
        waiting = list(_unsaved.items())
    for key, end in waiting:
        if saved(end):
            with _lock:
                _unsaved.pop(key, None)


def stop_in(conversation_id: Any, patience: float = 0.0) -> None:
    """End the reply that this process is writing in a conversation, as `stop` does."""
    with _lock:
        replies = [run.reply for run in _running.values() if run.conversation == str(conversation_id)]
    for reply in replies:
        stop(reply, patience)


def running() -> int:
    """Return how many replies are being written."""
    with _lock:
        return len(_running)


def drain(timeout: float = 10.0) -> None:
    """Stop all replies and wait until their text is saved; for the end of the process."""
    with _lock:
        runs = list(_running.values())
    for run in runs:
        run.closing = True
        run.stop.set()
    wait(timeout)


def wait(timeout: float = 10.0) -> None:
    """Wait until all replies that are being written have come to their end."""
    with _lock:
        runs = list(_running.values())
    for run in runs:
        if run.thread is not None:
            run.thread.join(timeout)


def _ended(run: Run, unsaved: End | None) -> None:
    with _lock:
        if unsaved is not None:
            _unsaved[run.reply] = unsaved
        # Whoever sees that it is over finds its end, saved or here.
        run.over = True
        _running.pop(run.reply, None)
