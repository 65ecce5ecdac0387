"""A changed embedder gives every fact a vector of its own; until then memory works by words."""

from __future__ import annotations

import numpy as np
import pytest

from chat.actions import vectors
from chat.jobs import handlers
from chat.llm.registry import registry
from chat.models import Fact

pytestmark = pytest.mark.django_db


class Embedder:
    """Counts letters, under whatever name a test gives it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: list[str] = []

    def embed(self, texts):
        self.asked += texts
        return np.array([[len(text), text.count("e"), 1] for text in texts], dtype=np.float32)


@pytest.fixture
def embedder(scripted):
    """Returns a function that puts an embedder of a name in the place of the one before."""

    def use(name: str) -> Embedder:
        new = Embedder(name)
        registry.use(scripted, embedder=new)
        return new

    yield use
    registry.use(scripted)


def test_facts_of_another_embedder_and_of_none_are_embedded_anew(embedder, make_fact):
    old = make_fact("User likes tea", embedder="old", embedding=b"1234")
    bare = make_fact("User likes chess")
    embedder("new")
    handlers.reindex({})
    for fact in (old, bare):
        fact.refresh_from_db()
        assert fact.embedder == "new"
        assert np.frombuffer(fact.embedding, dtype=np.float32)[0] == len(fact.text)


def test_what_has_the_right_vector_already_is_left_alone(embedder, make_fact):
    make_fact("User likes tea", embedder="new", embedding=b"1234")
    used = embedder("new")
    handlers.reindex({})
    assert used.asked == []


def test_more_facts_than_a_batch_are_all_done(embedder, owner):
    Fact.objects.bulk_create(
        Fact(owner=owner, text=f"User owns book {i}", category="identity", kind="event", confidence=0.7)
        for i in range(vectors.BATCH * 2 + 1)
    )
    embedder("new")
    handlers.reindex({})
    assert not Fact.objects.exclude(embedder="new").exists()


def test_a_text_that_changed_meanwhile_keeps_no_vector_of_the_old_one(make_fact):
    fact = make_fact("User likes tea")
    seen = vectors.outdated("new")
    Fact.objects.filter(pk=fact.pk).update(text="User likes coffee")
    vectors.store(seen, [np.ones(3, dtype=np.float32)], "new")
    fact.refresh_from_db()
    assert (fact.embedding, fact.embedder) == (None, "")


def test_without_an_embedder_nothing_happens(scripted, make_fact):
    fact = make_fact("User likes tea", embedder="old", embedding=b"1234")
    handlers.reindex({})
    fact.refresh_from_db()
    assert fact.embedder == "old"
