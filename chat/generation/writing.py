"""One reply from its empty row to its last word, in a thread that no socket owns (design §8)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from django.db import DatabaseError, close_old_connections
from django.utils.translation import gettext_noop

from chat.actions import accounts, messages, prompts
from chat.context.prompt import Prompt, build
from chat.llm.registry import registry
from chat.llm.state import ModelState
from chat.llm.types import Finish, Lane, ModelNotReady, Provider, ProviderError, StopFlag, Stream, Usage
from chat.models import Conversation, Message, MessageState, Role
from memoryapp import logs

from .hub import hub
from .markdown import BlockStream
from .options import AS_USUAL, Options, UntilStop
from .placing import place

logger = logging.getLogger(__name__)

# Design §8: 30–50 ms. The default model takes some 36 ms a token: each is sent as it comes, without a timer.
COALESCE_SECONDS = 0.03
CHECKPOINT_SECONDS = 1.0  # design §8
_LOADING_SECONDS, _REACHING_SECONDS = 600.0, 4.0
_STOPPED = gettext_noop("You stopped this reply.")
_LEFT = gettext_noop("The program that asked for this went away before its end.")
_BROKEN = gettext_noop("Something went wrong while this was being written. Your message is saved.")

# How often the end of a reply is saved before its page is told, each time after a longer pause.
_TRIES, _PAUSE_SECONDS = 4, 0.25

# A reply's row and how it ended: text, state, and the sentence for one that did not come to its end.
End = tuple[Message, str, MessageState, str]


def saved(end: End) -> bool:
    """Save the end of a reply; False where the database would not take it."""
    row, text, state, failure = end
    try:
        messages.finish_reply(row, text, state, failure)
    except DatabaseError:
        logger.warning("the end of a reply could not be saved", extra={"reply": str(row.pk)}, exc_info=True)
        return False
    return True


@dataclass
class Run:
    """A reply on its way; all but its text and its means is final once it is `over`."""

    reply: str
    conversation: str
    options: Options = AS_USUAL
    # Is told of the end, and of what is left to save of it; what was over before tells nobody.
    ended: Callable[[Run, End | None], None] = lambda run, unsaved: None
    state: MessageState = MessageState.STREAMING
    failure: str = ""
    usage: Usage = field(default_factory=Usage)
    finish: Finish = "stop"
    over: bool = False
    stop: StopFlag = field(default_factory=StopFlag)
    # There was no model to write it with.
    unready: bool = False
    # Nobody follows it any more.
    left: bool = False
    # The program ends, and nobody wished the reply to.
    closing: bool = False
    thread: threading.Thread | None = None
    stream: BlockStream = field(default_factory=BlockStream)
    unsent: str = ""
    last_sent: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)
    later: threading.Timer | None = None
    last_saved: float = field(default_factory=time.monotonic)
    # Of programs, in the event loop: how many follow it, and how often one went.
    followers: int = 0
    partings: int = 0

    def main(self) -> None:
        """Write the reply; whatever happens, its row ends in a final state."""
        with logs.about(conversation=self.conversation, reply=self.reply):
            self._main()

    def _main(self) -> None:
        row: Message | None = None
        state, failure = MessageState.FAILED, _BROKEN
        try:
            close_old_connections()
            row = Message.objects.select_related("conversation__app", "conversation__owner").get(
                pk=self.reply
            )
            state, failure = self._write(row)
        except ProviderError as error:
            self.unready, failure = isinstance(error, ModelNotReady), str(error)
        except Exception:  # the reply must not stay "streaming" for ever, whatever the bug
            logger.exception("a reply failed")
        finally:
            logger.info("the reply ended: %s", state)
            self.state, self.failure = state, failure
            self._finish(row, state, failure)

    def text(self) -> str:
        """Return all that has been written so far."""
        with self.lock:
            return self.stream.text + self.unsent

    def _finish(self, row: Message | None, state: MessageState, failure: str) -> None:
        unsaved: End | None = None
        try:
            if row is not None and not self._save_end(end := (row, self.text(), state, failure)):
                unsaved = end
        finally:
            self.ended(self, unsaved)
            hub.close(self.conversation, self.reply)
            close_old_connections()

    def _save_end(self, end: End) -> bool:
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(_PAUSE_SECONDS * 2**attempt)
            if saved(end):
                return True
        return False

    def _write(self, row: Message) -> tuple[MessageState, str]:
        self._await_model()
        if self.stop.is_set():
            return MessageState.STOPPED, self._why_stopped()
        # Another model may be chosen while this one builds its prompt or writes: it is closed only then.
        with registry.lend() as provider:
            return self._write_with(provider, row)

    def _write_with(self, provider: Provider, row: Message) -> tuple[MessageState, str]:
        asked = (
            Message.objects.filter(conversation=row.conversation, role=Role.USER, seq__lt=row.seq)
            .shown()
            .last()
        )
        if asked is None:
            raise ProviderError("There is no message to answer.")
        place(asked)
        # As it is now: the model may have been waited for.
        conversation = Conversation.objects.select_related("app", "owner").get(pk=row.conversation_id)
        prompt = build(conversation, asked, provider)
        prompts.record_prompt(conversation, asked, row, prompt, provider.context_window)
        stream = self._stream(provider, prompt)
        self.usage, pieces = stream.usage, UntilStop(stream, self.options.stop)
        outcome = "failed"
        try:
            for piece in pieces:
                self._take(piece)
            if pieces.met:
                # Nobody wants the rest.
                self.stop.set()
            outcome = self.finish = "stop" if pieces.met else stream.finish
        finally:
            self._flush()
            self._account(row, stream.usage, outcome)
            spent = prompt.tokens + stream.usage.completion_tokens
            prompts.ask_to_prepare(row.conversation_id, spent, provider.context_window)
        if self.finish == "cancelled":
            return MessageState.STOPPED, self._why_stopped()
        return MessageState.COMPLETE, ""

    def _why_stopped(self) -> str:
        if self.closing or not self.stop.is_set():
            return messages.CLOSED
        return _LEFT if self.left else _STOPPED

    def _await_model(self) -> None:
        """Wait while the model loads, or for a server that is away a moment, unless the reply is stopped."""
        # A server that is away is tried once more for this message.
        away = registry.status().state is ModelState.AWAY
        registry.nudge()
        deadline = time.monotonic() + (_REACHING_SECONDS if away else _LOADING_SECONDS)
        waits = {ModelState.LOADING, ModelState.AWAY} if away else {ModelState.LOADING}
        while time.monotonic() < deadline and not self.stop.is_set():
            if registry.wait_ready(0.2) or registry.status().state not in waits:
                break
            if away:
                self.stop.wait(0.1)

    def _stream(self, provider: Provider, prompt: Prompt) -> Stream:
        asked = self.options
        sampling = {} if asked.temperature is None else {"temperature": asked.temperature}
        return provider.stream(
            prompt.turns,
            slot=self.conversation,
            lane=Lane.CHAT,
            max_tokens=min(prompt.max_tokens, asked.max_tokens or prompt.max_tokens),
            stop=self.stop,
            **sampling,
        )

    def _take(self, piece: str) -> None:
        now = time.monotonic()
        with self.lock:
            self.unsent += piece
            wait = self.last_sent + COALESCE_SECONDS - now
            if wait > 0 and self.later is None:
                # The model may pause after a burst; what it has written must not wait for its next word.
                self.later = threading.Timer(wait, self._flush)
                self.later.start()
        if wait <= 0:
            self._flush()
        if now - self.last_saved >= CHECKPOINT_SECONDS:
            self._checkpoint()
            self.last_saved = now

    def _checkpoint(self) -> None:
        try:
            messages.checkpoint(self.reply, self.text())
        except DatabaseError:
            # The next one may do, and the end is saved in any case.
            logger.warning("a reply was not saved on its way", exc_info=True)

    def _flush(self) -> None:
        with self.lock:
            if self.later is not None:
                self.later.cancel()
                self.later = None
            if not self.unsent:
                return
            first = self.stream.feed(self.unsent)
            self.unsent = ""
            self.last_sent = time.monotonic()
            if first is not None:
                hub.publish(self.conversation, first, self.stream.blocks[first:])

    def _account(self, row: Message, usage: Usage, outcome: str) -> None:
        prompts.record_reply_cost(row, usage)
        accounts.record_call(row.conversation.owner_id, "reply", Lane.CHAT, usage, outcome)
