"""Simulates a day of chatting with a moved clock and a scripted model with the default model's call times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import cycle
from typing import Any

import time_machine
from django.utils import timezone

from chat.actions import energy, messages, prompts
from chat.context.prompt import build_prompt
from chat.jobs import runner, schedule
from chat.jobs.registry import PERIODIC
from chat.llm.registry import registry
from chat.llm.scripted import Call, ScriptedProvider
from chat.llm.types import Lane, Turn
from chat.models import Conversation, Job, Message, MessageState
from tests.scripted_summary import summarise_turns

BEGIN = "2026-03-02 09:00+00:00"
# Seconds of a call of each kind with the default model on two cores; all other calls are app memories.
SECONDS = {"extract": 2.8, "consolidate": 1.0, "title": 1.5, "summary": 8.0}
APP_MEMORY = 12.0
REPLY_SECONDS = 12.0
# Messages per conversation, for successive conversations.
LENGTHS = (6, 12, 4, 25, 8, 45)
# Every 40th message is an explicit request to remember something.
REQUEST_INTERVAL = 40
THINGS = ("chess", "rye bread", "night trains", "old maps", "tomatoes", "jazz", "long walks", "oat milk")


@dataclass
class SimulatedDay:
    """The results of a simulated day; `spent` is background model time in seconds by purpose."""

    per_hour: int
    chatting: timedelta
    messages: int = 0
    conversations: int = 0
    spent: dict[str, float] = field(default_factory=dict)
    while_chatting: float = 0.0
    lowest: int = 100
    most_waiting: int = 0
    seen_waiting: set[str] = field(default_factory=set)
    longest_told: timedelta = timedelta()
    longest_read: timedelta = timedelta()
    all_done: timedelta = timedelta()
    unread: int = 0
    given_up: int = 0

    @property
    def total(self) -> float:
        """The total background model time in seconds."""
        return sum(self.spent.values())

    @property
    def share(self) -> float:
        """The share of the chatting time in which the model worked in the background, 0 to 1."""
        return self.while_chatting / self.chatting.total_seconds()


class Simulation:
    """An owner who writes `per_hour` messages an hour for `hours`, and the jobs that become due meanwhile."""

    def __init__(self, owner: Any, traveller: time_machine.Traveller, per_hour: int, hours: float) -> None:
        self.owner, self.traveller = owner, traveller
        self.day = SimulatedDay(per_hour, timedelta(hours=hours))
        self.provider = ScriptedProvider(default_completion=self._answer)
        self.provider.seconds = self._call_seconds
        registry.use(self.provider, label="Simulated")
        self._unread: list[Message] = []

    def run(self, until_done: timedelta) -> SimulatedDay:
        """Chat, then advance the clock until no job waits, by at most `until_done`."""
        began = timezone.now()
        schedule.enqueue_all(began)
        pause = timedelta(hours=1) / self.day.per_hour
        for number, conversation in enumerate(self._conversations()):
            at = began + number * pause
            if at >= began + self.day.chatting:
                break
            self._wait_until(at)
            self._say(number, conversation)
        self._wait_until(began + self.day.chatting)
        self.day.while_chatting = sum(self.day.spent.values())
        while self._has_waiting_jobs() and timezone.now() < began + self.day.chatting + until_done:
            self._wait_until(timezone.now() + timedelta(minutes=5))
        self.day.all_done = timezone.now() - began
        self.day.unread = Message.objects.backlog(self.owner).count()
        self.day.given_up = Job.objects.filter(failed_at__isnull=False).count()
        self.day.conversations = Conversation.objects.for_owner(self.owner).count()
        return self.day

    def _conversations(self) -> Iterator[Conversation | None]:
        for length in cycle(LENGTHS):
            yield None
            for _ in range(length - 1):
                yield Conversation.objects.for_owner(self.owner).order_by("-created_at").first()

    def _say(self, number: int, conversation: Conversation | None) -> None:
        asked, reply = messages.send_message(self.owner, self._message_text(number), conversation)
        self._unread.append(asked)
        window = self.provider.context_window
        prompt = build_prompt(asked.conversation, asked, self.provider)
        prompts.record_prompt(asked.conversation, asked, reply, prompt, window)
        self.traveller.shift(timedelta(seconds=REPLY_SECONDS))
        text = f"About {self._thing(number)}: " + "it depends, and here is how. " * 14
        messages.finish_reply(reply, text, MessageState.COMPLETE)
        prompts.queue_preparation(asked.conversation_id, prompt.tokens + 110, window)
        self.day.messages += 1

    def _message_text(self, number: int) -> str:
        thing = self._thing(number)
        if number % REQUEST_INTERVAL == REQUEST_INTERVAL - 1:
            return f"Remember that I keep {number} books about {thing}."
        return f"I like {thing} a lot. What should I know about it before the weekend comes, number {number}?"

    def _thing(self, number: int) -> str:
        return THINGS[number % len(THINGS)]

    def _wait_until(self, then: datetime) -> None:
        """Run each job when it is due, as the job runner does, and advance the clock to `then`."""
        while True:
            while any(
                runner.run_one(lane.runnable_kinds(timezone.now()), urgent=lane.urgent)
                for lane in runner.job_threads()
            ):
                self._record_extracted_messages()
            self._record_waiting_jobs()
            now = timezone.now()
            times = [lane.find_next_time(now) for lane in runner.job_threads()]
            due = min((time for time in times if time is not None), default=None)
            if due is None or due >= then or now >= then:
                break
            self.traveller.shift(max(due - now, timedelta(milliseconds=1)))
        if timezone.now() < then:
            self.traveller.shift(then - timezone.now())

    def _record_waiting_jobs(self) -> None:
        status = energy.read_status(timezone.now())
        self.day.lowest = min(self.day.lowest, status.percent)
        self.day.most_waiting = max(self.day.most_waiting, status.waiting)
        self.day.seen_waiting |= {deferred.kind for deferred in status.deferred}

    def _record_extracted_messages(self) -> None:
        read = dict(Conversation.objects.for_owner(self.owner).values_list("pk", "extracted_through"))
        for message in [m for m in self._unread if read[m.conversation_id] >= m.seq]:
            self._unread.remove(message)
            took = timezone.now() - message.created_at
            self.day.longest_read = max(self.day.longest_read, took)
            if message.content.startswith("Remember"):
                self.day.longest_told = max(self.day.longest_told, took)

    def _has_waiting_jobs(self) -> bool:
        return Job.objects.exclude(kind__in=PERIODIC).filter(failed_at__isnull=True).exists()

    def _call_seconds(self, call: Call) -> float:
        seconds = SECONDS.get(call.slot, APP_MEMORY)
        self.traveller.shift(timedelta(seconds=seconds))
        if call.lane is Lane.BACKGROUND:
            self.day.spent[call.slot] = self.day.spent.get(call.slot, 0.0) + seconds
        return seconds

    def _answer(self, turns: Sequence[Turn]) -> str:
        said = turns[-1].content
        slot = self.provider.calls[-1].slot
        if slot == "extract":
            thing = next((t for t in THINGS if f"I like {t}" in said), "")
            return f"likes: User likes {thing}" if thing else "none"
        if slot == "summary":
            return summarise_turns(turns)
        if slot == "app_memory":
            thing = next((t for t in THINGS if t in said), "")
            return (
                f"The user likes {thing} a lot and asked what they should know about it before the weekend."
            )
        return "ADD"


def simulate_day(owner: Any, per_hour: int, hours: float, until_done: timedelta) -> SimulatedDay:
    """Simulate a day with `hours` of chatting; afterwards jobs run for at most `until_done`."""
    with time_machine.travel(BEGIN, tick=False) as traveller:
        return Simulation(owner, traveller, per_hour, hours).run(until_done)
