"""The numbers that rule a conversation's topics: matching, retiring, packing. No Django, no database."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

_LARGEST = 1_000_000
_YEAR_SECONDS = 366 * 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class TopicRules:
    """The parameters of a conversation's topics; raises ValueError, which names the parameter, for others.

    Above `max_topics` topics, those that have decayed retire; above twice as many the lowest retire in any
    case, because a conversation could otherwise keep any number of active topics. A message joins a topic
    when the cosine of their vectors is at least `similarity_threshold`; None stands for the thresholds
    measured for the embedder (`match.THRESHOLDS_BY_EMBEDDER`). The half-life of a topic is
    `base_half_life_seconds`, doubled for every `access_threshold_for_lt` accesses, at most
    `max_half_life_seconds`. A topic with more than `max_messages_per_topic` messages that are not packed is
    packed, except its newest `recent_message_keep`.
    """

    max_topics: int = 20
    similarity_threshold: float | None = None
    base_half_life_seconds: float = 86_400
    max_half_life_seconds: float = 2_592_000
    access_threshold_for_lt: int = 5
    max_messages_per_topic: int = 12
    recent_message_keep: int = 4

    def __post_init__(self) -> None:
        """Refuse values that no topic could follow."""
        _require_whole("max_topics", self.max_topics, 1, _LARGEST)
        if self.similarity_threshold is not None:
            _require_number("similarity_threshold", self.similarity_threshold, 0, 1)
        _require_number("base_half_life_seconds", self.base_half_life_seconds, 1, 100 * _YEAR_SECONDS)
        shortest = self.base_half_life_seconds
        _require_number("max_half_life_seconds", self.max_half_life_seconds, shortest, 100 * _YEAR_SECONDS)
        _require_whole("access_threshold_for_lt", self.access_threshold_for_lt, 1, _LARGEST)
        _require_whole("max_messages_per_topic", self.max_messages_per_topic, 1, _LARGEST)
        _require_whole("recent_message_keep", self.recent_message_keep, 0, self.max_messages_per_topic)

    @property
    def hard_max_topics(self) -> int:
        """The number of topics above which the lowest retire whatever their priority."""
        return 2 * self.max_topics


def _require_whole(name: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} is a whole number from {least} to {most}, not {value!r}.")


def _require_number(name: str, value: Any, least: float, most: float) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    if not is_number or not least <= value <= most:
        raise ValueError(f"{name} is a number from {least:g} to {most:g}, not {value!r}.")


DEFAULT_RULES = TopicRules()
