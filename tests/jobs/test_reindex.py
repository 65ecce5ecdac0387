"""After a change of the embedder facts, entities and topics get vectors of the new embedder."""

from __future__ import annotations

import numpy as np
import pytest
from django.utils import timezone

from chat.actions import fact_bulk, graph
from chat.actions.owners import default_app
from chat.jobs import embeddings, runner
from chat.llm.registry import registry
from chat.models import Conversation, Entity, Fact, Message, Topic
from chat.topics.match import MEAN_WINDOW

pytestmark = pytest.mark.django_db


class Embedder:
    """An embedder with a given name whose vectors count letters."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: list[str] = []

    def embed(self, texts):
        self.asked += texts
        return np.array([[len(text), text.count("e"), 1] for text in texts], dtype=np.float32)


@pytest.fixture
def use_embedder(scripted):
    """Return a function that registers an embedder with a given name."""

    def use_embedder(name: str) -> Embedder:
        new = Embedder(name)
        registry.use(scripted, embedder=new)
        return new

    yield use_embedder
    registry.use(scripted)


def test_facts_with_another_or_no_embedder_are_embedded_again(use_embedder, make_fact):
    old = make_fact("User likes tea", embedder="old", embedding=b"1234")
    bare = make_fact("User likes chess")
    use_embedder("new")
    embeddings.reindex({})
    for fact in (old, bare):
        fact.refresh_from_db()
        assert fact.embedder == "new"
        assert np.frombuffer(fact.embedding, dtype=np.float32)[0] == len(fact.text)


def test_facts_with_a_current_vector_are_skipped(use_embedder, make_fact):
    make_fact("User likes tea", embedder="new", embedding=b"1234")
    used = use_embedder("new")
    embeddings.reindex({})
    assert used.asked == []


def test_more_facts_than_a_batch_are_all_embedded(use_embedder, owner):
    Fact.objects.bulk_create(
        Fact(owner=owner, text=f"User owns book {i}", category="identity", kind="event", confidence=0.7)
        for i in range(fact_bulk.EMBEDDING_BATCH * 2 + 1)
    )
    use_embedder("new")
    embeddings.reindex({})
    assert not Fact.objects.exclude(embedder="new").exists()


def test_a_vector_of_a_changed_text_is_not_stored(make_fact):
    fact = make_fact("User likes tea")
    seen = fact_bulk.find_outdated_embeddings("new")
    Fact.objects.filter(pk=fact.pk).update(text="User likes coffee")
    fact_bulk.store_embeddings(seen, [np.ones(3, dtype=np.float32)], "new")
    fact.refresh_from_db()
    assert (fact.embedding, fact.embedder) == (None, "")


def test_without_an_embedder_nothing_happens(scripted, make_fact):
    fact = make_fact("User likes tea", embedder="old", embedding=b"1234")
    embeddings.reindex({})
    fact.refresh_from_db()
    assert fact.embedder == "old"


def test_entities_get_vectors_once_a_fact_names_them(use_embedder, make_fact, clock):
    use_embedder("new")
    graph.sync_fact(make_fact("User lives in Bergen", kind="home"))
    runner.run_due(["reindex"])
    entity = Entity.objects.get(name="Bergen")
    assert entity.embedder == "new"
    assert np.frombuffer(entity.embedding, dtype=np.float32)[0] == len("Bergen")
    used = use_embedder("newer")
    embeddings.reindex({})
    assert "Bergen" in used.asked


def make_topic(owner, *texts: str, **fields) -> Topic:
    """Return a topic with a vector of the embedder "old" and user messages of these texts."""
    conversation = Conversation.objects.create(owner=owner, app=default_app(owner))
    topic = Topic.objects.create(conversation=conversation, embedding=b"1234", embedder="old", **fields)
    for seq, text in enumerate(texts, 1):
        Message.objects.create(conversation=conversation, seq=seq, role="user", content=text, topic=topic)
    return topic


def test_topics_get_the_mean_of_their_newest_messages(use_embedder, owner):
    texts = [f"How long does the dough number {n} have to rest{'!' * n}" for n in range(MEAN_WINDOW + 2)]
    topic = make_topic(owner, *texts, "ok thanks")
    use_embedder("new")
    embeddings.reindex({})
    topic.refresh_from_db()
    assert topic.embedder == "new"
    newest = texts[-MEAN_WINDOW:]
    mean = sum(map(len, newest)) / len(newest)
    assert np.frombuffer(topic.embedding, dtype=np.float32)[0] == pytest.approx(mean)


def test_a_topic_of_small_talk_loses_its_vector(use_embedder, owner):
    topic = make_topic(owner, "ok thanks")
    use_embedder("new")
    embeddings.reindex({})
    topic.refresh_from_db()
    assert (topic.embedding, topic.embedder) == (None, "")


def test_retired_topics_and_current_vectors_are_skipped(use_embedder, owner, clock):
    text = "How long does the dough have to rest?"
    retired = make_topic(owner, text, retired_at=timezone.now())
    used = use_embedder("new")
    embeddings.reindex({})
    retired.refresh_from_db()
    assert (retired.embedder, used.asked) == ("old", [])
