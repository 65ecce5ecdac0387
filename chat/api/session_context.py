"""The messages of a session that a program gives to its model: the newest that fit, chosen by the strategy.

`simple` is the newest messages. `summarization` and `hybrid` begin with a summary of what they leave out, as
a system message "Previous context: …"; `hybrid` also keeps system messages and important messages. `topics`
keeps the newest messages and those of the current topic, and its "Previous context" names the other topics.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from chat.actions import summaries
from chat.actions.topic_archive import find_active_topic, list_unsummarised_messages
from chat.context.budget import KEEP_LAST, KEEP_LAST_SUMMARISED, max_flagged_tokens
from chat.context.importance import IMPORTANT
from chat.context.prompt import describe_other_topics
from chat.context.strategies import HYBRID, SIMPLE, SUMMARIZATION, TOPICS
from chat.errors import ModelNotReady, ProviderError
from chat.llm.model_status import ModelState
from chat.llm.registry import registry
from chat.llm.types import Provider
from chat.memory.summary_sentences import split_sentences, thin_sentences
from chat.models import Conversation, Role, Topic

from .history import LoadedEnd, MessageCounter, Pair, convert_messages, load_undamaged, readable_messages
from .schema import SessionMessage

logger = logging.getLogger(__name__)

PREFIX = "Previous context: "
# A quarter of the limit at most is for the summary, a quarter for system messages before the newest messages.
_SUMMARY_SHARE, _SYSTEM_SHARE = 4, 4
_MAX_SUMMARY_TOKENS = 256
# Important messages that are compared; more than this do not fit into a fifth of a usual limit.
_MAX_IMPORTANT = 50
# Portions of about 300 tokens that one call lets the model summarise, so that a call on a long session ends:
# a small model needs some seconds for each.
MAX_PORTIONS = 8
_MAX_MESSAGES = {SUMMARIZATION: KEEP_LAST_SUMMARISED, TOPICS: KEEP_LAST}


class _EnoughSummarised(Exception):
    """Ends the extension of a summary: this call has summarised MAX_PORTIONS."""


@dataclass(frozen=True, slots=True)
class SessionContext:
    """Chooses the messages of one session within `max_tokens`, which `counter` counts."""

    conversation: Conversation
    max_tokens: int
    counter: MessageCounter

    def load(self) -> list[SessionMessage]:
        """Return the messages in time order; where some are left out, the summary comes first.

        Reads the newest rows as far back as the tokens reach, and of the earlier ones those that the strategy
        keeps. Where this process has a model and the strategy needs a summary, blocks while the model extends
        it.
        """
        strategy = self.conversation.effective_strategy
        end = LoadedEnd(readable_messages(self.conversation), self.max_tokens, self.counter.of)
        newest = end.select(self.max_tokens)
        if strategy == SIMPLE or end.is_whole(self.max_tokens):
            return [message for _, message in newest]
        reserved = end.select(self.max_tokens - self._reserve(strategy), _MAX_MESSAGES.get(strategy))
        if not reserved:
            # The newest message leaves no room for anything else.
            return [message for _, message in newest]
        head = self._build_head(strategy, reserved)
        kept = self._load_kept(strategy, reserved[0][0].seq)
        spent = sum(map(self.counter.of, [*head, *(message for _, message in kept)]))
        # What the head and the kept messages do not need is filled with older messages.
        most = KEEP_LAST_SUMMARISED if strategy == SUMMARIZATION else None
        by_seq = {row.seq: message for row, message in [*kept, *end.select(self.max_tokens - spent, most)]}
        return [*head, *(by_seq[seq] for seq in sorted(by_seq))]

    def _reserve(self, strategy: str) -> int:
        """Return the most tokens that the head and the kept messages take."""
        if strategy == TOPICS:
            return self._summary_room + self._topic_room
        return self._summary_room + (self._kept_room if strategy == HYBRID else 0)

    @property
    def _summary_room(self) -> int:
        return min(_MAX_SUMMARY_TOKENS, self.max_tokens // _SUMMARY_SHARE)

    @property
    def _kept_room(self) -> int:
        return self.max_tokens // _SYSTEM_SHARE + max_flagged_tokens(self.max_tokens)

    @property
    def _topic_room(self) -> int:
        return self.max_tokens // 2

    def _build_head(self, strategy: str, reserved: list[Pair]) -> list[SessionMessage]:
        """Return the message "Previous context", or nothing where there is no summary that fits."""
        when, count = reserved[0][1].created_at, self.counter.text
        if strategy == TOPICS:
            topic = find_active_topic(self.conversation.pk)
            room = self._summary_room - self._count_head("", when)
            text = describe_other_topics(self.conversation, topic, room, count)
        else:
            self._extend_summary(reserved)
            sentences = split_sentences(self.conversation.summary)
            text = " ".join(thin_sentences(sentences, self._summary_room - self._count_head("", when), count))
        if not text or self._count_head(text, when) > self._summary_room:
            return []
        return [_make_head(text, when)]

    def _count_head(self, text: str, when: datetime) -> int:
        return self.counter.of(_make_head(text, when))

    def _extend_summary(self, reserved: list[Pair]) -> None:
        """Let the model summarise what is left out, if this process has a model.

        It then covers half of the messages that are shown too, so that the next calls need no model. An error
        of the model is logged: the summary so far is used.
        """
        conversation = self.conversation
        if conversation.summarised_through >= reserved[0][0].seq - 1:
            return
        through = reserved[len(reserved) // 2][0].seq - 1
        _let_model_summarise(
            lambda provider, count_portion: summaries.extend_conversation_summary(
                provider, conversation, through, count_portion
            )
        )

    def _load_kept(self, strategy: str, before: int) -> list[Pair]:
        """Return the messages before this `seq` that the strategy keeps, in time order."""
        earlier = readable_messages(self.conversation).filter(seq__lt=before)
        if strategy == TOPICS:
            topic = find_active_topic(self.conversation.pk)
            room = self._topic_room
            return LoadedEnd(earlier.filter(topic=topic), room, self.counter.of).select(room)
        if strategy != HYBRID:
            return []
        room = self.max_tokens // _SYSTEM_SHARE
        system = LoadedEnd(earlier.filter(role=Role.SYSTEM), room, self.counter.of).select(room)
        # A tool call without its result, or a result without its call, is refused by models.
        spoken = earlier.filter(role__in=(Role.USER, Role.ASSISTANT), tool_calls__isnull=True)
        wanted = spoken.filter(Q(flagged=True) | Q(importance__gte=IMPORTANT))
        best = wanted.order_by("-flagged", "-importance", "-seq").values_list("seq", flat=True)
        places = {seq: place for place, seq in enumerate(best[:_MAX_IMPORTANT])}
        rows = load_undamaged(spoken.filter(seq__in=places))
        found = [(row, message) for row in rows for message in convert_messages([row])]
        left = max_flagged_tokens(self.max_tokens)
        important = []
        for pair in sorted(found, key=lambda pair: places[pair[0].seq]):
            if (tokens := self.counter.of(pair[1])) <= left:
                important.append(pair)
                left -= tokens
        return sorted([*system, *important], key=lambda pair: pair[0].seq)


def summarise_packed_messages(topic: Topic) -> None:
    """Let the model extend a topic's summary by its packed messages, if this process has a model.

    An error of the model is logged. `topic` needs its conversation.
    """
    if registry.status().state is not ModelState.READY:
        return
    if rows := list_unsummarised_messages(topic):
        _let_model_summarise(
            lambda provider, count_portion: summaries.extend_topic_summary(
                provider, topic, rows, count_portion
            )
        )


def _let_model_summarise(extend: Callable[[Provider, Callable[[], None]], object]) -> None:
    """Call `extend` with the model, if there is one, and a function that ends it after MAX_PORTIONS."""
    portions = iter(range(MAX_PORTIONS))

    def count_portion() -> None:
        if next(portions, None) is None:
            raise _EnoughSummarised

    try:
        extend(registry.provider(), count_portion)
    except (ModelNotReady, _EnoughSummarised):
        return
    except ProviderError:
        logger.warning("a session could not be summarised", exc_info=True)


def _make_head(text: str, when: datetime) -> SessionMessage:
    return SessionMessage(role="system", content=PREFIX + text, created_at=when)
