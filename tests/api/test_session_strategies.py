"""The strategy of a session chooses its recent messages; a summary comes first as "Previous context"."""

from __future__ import annotations

import pytest

from chat.api import MemoryManager, Message
from chat.api.session_context import MAX_PORTIONS, PREFIX
from chat.context import summary
from chat.errors import ProviderError
from chat.models import Conversation, Topic
from chat.models import Message as Row
from tests.scripted_summary import summarise_turns

pytestmark = pytest.mark.django_db

SUMMARISING = ["summarization", "hybrid"]
SUMMARY = "The user plans a trip to the fells with Tom."


def talk(count: int) -> list[tuple[str, str]]:
    """Return so many messages of small talk of ten tokens each."""
    return [
        (("user", "assistant")[n % 2], f"so it goes, line {'abcdefghij'[n % 10]} ...".ljust(40, "."))
        for n in range(count)
    ]


def contents(recent: list[Message]) -> list[str]:
    return [message.content for message in recent]


@pytest.mark.parametrize("strategy", [*SUMMARISING, "simple", "topics"])
def test_a_session_that_fits_is_returned_whole(manager, make_session, strategy):
    session = make_session(*talk(30), strategy=strategy, summary=SUMMARY, summarised_through=10)
    recent = manager.get_recent_messages(str(session.pk), 300)
    assert recent == manager.load_session(str(session.pk))


@pytest.mark.parametrize("strategy", SUMMARISING)
def test_the_summary_comes_first_as_a_system_message(manager, make_session, strategy):
    session = make_session(*talk(60), strategy=strategy, summary=SUMMARY, summarised_through=60)
    first, *rest = manager.get_recent_messages(str(session.pk), 200)
    assert (first.role, first.content) == ("system", f"Previous context: {SUMMARY}")
    assert contents(rest) == [text for _, text in talk(60)[-len(rest) :]]
    assert len(rest) > 10


def test_simple_has_no_summary(manager, make_session):
    session = make_session(*talk(60), strategy="simple", summary=SUMMARY, summarised_through=60)
    assert contents(manager.get_recent_messages(str(session.pk), 200)) == [t for _, t in talk(60)[-20:]]


@pytest.mark.parametrize("strategy", SUMMARISING)
def test_without_a_model_and_a_summary_only_the_newest_are_returned(manager, make_session, strategy):
    session = make_session(*talk(60), strategy=strategy)
    recent = manager.get_recent_messages(str(session.pk), 150)
    assert contents(recent) == [text for _, text in talk(60)[-15:]]


def test_summarization_returns_twenty_messages_at_most(manager, make_session):
    session = make_session(*talk(100), strategy="summarization", summary=SUMMARY, summarised_through=90)
    assert len(manager.get_recent_messages(str(session.pk), 900)) == 1 + 20


@pytest.mark.parametrize("strategy", [*SUMMARISING, "simple", "topics"])
@pytest.mark.parametrize("limit", [0, 1, 9, 10, 11, 25, 60, 200, 599])
def test_the_limit_is_never_exceeded(manager, make_session, strategy, limit):
    system = ("system", "Answer in rhymes, whatever is asked of you.")
    said = [*talk(20), system, *talk(20), ("user", "We decided to pay 1,500 euros on 3 May."), *talk(20)]
    session = make_session(*said, strategy=strategy, summary=SUMMARY * 20, summarised_through=50)
    recent = manager.get_recent_messages(str(session.pk), limit)
    assert sum(-(-len(m.content) // 4) for m in recent) <= limit
    if limit >= 10:
        assert recent[-1].content == said[-1][1]


def test_hybrid_keeps_system_messages_and_important_ones(manager, make_session):
    said = talk(80)
    said[3] = ("system", "Answer in rhymes.")
    said[9] = ("user", "We decided to pay 1,500 euros on 3 May.")
    said[12] = ("user", "A message that is marked by hand.")
    session = make_session(*said, strategy="hybrid")
    Row.objects.filter(seq=10).update(importance=0.9)
    Row.objects.filter(seq=13).update(flagged=True)
    recent = contents(manager.get_recent_messages(str(session.pk), 300))
    assert recent[:3] == [said[3][1], said[9][1], said[12][1]]
    assert recent[3:] == [text for _, text in said[-len(recent) + 3 :]]


def test_a_message_whose_mark_was_removed_is_not_kept(manager, make_session):
    said = talk(80)
    said[9] = ("user", "We decided to pay 1,500 euros on 3 May.")
    session = make_session(*said, strategy="hybrid")
    Row.objects.filter(seq=10).update(importance=0.0)
    assert said[9][1] not in contents(manager.get_recent_messages(str(session.pk), 300))


def test_a_saved_message_is_scored(manager):
    manager.save_message("s", Message(role="user", content="We decided to pay 1,500 euros on 3 May."))
    manager.save_message("s", Message(role="user", content="ok thanks"))
    manager.save_message("s", Message(role="tool", content="1,500 euros on 3 May"))
    important, courtesy, tool = Row.objects.order_by("seq").values_list("importance", flat=True)
    assert important is not None
    assert courtesy is not None
    assert important >= 0.5 > courtesy
    assert tool is None


def test_topics_keeps_the_current_topic_and_names_the_others(manager, make_session):
    session = make_session(*talk(60), strategy="topics")
    bread, boats = (Topic.objects.create(conversation=session, title=title) for title in ("Bread", "Boats"))
    Topic.objects.filter(pk=boats.pk).update(summary="They leak.")
    Row.objects.update(topic=boats)
    Row.objects.filter(seq__in=[5, 6, 60]).update(topic=bread, content="About bread.")
    recent = contents(manager.get_recent_messages(str(session.pk), 200))
    assert recent[0] == "Previous context: - Boats: They leak."
    assert recent[1:3] == ["About bread.", "About bread."]
    assert recent[-1] == "About bread."


class TestWithAModel:
    """A program that has loaded a model: the summary is written by the call that needs it."""

    @pytest.fixture(autouse=True)
    def _model(self, scripted):
        scripted.default_completion = summarise_turns

    @pytest.mark.parametrize("strategy", SUMMARISING)
    def test_what_is_left_out_is_summarised_and_stored(self, manager, make_session, strategy):
        session = make_session(*talk(60), strategy=strategy)
        first, *rest = manager.get_recent_messages(str(session.pk), 400)
        assert first.content.startswith(f"{PREFIX}The user: so it goes")
        kept = Conversation.objects.get()
        assert first.content == PREFIX + kept.summary
        assert kept.summarised_through >= 60 - len(rest)

    def test_the_next_calls_need_no_model_for_a_while(self, manager, make_session, scripted):
        session = make_session(*talk(60), strategy="summarization")
        before = manager.get_recent_messages(str(session.pk), 400)
        calls = len(scripted.calls)
        manager.save_message(str(session.pk), Message(role="user", content="And then?"))
        after = manager.get_recent_messages(str(session.pk), 400)
        assert after[0] == before[0]
        assert len(scripted.calls) == calls

    def test_one_call_summarises_a_few_portions_only(self, manager, make_session, scripted, monkeypatch):
        monkeypatch.setattr(summary, "PORTION_TOKENS", 30)
        session = make_session(*talk(600), strategy="hybrid")
        manager.get_recent_messages(str(session.pk), 400)
        assert len(scripted.calls) == MAX_PORTIONS
        through = Conversation.objects.get().summarised_through
        manager.get_recent_messages(str(session.pk), 400)
        assert Conversation.objects.get().summarised_through > through > 0

    @pytest.mark.parametrize("answer", ["", ProviderError("verbatim", sentence="The server is away.")])
    def test_a_failing_model_leaves_the_newest_messages(self, manager, make_session, scripted, answer):
        if answer == "":
            scripted.default_completion = ""
        else:
            scripted.completions.extend([answer] * 20)
        session = make_session(*talk(60), strategy="summarization")
        recent = manager.get_recent_messages(str(session.pk), 150)
        assert contents(recent)[-5:] == [text for _, text in talk(60)[-5:]]
        assert not any(text.startswith(PREFIX) for text in contents(recent))

    def test_simple_calls_no_model(self, manager, make_session, scripted):
        session = make_session(*talk(60), strategy="simple")
        manager.get_recent_messages(str(session.pk), 150)
        assert scripted.calls == []


def test_another_owner_reads_nothing_of_it(manager, make_session, other):
    session = make_session(*talk(60), strategy="hybrid", summary=SUMMARY, summarised_through=60)
    assert MemoryManager(owner=other).get_recent_messages(str(session.pk), 200) == []
