"""Writes one reply, in a thread that is independent of any socket or request.

The run waits for the model, builds the prompt, publishes the text as it comes, saves checkpoints, and leaves
the row in a final state whatever happens.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from django.db import DatabaseError, close_old_connections, transaction

from chat.actions import messages, prompts
from chat.actions.usage import record_call
from chat.context.prompt import Prompt, build_prompt
from chat.errors import ModelNotReady, ProviderError
from chat.llm.model_status import ModelState
from chat.llm.registry import registry
from chat.llm.types import Finish, GenerationOptions, Lane, Provider, StopFlag, Stream, Usage
from chat.models import Conversation, Message, MessageState, Role
from chat.models.connections import release_connection
from memoryapp.base import logs

from .block_stream import BlockStream
from .hub import hub
from .message_topic import assign_topic
from .options import DEFAULT_OPTIONS, ReplyOptions, StopTextFilter
from .reply_end import ReplyEnd, save_reply_end_patiently
from .reply_reasoning import ReplyReasoning

logger = logging.getLogger(__name__)

# Text is sent at most this often. The default model takes about 36 ms a token, so each token is sent at once.
COALESCE_SECONDS = 0.03
# The share of its time in which a reply may be rendered.
RENDERING_SHARE = 0.1
# The text so far is saved at most this often.
CHECKPOINT_SECONDS = 1.0
# How long a reply waits for a model that is loading, and for a server that is away.
_LOADING_SECONDS, _REACHING_SECONDS = 600.0, 4.0
STOPPED = "stopped-by-user"
_ABANDONED = "stopped-by-client"
_FAILED = "reply-failed"
WAITED_TOO_LONG = "queue-too-long"

# For replies that are stopped before a thread of the pool begins them.
_ending_threads = ThreadPoolExecutor(2, "reply-ending")


@dataclass
class ReplyRun:
    """A reply that is being written; `state`, `failure`, `usage` and `finish` are final once `is_over` is
    set.

    `lock` guards the text. Times are readings of the monotonic clock in seconds.
    """

    reply: str
    conversation: str
    options: ReplyOptions = DEFAULT_OPTIONS
    # Called in the run's thread at the end, with the end if it could not be saved.
    on_end: Callable[[ReplyRun, ReplyEnd | None], None] = lambda run, unsaved: None
    owner: str = ""
    # Called in any thread when the model begins to work on it.
    on_begin: Callable[[ReplyRun], None] = lambda run: None
    # Takes it out of the line of replies; False where a thread has begun it.
    withdraw: Callable[[ReplyRun], bool] = lambda run: False
    state: MessageState = MessageState.STREAMING
    failure: str = ""
    usage: Usage = field(default_factory=Usage)
    finish: Finish = "stop"
    is_over: bool = False
    stop: StopFlag = field(default_factory=StopFlag)
    # The reply failed because no model was ready.
    model_missing: bool = False
    # It was stopped because no program follows it any more.
    abandoned: bool = False
    # It was stopped because the process ends, not by a user.
    process_ends: bool = False
    # It was stopped because its turn had not come in time.
    waited_too_long: bool = False
    # Set last, when its thread is done with it.
    ended: threading.Event = field(default_factory=threading.Event)
    end_listeners: list[Callable[[], object]] = field(default_factory=list)
    reasoning: ReplyReasoning = field(init=False)
    stream: BlockStream = field(default_factory=BlockStream)
    unsent: str = ""
    last_sent_monotonic: float = 0.0
    coalesce_seconds: float = COALESCE_SECONDS
    lock: threading.Lock = field(default_factory=threading.Lock)
    flush_timer: threading.Timer | None = None
    last_saved_monotonic: float = field(default_factory=time.monotonic)
    # Programs that follow the reply, and how many have stopped following; used in the event loop only.
    followers: int = 0
    departures: int = 0
    # In which they follow it.
    loop: asyncio.AbstractEventLoop | None = None
    # How often `refresh` is to be called while it is followed.
    refresh_seconds: float = 60.0

    def __post_init__(self) -> None:
        self.reasoning = ReplyReasoning(self.conversation, self.reply)

    def main(self) -> None:
        """Write the reply; whatever happens, its row ends in a final state. The target of the thread."""
        try:
            with logs.log_context(conversation=self.conversation, reply=self.reply):
                self._main()
        finally:
            with self.lock:
                self.ended.set()
                listeners, self.end_listeners = self.end_listeners, []
            for listener in listeners:
                # A waiter whose event loop is closed raises; the other waiters must still be called.
                with suppress(RuntimeError):
                    listener()

    def end_early(self) -> None:
        """Stop the reply; its text so far is kept."""
        self.stop.set()
        if self.withdraw(self):
            # No thread of the pool has begun it, and it must not wait for one.
            _ending_threads.submit(self.main)

    def call_at_end(self, listener: Callable[[], object]) -> None:
        """Call the listener in the reply's thread when the reply has ended, or now if it has."""
        with self.lock:
            if not self.ended.is_set():
                self.end_listeners.append(listener)
                return
        listener()

    def _main(self) -> None:
        row: Message | None = None
        state, failure = MessageState.FAILED, _FAILED
        try:
            close_old_connections()
            row = Message.objects.select_related("conversation__app", "conversation__owner").get(
                pk=self.reply
            )
            state, failure = self._write(row)
        except ProviderError as error:
            self.model_missing, failure = isinstance(error, ModelNotReady), error.reason.encode()
        except Exception:  # whatever the bug, the reply must not stay in the state "streaming"
            logger.exception("the reply failed")
        finally:
            logger.info("the reply ended: %s", state)
            self.state, self.failure = state, failure
            self._finish(row, state, failure)

    def forget_listener(self, listener: Callable[[], object]) -> None:
        """Drop a listener of `call_at_end` that waits no more."""
        with self.lock, suppress(ValueError):
            self.end_listeners.remove(listener)

    async def refresh(self) -> None:
        """Read what is new; here nothing, since the thread of this process adds it."""

    def text(self) -> str:
        """Return the text so far; callable from any thread."""
        with self.lock:
            return self.stream.text + self.unsent

    def _finish(self, row: Message | None, state: MessageState, failure: str) -> None:
        unsaved: ReplyEnd | None = None
        try:
            if row is not None and not save_reply_end_patiently(end := (row, self.text(), state, failure)):
                unsaved = end
        finally:
            self.on_end(self, unsaved)
            hub.end_reply(self.conversation, self.reply)
            close_old_connections()

    def _write(self, row: Message) -> tuple[MessageState, str]:
        self._await_model()
        if self.stop.is_set():
            return self._end_of_stop()
        # Holds the provider open: another model may be chosen while this one writes.
        with registry.hold_provider() as provider:
            return self._write_with(provider, row)

    def _write_with(self, provider: Provider, row: Message) -> tuple[MessageState, str]:
        asked = (
            Message.objects.filter(conversation=row.conversation, role=Role.USER, seq__lt=row.seq)
            .current_branch()
            .last()
        )
        if asked is None:
            raise ProviderError("no-message-to-answer")
        assign_topic(asked)
        # Read again: it may have changed while the run waited for the model.
        conversation = Conversation.objects.select_related("app", "owner").get(pk=row.conversation_id)
        prompt = build_prompt(conversation, asked, provider)
        prompts.record_prompt(conversation, asked, row, prompt, provider.context_window)
        # While the model works, others can use it.
        release_connection()
        stream = self._stream(provider, prompt, conversation)
        self.usage, pieces = stream.usage, StopTextFilter(stream, self.options.stop)
        outcome = "failed"
        try:
            for piece in pieces:
                self._add_piece(piece)
            if pieces.stop_found:
                # The rest is not wanted, so the model stops.
                self.stop.set()
            outcome = self.finish = "stop" if pieces.stop_found else stream.finish
        finally:
            self._flush()
            self.reasoning.set_on(row)
            row.cut_off = self.finish == "length"
            self._record_usage(row, stream.usage, outcome)
            spent = prompt.tokens + stream.usage.reply_tokens
            prompts.queue_preparation(row.conversation_id, spent, provider.context_window)
        if self.finish == "cancelled":
            return self._end_of_stop()
        return MessageState.COMPLETE, ""

    def _end_of_stop(self) -> tuple[MessageState, str]:
        if self.process_ends or not self.stop.is_set():
            return MessageState.STOPPED, messages.PROCESS_CLOSED
        if self.waited_too_long:
            return MessageState.FAILED, WAITED_TOO_LONG
        return MessageState.STOPPED, _ABANDONED if self.abandoned else STOPPED

    def _await_model(self) -> None:
        """Wait while the model loads or its server is away, up to the limits above, unless the reply is
        stopped.
        """
        # Connect to an unreachable server at once instead of at the next scheduled attempt.
        away = registry.status().state is ModelState.AWAY
        registry.retry_connection()
        deadline = time.monotonic() + (_REACHING_SECONDS if away else _LOADING_SECONDS)
        waits = {ModelState.LOADING, ModelState.AWAY} if away else {ModelState.LOADING}
        while time.monotonic() < deadline and not self.stop.is_set():
            if registry.wait_ready(0.2) or registry.status().state not in waits:
                break
            if away:
                self.stop.wait(0.1)

    def _stream(self, provider: Provider, prompt: Prompt, conversation: Conversation) -> Stream:
        asked = self.options
        max_tokens = min(prompt.max_tokens, asked.max_tokens or prompt.max_tokens)
        options = GenerationOptions.for_reply(
            self.conversation,
            max_tokens=max_tokens,
            stop=self.stop,
            owner=str(conversation.owner_id),
            on_begin=partial(self.on_begin, self),
        )
        wanted = conversation.use_reasoning if asked.reasoning is None else asked.reasoning
        options = replace(options, reasoning=wanted, on_reasoning=self.reasoning.add)
        if asked.temperature is not None:
            options = replace(options, temperature=asked.temperature)
        return provider.stream(prompt.turns, options)

    def _add_piece(self, piece: str) -> None:
        now = time.monotonic()
        with self.lock:
            self.unsent += piece
            wait = self.last_sent_monotonic + self.coalesce_seconds - now
            if wait > 0 and self.flush_timer is None:
                # Send the text even if the model writes nothing for a while after this.
                self.flush_timer = threading.Timer(wait, self._flush)
                self.flush_timer.start()
        if wait <= 0:
            self._flush()
        if now - self.last_saved_monotonic >= CHECKPOINT_SECONDS:
            self._checkpoint()
            self.last_saved_monotonic = now

    def _checkpoint(self) -> None:
        try:
            if not messages.save_checkpoint(self.reply, self.text()):
                self.stop.set()
        except DatabaseError:
            # The next checkpoint may succeed, and the end is saved in any case.
            logger.warning("a checkpoint of the reply could not be saved", exc_info=True)
        release_connection()

    def _flush(self) -> None:
        with self.lock:
            if self.flush_timer is not None:
                self.flush_timer.cancel()
                self.flush_timer = None
            if not self.unsent:
                return
            began = time.monotonic()
            first = self.stream.feed(self.unsent)
            self.unsent = ""
            self.last_sent_monotonic = time.monotonic()
            # A long list or table takes a while to render: then larger pieces are sent less often.
            took = self.last_sent_monotonic - began
            self.coalesce_seconds = min(max(COALESCE_SECONDS, took / RENDERING_SHARE), 1.0)
            if first is not None:
                hub.publish_blocks(self.conversation, first, self.stream.blocks[first:])

    def _record_usage(self, row: Message, usage: Usage, outcome: str) -> None:
        with transaction.atomic():
            prompts.record_reply_cost(row, usage)
            record_call(row.conversation.owner_id, "reply", Lane.CHAT, usage, outcome)
