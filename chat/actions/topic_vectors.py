"""New vectors for topics, after a change of the embedder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chat.models import Message, Role, Topic
from chat.topics.contents import load_contents
from chat.topics.match import MEAN_WINDOW, Vector, is_too_short, update_topic_vector

BATCH = 20  # topics; at most 160 messages are embedded at once

Embed = Callable[[Sequence[str]], Sequence[Vector]]


def find_outdated_topics(embedder_name: str) -> list[Topic]:
    """Return up to `BATCH` topics that are matched with messages and have a vector of another embedder."""
    current = Topic.objects.filter(retired_at__isnull=True, embedding__isnull=False)
    return list(current.exclude(embedder=embedder_name).only("embedder").order_by("pk")[:BATCH])


def embed_topics(topics: Sequence[Topic], embed: Embed, embedder_name: str) -> None:
    """Compute and store the vector of each topic from its newest messages.

    A topic without a message that says enough loses its vector, and so does not come again. Nothing is
    stored for a topic that got a new vector from a message meanwhile. Blocks while `embed` computes: call it
    outside any transaction.
    """
    texts = _load_newest_texts(topics)
    vectors = iter(embed([text for topic in topics for text in texts[topic.pk]]))
    for topic in topics:
        mean: Vector | None = None
        for seen, _text in enumerate(texts[topic.pk]):
            mean = update_topic_vector(mean, next(vectors), seen)
        blob = None if mean is None else mean.astype(np.float32).tobytes()
        Topic.objects.filter(pk=topic.pk, embedder=topic.embedder).update(
            embedding=blob, embedder="" if blob is None else embedder_name
        )


def _load_newest_texts(topics: Sequence[Topic]) -> dict[Any, list[str]]:
    """Return the newest MEAN_WINDOW texts of each topic's user messages that say enough, oldest first."""
    said = Message.objects.filter(topic__in=topics, role=Role.USER).current_branch()
    texts: dict[Any, list[str]] = defaultdict(list)
    for message in load_contents(said.order_by("seq")):
        if not is_too_short(message.content):
            texts[message.topic_id].append(message.content)
    return defaultdict(list, {key: found[-MEAN_WINDOW:] for key, found in texts.items()})
