"""What memory found in a message is applied once, as a whole, or not at all."""

from __future__ import annotations

import pytest

from chat.actions import looks
from chat.memory.extract import Candidate, Extraction, Refusal
from chat.models import Conversation, ExtractionRun, Fact, FactEvent

pytestmark = pytest.mark.django_db


def candidate(text: str, kind: str = "likes", category: str = "preference", subject: str = "") -> Candidate:
    return Candidate(text, kind, category, subject, hedged=False, quote=f"They said: {text}", language="en")


def look(message, *candidates, **found):
    extraction = Extraction(list(candidates), **found)
    return looks.record_look(message, extraction, [None] * len(candidates), "", 0.5)


def home(city: str) -> Candidate:
    return candidate(f"User lives in {city}", "home", "identity")


def test_a_look_stores_facts_with_their_source_and_moves_the_watermark(talk):
    asked, _ = talk("I like chess and I live in Oslo.")
    run = look(asked, candidate("User likes chess"), home("Oslo"))
    assert (run.stored, run.reinforced) == (2, 0)
    assert Conversation.objects.get().extracted_through == asked.seq
    fact = Fact.objects.get(kind="home")
    assert (fact.source_message, fact.source_conversation) == (asked, asked.conversation)
    assert (fact.confidence, fact.mention_count, fact.origin) == (0.75, 1, "extracted")
    assert fact.quote == "They said: User lives in Oslo"
    event = FactEvent.objects.get(fact=fact)
    assert (event.kind, event.actor, event.source_message) == ("add", "memory", asked)


def test_the_same_message_looked_at_twice_stores_nothing_twice(talk):
    asked, _ = talk("I like chess.")
    look(asked, candidate("User likes chess"))
    assert look(asked, candidate("User likes chess"), candidate("User likes tea")) is None
    fact = Fact.objects.get()
    assert (fact.text, fact.mention_count) == ("User likes chess", 1)
    assert ExtractionRun.objects.count() == FactEvent.objects.count() == 1


def test_an_older_message_than_the_watermark_is_not_applied(talk, owner):
    asked, _ = talk("I like chess.")
    Conversation.objects.update(extracted_through=99)
    assert look(asked, candidate("User likes chess")) is None
    assert not Fact.objects.exists()


def test_one_message_mentions_a_fact_once_however_often_it_says_it(talk, make_fact):
    known = make_fact("User likes chess")
    asked, _ = talk("Chess is what I like. I like chess!")
    run = look(asked, candidate("User likes chess"), candidate("User likes chess."))
    known.refresh_from_db()
    assert (run.reinforced, known.mention_count) == (1, 2)
    assert [refused["reason"] for refused in run.refused] == ["said twice in one message"]


def test_what_a_message_taught_is_not_said_again_by_the_same_message(talk):
    asked, _ = talk("Chess is what I like. I like chess!")
    look(asked, candidate("User likes chess"), candidate("User likes chess."))
    assert Fact.objects.get().mention_count == 1


def test_what_is_said_again_is_reinforced_with_its_source(talk, make_fact):
    known = make_fact("User likes chess")
    asked, _ = talk("I like chess!")
    run = look(asked, candidate("user likes chess"))
    known.refresh_from_db()
    assert (run.stored, run.reinforced) == (0, 1)
    assert (known.mention_count, known.confidence) == (2, 0.9)
    event = FactEvent.objects.get()
    assert (event.kind, event.before["mention_count"], event.source_message) == ("reinforce", 1, asked)


def test_a_new_single_value_takes_the_place_of_the_old_one(talk, make_fact):
    old = make_fact("User lives in Oslo", kind="home", category="identity", pinned=True, confidence=1.0)
    asked, _ = talk("I moved to Bergen.")
    run = look(asked, home("Bergen"))
    old.refresh_from_db()
    new = Fact.objects.live().get()
    assert run.stored == 1
    assert (new.text, new.supersedes, new.confidence) == ("User lives in Bergen", old, 0.75)
    assert old.superseded_at is not None
    assert (new.pinned, old.pinned) == (True, False)
    assert {(e.kind, e.fact_id) for e in FactEvent.objects.all()} == {("add", new.pk), ("supersede", old.pk)}


def test_a_look_that_fails_half_way_changes_nothing(talk, make_fact, monkeypatch):
    old = make_fact("User lives in Oslo", kind="home", category="identity")
    asked, _ = talk("I like chess and moved to Bergen.")

    def killed(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(ExtractionRun, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        look(asked, candidate("User likes chess"), home("Bergen"))
    old.refresh_from_db()
    assert old.superseded_at is None
    assert Fact.objects.get() == old
    assert not FactEvent.objects.exists()
    assert Conversation.objects.get().extracted_through == 0


def test_two_values_in_one_message_leave_one(talk):
    asked, _ = talk("I lived in Oslo, now I live in Bergen.")
    look(asked, home("Oslo"), home("Bergen"))
    assert [f.text for f in Fact.objects.live()] == ["User lives in Bergen"]


def test_what_is_on_its_way_out_is_not_reinforced(talk, owner, make_fact):
    from chat.actions import deletions

    gone = make_fact("User likes chess")
    deletions.forget(owner, [gone.pk])
    asked, _ = talk("I like chess.")
    assert look(asked, candidate("User likes chess")).stored == 1
    gone.refresh_from_db()
    assert gone.mention_count == 1


def test_another_persons_facts_are_neither_reinforced_nor_replaced(talk, other, make_fact):
    theirs = make_fact("User lives in Oslo", kind="home", category="identity", owner=other)
    asked, _ = talk("I live in Bergen.")
    look(asked, home("Bergen"))
    theirs.refresh_from_db()
    assert theirs.superseded_at is None


def test_what_was_refused_and_what_went_wrong_is_kept_with_the_look(talk):
    asked, _ = talk("Maybe I will move.")
    run = look(asked, refused=[Refusal("User will move", "not sure")], error="unreadable")
    assert run.refused == [{"text": "User will move", "reason": "not sure"}]
    assert run.error == "unreadable"
    assert Conversation.objects.get().extracted_through == asked.seq
