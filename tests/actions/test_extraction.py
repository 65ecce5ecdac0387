"""An extraction is recorded once per message, in one transaction."""

from __future__ import annotations

import pytest

from chat.actions import extraction as extraction_module
from chat.error_messages import describe
from chat.memory.candidates import Extraction, FactCandidate, RefusedFact
from chat.models import Conversation, ExtractionRun, Fact, FactEvent

pytestmark = pytest.mark.django_db


def make_candidate(
    text: str, kind: str = "likes", category: str = "preference", subject: str = ""
) -> FactCandidate:
    return FactCandidate(
        text, kind, category, subject, hedged=False, quote=f"They said: {text}", language="en"
    )


def record_found(message, *candidates, **found):
    extraction = Extraction(list(candidates), **found)
    return extraction_module.record_extraction(message, extraction, [None] * len(candidates), "", 0.5)


def make_home_candidate(city: str) -> FactCandidate:
    return make_candidate(f"User lives in {city}", "home", "identity")


def test_an_extraction_stores_facts_with_their_source_and_moves_the_watermark(talk):
    asked, _ = talk("I like chess and I live in Oslo.")
    run = record_found(asked, make_candidate("User likes chess"), make_home_candidate("Oslo"))
    assert (run.stored, run.reinforced) == (2, 0)
    assert Conversation.objects.get().extracted_through == asked.seq
    fact = Fact.objects.get(kind="home")
    assert (fact.source_message, fact.source_conversation) == (asked, asked.conversation)
    assert (fact.confidence, fact.mention_count, fact.origin) == (0.75, 1, "extracted")
    assert fact.quote == "They said: User lives in Oslo"
    event = FactEvent.objects.get(fact=fact)
    assert (event.kind, event.actor, event.source_message) == ("add", "memory", asked)


def test_recording_the_same_message_twice_stores_nothing_twice(talk):
    asked, _ = talk("I like chess.")
    record_found(asked, make_candidate("User likes chess"))
    assert record_found(asked, make_candidate("User likes chess"), make_candidate("User likes tea")) is None
    fact = Fact.objects.get()
    assert (fact.text, fact.mention_count) == ("User likes chess", 1)
    assert ExtractionRun.objects.count() == FactEvent.objects.count() == 1


def test_a_message_below_the_watermark_is_not_recorded(talk, owner):
    asked, _ = talk("I like chess.")
    Conversation.objects.update(extracted_through=99)
    assert record_found(asked, make_candidate("User likes chess")) is None
    assert not Fact.objects.exists()


def test_a_repeated_fact_in_one_message_counts_as_one_mention(talk, make_fact):
    known = make_fact("User likes chess")
    asked, _ = talk("Chess is what I like. I like chess!")
    run = record_found(asked, make_candidate("User likes chess"), make_candidate("User likes chess."))
    known.refresh_from_db()
    assert (run.reinforced, known.mention_count) == (1, 2)
    assert [describe(refused["reason"]) for refused in run.refused] == ["said twice in one message"]


def test_a_new_fact_repeated_in_its_message_counts_as_one_mention(talk):
    asked, _ = talk("Chess is what I like. I like chess!")
    record_found(asked, make_candidate("User likes chess"), make_candidate("User likes chess."))
    assert Fact.objects.get().mention_count == 1


def test_a_known_fact_is_reinforced_with_its_source(talk, make_fact):
    known = make_fact("User likes chess")
    asked, _ = talk("I like chess!")
    run = record_found(asked, make_candidate("user likes chess"))
    known.refresh_from_db()
    assert (run.stored, run.reinforced) == (0, 1)
    assert (known.mention_count, known.confidence) == (2, 0.9)
    event = FactEvent.objects.get()
    assert (event.kind, event.before["mention_count"], event.source_message) == ("reinforce", 1, asked)


def test_a_new_single_valued_fact_supersedes_the_old_one(talk, make_fact):
    old = make_fact("User lives in Oslo", kind="home", category="identity", pinned=True, confidence=1.0)
    asked, _ = talk("I moved to Bergen.")
    run = record_found(asked, make_home_candidate("Bergen"))
    old.refresh_from_db()
    new = Fact.objects.live().get()
    assert run.stored == 1
    assert (new.text, new.supersedes, new.confidence) == ("User lives in Bergen", old, 0.75)
    assert old.superseded_at is not None
    assert (new.pinned, old.pinned) == (True, False)
    assert {(e.kind, e.fact_id) for e in FactEvent.objects.all()} == {("add", new.pk), ("supersede", old.pk)}


def test_a_failing_extraction_rolls_back(talk, make_fact, monkeypatch):
    old = make_fact("User lives in Oslo", kind="home", category="identity")
    asked, _ = talk("I like chess and moved to Bergen.")

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(ExtractionRun, "save", interrupt)
    with pytest.raises(KeyboardInterrupt):
        record_found(asked, make_candidate("User likes chess"), make_home_candidate("Bergen"))
    old.refresh_from_db()
    assert old.superseded_at is None
    assert Fact.objects.get() == old
    assert not FactEvent.objects.exists()
    assert Conversation.objects.get().extracted_through == 0


def test_of_two_values_in_one_message_the_last_stays(talk):
    asked, _ = talk("I lived in Oslo, now I live in Bergen.")
    record_found(asked, make_home_candidate("Oslo"), make_home_candidate("Bergen"))
    assert [f.text for f in Fact.objects.live()] == ["User lives in Bergen"]


def test_a_fact_pending_deletion_is_not_reinforced(talk, owner, make_fact):
    from chat.actions import deletions

    gone = make_fact("User likes chess")
    deletions.forget_facts(owner, [gone.pk])
    asked, _ = talk("I like chess.")
    assert record_found(asked, make_candidate("User likes chess")).stored == 1
    gone.refresh_from_db()
    assert gone.mention_count == 1


def test_other_owners_facts_are_neither_reinforced_nor_superseded(talk, other, make_fact):
    theirs = make_fact("User lives in Oslo", kind="home", category="identity", owner=other)
    asked, _ = talk("I live in Bergen.")
    record_found(asked, make_home_candidate("Bergen"))
    theirs.refresh_from_db()
    assert theirs.superseded_at is None


def test_refused_facts_and_errors_are_stored_with_the_extraction_run(talk):
    asked, _ = talk("Maybe I will move.")
    run = record_found(asked, refused=[RefusedFact("User will move", "not sure")], error="unreadable")
    assert run.refused == [{"text": "User will move", "reason": "not sure"}]
    assert run.error == "unreadable"
    assert Conversation.objects.get().extracted_through == asked.seq
