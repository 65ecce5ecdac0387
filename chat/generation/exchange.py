"""The one way to send: saves messages, begins the reply to them, and returns both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chat.actions.idempotency import CreatedObjects, run_once
from chat.errors import ModelNotReady, Reason
from chat.llm.registry import registry
from chat.llm.types import ModelState
from chat.models import Message, MessageState, User

from . import run
from .options import DEFAULT_OPTIONS, ReplyOptions
from .reply_run import ReplyRun


@dataclass(frozen=True, slots=True)
class RequestKey:
    """What identifies a request that may come twice: a key ("" for none) and the bytes that it stands for.

    With `restart` the key counts from now on, whatever was made with it before.
    """

    key: str = ""
    request: bytes = b""
    restart: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """The rows that a request saved, the reply last where one was asked for, and their keys.

    A `repeated` request has no rows, only the keys of what the first one saved.
    """

    keys: Sequence[str]
    saved: Sequence[Message]
    repeated: bool
    begun: ReplyRun | None = None

    @property
    def run(self) -> ReplyRun:
        """Return what writes the reply; raises LookupError where this request began none."""
        if self.begun is None:
            raise LookupError("this request began no reply")
        return self.begun

    @property
    def reply(self) -> Message:
        """Return the row of the reply; not of a repeated request."""
        return self.saved[-1]


NO_KEY = RequestKey()


def begin_exchange(
    owner: User,
    save: Callable[[], Sequence[Message]],
    *,
    key: RequestKey = NO_KEY,
    options: ReplyOptions = DEFAULT_OPTIONS,
) -> Exchange:
    """Save messages with `save`, once for each key, and begin the reply. Call it outside a transaction.

    `save` calls an action and returns the rows that it made, the empty reply last where there is one.
    Raises what `save` raises, such as Busy and Refused, and IdempotencyKeyReused.
    """
    run.save_unsaved_ends()
    saved: list[Message] = []

    def make() -> CreatedObjects:
        saved.extend(save())
        return CreatedObjects([str(row.pk) for row in saved])

    made = run_once(owner, key.key, key.request, make, anew=key.restart)
    if made.again:
        return Exchange(made.ids, [], repeated=True)
    begun = run.start(saved[-1], options) if saved[-1].state == MessageState.STREAMING else None
    return Exchange(made.ids, saved, repeated=False, begun=begun)


def require_model() -> None:
    """Raise ModelNotReady where no reply can begin; a reply waits for a model that loads or is away."""
    status = registry.status()
    if status.state in (ModelState.MISSING, ModelState.FAILED):
        raise ModelNotReady(status.reason or Reason("no-model"))
