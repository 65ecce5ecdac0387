"""Each model call is recorded, whatever its outcome; the records agree with the stored energy level."""

from __future__ import annotations

from collections import Counter

import pytest
from django.utils import timezone

from chat.actions import conversations, energy, jobs
from chat.actions.facts import add_fact
from chat.actions.owners import default_app
from chat.actions.usage import account_calls
from chat.errors import ProviderError, Unfinished
from chat.jobs import prompts
from chat.jobs.runner import run_due
from chat.llm import meter
from chat.llm.scripted import ScriptedProvider
from chat.llm.types import GenerationOptions, Lane, StopFlag, Turn, Usage
from chat.memory import energy as arithmetic
from chat.models import Conversation, Job, Message, UsageRecord
from chat.statistics.pictures import PURPOSES

from .app_memory_samples import TENT_MEMORY, TENT_MESSAGE

pytestmark = pytest.mark.django_db
STOPPED = Unfinished(Usage(prompt_tokens=90, seconds=3.0, worked_seconds=3.0))


@pytest.fixture(autouse=True)
def fixed_call_time(clock, scripted, immediate_app_memories):
    """The clock is frozen, and each model call takes three seconds."""
    scripted.seconds = lambda call: 3.0
    return scripted


def count_outcomes() -> Counter[tuple[str, str]]:
    return Counter(UsageRecord.objects.values_list("purpose", "outcome"))


def assert_energy_matches_records() -> None:
    spent = sum(UsageRecord.objects.values_list("energy", flat=True))
    assert spent > 0
    assert energy.read_level(timezone.now()) == pytest.approx(arithmetic.CAPACITY - spent)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("A tent for two", "stop"),
        ("none", "failed"),
        (ProviderError("verbatim", sentence="No."), "failed"),
        (STOPPED, "cancelled"),
    ],
)
def test_a_title_call_is_recorded(add_exchange, scripted, clock, answer, outcome):
    add_exchange(TENT_MESSAGE)
    Job.objects.filter(kind="extract").delete()
    Job.objects.update(run_after=clock(60))
    scripted.titles.append(answer)
    run_due({"title"})
    assert count_outcomes() == {("title", outcome): 1}
    assert_energy_matches_records()


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (TENT_MEMORY, "stop"),
        ("Nothing.", "failed"),
        (ProviderError("verbatim", sentence="No."), "failed"),
        (STOPPED, "cancelled"),
    ],
)
def test_an_app_memory_call_is_recorded(add_exchange, scripted, answer, outcome):
    chat = add_exchange(TENT_MESSAGE)
    conversations.end_conversation(chat)
    Job.objects.filter(kind="extract").delete()
    scripted.app_memories.append(answer)
    run_due({"app_memory"})
    assert count_outcomes() == {("app_memory", outcome): 1}
    assert_energy_matches_records()


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["delete 1"], {"stop": 1}),
        (["delete 99"], {"failed": 1}),
        ([STOPPED], {"cancelled": 1}),
    ],
)
def test_an_app_memory_choice_call_is_recorded(add_exchange, ten_memories, scripted, answers, expected):
    chat = add_exchange(TENT_MESSAGE)
    conversations.end_conversation(chat)
    Job.objects.filter(kind="extract").delete()
    scripted.app_memories.append(TENT_MEMORY)
    scripted.app_choices.extend(answers)
    run_due({"app_memory"})
    chosen = {how: n for (purpose, how), n in count_outcomes().items() if purpose == "app_choice"}
    assert chosen == expected
    assert_energy_matches_records()


def test_a_similar_app_memory_needs_no_choice_call(add_exchange, ten_memories, scripted):
    scripted.app_memories.append(ten_memories[0].content)
    chat = add_exchange(f"{TENT_MESSAGE} subject0 word0 user asked about")
    conversations.end_conversation(chat)
    Job.objects.filter(kind="extract").delete()
    run_due({"app_memory"})
    assert {call.slot for call in scripted.calls} == {"app_memory"}
    assert {purpose for purpose, _ in count_outcomes()} == {"app_memory"}


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["likes: User likes chess"], {"stop": 1}),
        (["no such form", "nor this"], {"stop": 1, "failed": 1}),
        (["no such form", STOPPED], {"stop": 1, "cancelled": 1}),
        (["no such form", ProviderError("verbatim", sentence="No.")], {"stop": 1, "failed": 1}),
    ],
)
def test_extraction_calls_are_recorded(add_exchange, scripted, clock, answers, expected):
    add_exchange("I like chess.")
    clock(2)
    scripted.completions.extend(answers)
    run_due({"extract"})
    assert count_outcomes() == {("extract", how): n for how, n in expected.items()}
    assert_energy_matches_records()


@pytest.mark.parametrize(("answer", "outcome"), [("Nothing", "failed"), (STOPPED, "cancelled")])
def test_a_summary_call_is_recorded(owner, scripted, answer, outcome):
    scripted.context_window = 2048
    talked = Conversation.objects.create(owner=owner, app=default_app(owner))
    Message.objects.bulk_create(
        Message(conversation=talked, seq=n, role="user" if n % 2 else "assistant", content="x" * 240)
        for n in range(1, 21)
    )
    scripted.default_completion = answer
    jobs.enqueue("prepare", {"conversation": str(talked.pk), "tokens": 1300, "window": 2048})
    run_due({"prepare"})
    assert {key for key, _ in count_outcomes().items()} == {("summary", outcome)}
    assert_energy_matches_records()


def test_an_interactive_call_is_recorded_and_spends_no_energy(owner, scripted):
    add_fact(owner, "The green parrot sings on Sundays")
    run_due({"settle"})
    row = UsageRecord.objects.get()
    assert (row.purpose, row.lane, row.energy) == ("classify", "interactive", 0)
    assert energy.read_level(timezone.now()) == arithmetic.CAPACITY


class PrefillingProvider(ScriptedProvider):
    """A provider whose prefill takes two seconds a call and fails after `fails_after` calls."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces = 0
        self.fails_after = 99

    def prefill(self, turns, *, slot, owner):
        meter.background.add(2.0)
        known = 100 * self.pieces
        self.pieces += 1
        usage = Usage(prompt_tokens=known + 100, cached_tokens=known, seconds=2.5, worked_seconds=2.0)
        if self.pieces > self.fails_after:
            problem = ProviderError("verbatim", sentence="No.")
            problem.usage = usage
            raise problem
        return usage


LONG = [Turn("system", "You help."), *[Turn(who, "And?") for who in ("user", "assistant") * 3]]


def chat_of(owner) -> Conversation:
    return Conversation.objects.create(owner=owner, app=default_app(owner))


def test_prefilling_a_prompt_is_recorded_as_one_call(owner):
    prompts.read_in_advance(PrefillingProvider(), chat_of(owner), LONG)
    row = UsageRecord.objects.get()
    assert (row.purpose, row.lane, row.outcome) == ("warm", "background", "stop")
    assert (row.prompt_tokens, row.cached_tokens, row.energy, row.seconds) == (300, 0, 6.0, 7.5)
    energy.save_meter()
    assert_energy_matches_records()


def test_a_failed_prefill_is_recorded(owner):
    provider = PrefillingProvider()
    provider.fails_after = 2
    prompts.read_in_advance(provider, chat_of(owner), LONG)
    assert count_outcomes() == {("warm", "failed"): 1}
    energy.save_meter()
    assert_energy_matches_records()


def test_a_provider_without_prefill_is_not_called(owner, scripted):
    prompts.read_in_advance(scripted, chat_of(owner), LONG)
    assert not UsageRecord.objects.exists()


def test_a_call_stopped_before_its_start_spends_no_energy(owner, scripted):
    stop = StopFlag()
    stop.set()
    with pytest.raises(Unfinished), account_calls(scripted, owner.pk) as provider:
        provider.complete(LONG[:2], GenerationOptions(slot="title", lane=Lane.BACKGROUND, stop=stop))
    assert UsageRecord.objects.get().energy == 0


def test_each_purpose_has_a_label():
    from chat.context import summary, title
    from chat.memory import app_memories, app_memory_eviction, extractor, judge

    slots = {module.SLOT for module in (summary, title, app_memory_eviction, app_memories, judge, extractor)}
    assert slots | {"reply", "classify", "warm"} == PURPOSES.keys()
