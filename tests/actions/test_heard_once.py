"""A doubtful fact waits in the archive until it is mentioned a second time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import archive, deletions, extraction
from chat.actions.heard_once import MAX_PROJECT_FACTS, PROJECT_MESSAGES
from chat.memory.candidates import Extraction, FactCandidate
from chat.models import Durability, ExtractionRun, Fact, FactEvent, Message

pytestmark = pytest.mark.django_db

DOUBTFUL = FactCandidate(
    "User goes to the lake",
    "habit",
    "preference",
    "",
    hedged=False,
    quote="We go to the lake.",
    durability=Durability.DOUBTFUL,
)
SURE = replace(DOUBTFUL, durability=Durability.LASTING)


def record(message, *candidates: FactCandidate) -> ExtractionRun:
    run = extraction.record_extraction(
        message, Extraction(list(candidates)), [None] * len(candidates), "", 0.1
    )
    assert run is not None
    return run


@pytest.fixture
def heard(talk) -> Fact:
    """A fact that was heard once."""
    record(talk("We go to the lake.")[0], DOUBTFUL)
    return Fact.objects.get()


def test_a_doubtful_fact_is_not_live_and_not_counted_as_learned(talk):
    run = record(talk("We go to the lake.")[0], DOUBTFUL)
    assert run.stored == 0
    assert not Fact.objects.live().exists()
    assert not Fact.objects.archived().exists()
    assert Fact.objects.heard_once().get().text == "User goes to the lake"
    assert not FactEvent.objects.found_in([run.message_id]).exists()


@pytest.mark.parametrize("again", [DOUBTFUL, SURE])
def test_a_second_mention_makes_it_live(heard, talk, again):
    message = talk("Off to the lake again, as we always do.")[0]
    run = record(message, again)
    fact = Fact.objects.live().get()
    assert (fact.pk, fact.heard_once, fact.mention_count, run.stored) == (heard.pk, False, 2, 1)
    assert [e.kind for e in FactEvent.objects.found_in([message.pk])] == ["reinforce"]


def tool(number: int, **fields) -> FactCandidate:
    text = f"User works with tool{number}"
    return FactCandidate(text, "tools", "project", "", hedged=False, quote=f"tool{number}", **fields)


class TestManyFactsOfOneWork:
    """A conversation teaches so many facts about a piece of work, then they must be mentioned twice."""

    @pytest.fixture
    def many(self, talk, owner):
        """A conversation that has taught as many project facts as it may."""
        asked, _ = talk("We use many tools.")
        record(asked, *(tool(number) for number in range(MAX_PROJECT_FACTS)))
        return asked

    def learn(self, asked, *candidates) -> list[str]:
        message = Message.objects.create(
            conversation=asked.conversation, seq=asked.seq + 10, role="user", content="More tools."
        )
        record(message, *candidates)
        return [fact.text for fact in Fact.objects.heard_once()]

    def test_a_further_one_waits_for_a_second_mention(self, many):
        assert self.learn(many, tool(99)) == ["User works with tool99"]

    def test_the_limit_holds_within_one_message_too(self, talk):
        asked, _ = talk("We use many tools.")
        record(asked, *(tool(number) for number in range(MAX_PROJECT_FACTS + 2)))
        assert Fact.objects.live().count() == MAX_PROJECT_FACTS
        assert Fact.objects.heard_once().count() == 2

    def test_what_is_not_about_the_work_is_learned_at_once(self, many):
        assert self.learn(many, SURE) == []

    def test_what_the_user_asks_to_remember_is_learned_at_once(self, many):
        assert self.learn(many, tool(99, explicit=True)) == []

    def test_facts_of_much_earlier_do_not_count(self, many):
        many.seq += PROJECT_MESSAGES
        assert self.learn(many, tool(99)) == []

    def test_another_conversation_is_not_limited(self, many, talk):
        record(talk("And I use another one.")[0], tool(99))
        assert not Fact.objects.heard_once().exists()


def test_a_second_statement_in_the_same_message_is_no_second_mention(talk):
    record(talk("We go to the lake. To the lake!")[0], DOUBTFUL, DOUBTFUL)
    assert not Fact.objects.live().exists()
    assert Fact.objects.heard_once().count() == 1


def test_a_doubtful_candidate_reinforces_a_live_fact(talk, owner):
    record(talk("We go to the lake.")[0], SURE)
    run = record(talk("We go to the lake.")[0], DOUBTFUL)
    assert (run.reinforced, Fact.objects.live().get().mention_count) == (1, 2)


def test_a_doubtful_candidate_still_replaces_the_value_that_it_changes(talk):
    home = FactCandidate("User lives in Oslo", "home", "identity", "", hedged=False, quote="I live in Oslo.")
    record(talk("I live in Oslo.")[0], home)
    doubtful = replace(home, text="User lives in Bergen", durability=Durability.DOUBTFUL)
    record(talk("I live in Bergen.")[0], doubtful)
    assert [fact.text for fact in Fact.objects.live()] == ["User lives in Bergen"]


def test_the_owner_can_keep_it(heard):
    kept = archive.restore_archived_fact(heard)
    assert kept.heard_once is False
    assert Fact.objects.live().get() == heard


def test_it_is_deleted_after_thirty_days(heard, owner):
    later = timezone.now() + timedelta(days=30, minutes=1)
    assert archive.purge_archive(owner, later) == 1
    assert not Fact.objects.exists()


def test_it_is_not_learned_again_from_older_messages_after_it_was_forgotten(heard, owner, talk):
    older = talk("As I said, we go to the lake.")[0]
    deletion = deletions.forget_facts(owner, [heard.pk])
    assert not Fact.objects.heard_once().exists()
    deletions.finish_deletion(deletion.pk, deletion.expires_at + timedelta(minutes=1))
    record(older, SURE)
    assert not Fact.objects.exists()
