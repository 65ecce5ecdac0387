"""Each call of the model leaves a row, whatever came of it; the rows and the gauge of energy agree."""

from __future__ import annotations

from collections import Counter

import pytest
from django.utils import timezone

from chat.actions import conversations, energy, jobs
from chat.actions.accounts import accounted
from chat.actions.facts import add_fact
from chat.actions.owners import default_app
from chat.jobs import warm
from chat.jobs.runner import run_due
from chat.llm import meter
from chat.llm.scripted import ScriptedProvider
from chat.llm.types import Lane, ProviderError, StopFlag, Turn, Unfinished, Usage
from chat.memory import energy as arithmetic
from chat.models import Conversation, Job, Message, UsageRecord
from chat.statistics.words import PURPOSES

from .remembering import NOTE, TENT

pytestmark = pytest.mark.django_db
STOPPED = Unfinished(Usage(prompt_tokens=90, seconds=3.0, worked=3.0))


@pytest.fixture(autouse=True)
def costly(clock, scripted, at_once):
    """Time stands still, and a call takes three seconds."""
    scripted.seconds = lambda call: 3.0
    return scripted


def outcomes() -> Counter[tuple[str, str]]:
    return Counter(UsageRecord.objects.values_list("purpose", "outcome"))


def assert_the_gauge_agrees() -> None:
    spent = sum(UsageRecord.objects.values_list("energy", flat=True))
    assert spent > 0
    assert energy.level_now(timezone.now()) == pytest.approx(arithmetic.CAPACITY - spent)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("A tent for two", "stop"),
        ("none", "failed"),
        (ProviderError("No."), "failed"),
        (STOPPED, "cancelled"),
    ],
)
def test_a_title(say, scripted, clock, answer, outcome):
    say(TENT)
    Job.objects.filter(kind="extract").delete()
    Job.objects.update(run_after=clock(60))
    scripted.titles.append(answer)
    run_due({"title"})
    assert outcomes() == {("title", outcome): 1}
    assert_the_gauge_agrees()


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [(NOTE, "stop"), ("Nothing.", "failed"), (ProviderError("No."), "failed"), (STOPPED, "cancelled")],
)
def test_an_app_memory(say, scripted, answer, outcome):
    chat = say(TENT)
    conversations.end(chat)
    Job.objects.filter(kind="extract").delete()
    scripted.app_memories.append(answer)
    run_due({"app_memory"})
    assert outcomes() == {("app_memory", outcome): 1}
    assert_the_gauge_agrees()


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["delete 1"], {"stop": 1}),
        (["delete 99"], {"failed": 1}),
        ([STOPPED], {"cancelled": 1}),
    ],
)
def test_the_choice_among_app_memories(say, full, scripted, answers, expected):
    chat = say(TENT)
    conversations.end(chat)
    Job.objects.filter(kind="extract").delete()
    scripted.app_memories.append(NOTE)
    scripted.app_choices.extend(answers)
    run_due({"app_memory"})
    chosen = {how: n for (purpose, how), n in outcomes().items() if purpose == "app_choice"}
    assert chosen == expected
    assert_the_gauge_agrees()


def test_two_memories_of_one_thing_cost_no_call(say, full, scripted):
    scripted.app_memories.append(full[0].content)
    chat = say(f"{TENT} subject0 word0 user asked about")
    conversations.end(chat)
    Job.objects.filter(kind="extract").delete()
    run_due({"app_memory"})
    assert {call.slot for call in scripted.calls} == {"app_memory"}
    assert {purpose for purpose, _ in outcomes()} == {"app_memory"}


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["likes: User likes chess"], {"stop": 1}),
        (["no such form", "nor this"], {"stop": 1, "failed": 1}),
        (["no such form", STOPPED], {"stop": 1, "cancelled": 1}),
        (["no such form", ProviderError("No.")], {"stop": 1, "failed": 1}),
    ],
)
def test_a_look(say, scripted, clock, answers, expected):
    say("I like chess.")
    clock(2)
    scripted.completions.extend(answers)
    run_due({"extract"})
    assert outcomes() == {("extract", how): n for how, n in expected.items()}
    assert_the_gauge_agrees()


@pytest.mark.parametrize(("answer", "outcome"), [("Nothing", "failed"), (STOPPED, "cancelled")])
def test_a_summary(owner, scripted, answer, outcome):
    scripted.context_window = 2048
    talked = Conversation.objects.create(owner=owner, app=default_app(owner))
    Message.objects.bulk_create(
        Message(conversation=talked, seq=n, role="user" if n % 2 else "assistant", content="x" * 240)
        for n in range(1, 21)
    )
    scripted.default_completion = answer
    jobs.enqueue("prepare", {"conversation": str(talked.pk), "tokens": 1300, "window": 2048})
    run_due({"prepare"})
    assert {key for key, _ in outcomes().items()} == {("summary", outcome)}
    assert_the_gauge_agrees()


def test_what_the_user_waits_for_has_its_row_and_takes_no_energy(owner, scripted):
    add_fact(owner, "The green parrot sings on Sundays")
    run_due({"settle"})
    row = UsageRecord.objects.get()
    assert (row.purpose, row.lane, row.energy) == ("classify", "interactive", 0)
    assert energy.level_now(timezone.now()) == arithmetic.CAPACITY


class Ahead(ScriptedProvider):
    """A model that reads in advance, two seconds a piece, until it is told to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces = 0
        self.fails_after = 99

    def warm(self, turns, *, slot):
        meter.background.add(2.0)
        known = 100 * self.pieces
        self.pieces += 1
        usage = Usage(prompt_tokens=known + 100, cached_tokens=known, seconds=2.5, worked=2.0)
        if self.pieces > self.fails_after:
            problem = ProviderError("No.")
            problem.usage = usage
            raise problem
        return usage


LONG = [Turn("system", "You help."), *[Turn(who, "And?") for who in ("user", "assistant") * 3]]


def chat_of(owner) -> Conversation:
    return Conversation.objects.create(owner=owner, app=default_app(owner))


def test_a_prompt_that_is_read_in_advance_is_one_call(owner):
    warm.read_in_advance(Ahead(), chat_of(owner), LONG)
    row = UsageRecord.objects.get()
    assert (row.purpose, row.lane, row.outcome) == ("warm", "background", "stop")
    assert (row.prompt_tokens, row.cached_tokens, row.energy, row.seconds) == (300, 0, 6.0, 7.5)
    energy.settle()
    assert_the_gauge_agrees()


def test_what_failed_of_it_is_counted_too(owner):
    provider = Ahead()
    provider.fails_after = 2
    warm.read_in_advance(provider, chat_of(owner), LONG)
    assert outcomes() == {("warm", "failed"): 1}
    energy.settle()
    assert_the_gauge_agrees()


def test_a_provider_that_reads_nothing_in_advance_is_not_asked(owner, scripted):
    warm.read_in_advance(scripted, chat_of(owner), LONG)
    assert not UsageRecord.objects.exists()


def test_what_was_stopped_before_it_began_took_no_seconds(owner, scripted):
    stop = StopFlag()
    stop.set()
    with pytest.raises(Unfinished), accounted(scripted, owner.pk) as provider:
        provider.complete(LONG[:2], slot="title", lane=Lane.BACKGROUND, stop=stop)
    assert UsageRecord.objects.get().energy == 0


def test_each_purpose_has_words():
    from chat.context import summary, title
    from chat.memory import app_choice, app_memories, judge, reader

    slots = {module.SLOT for module in (summary, title, app_choice, app_memories, judge, reader)}
    assert slots | {"reply", "classify", "warm"} == PURPOSES.keys()
