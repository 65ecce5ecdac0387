"""A day of chatting with a scripted model that takes as long as the default one; the clock is moved on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import cycle
from typing import Any

import time_machine
from django.utils import timezone

from chat.actions import energy, messages, prompts
from chat.context.prompt import build
from chat.jobs import runner, schedule
from chat.jobs.registry import PERIODIC
from chat.llm.registry import registry
from chat.llm.scripted import Call, ScriptedProvider
from chat.llm.types import Lane, Turn
from chat.models import Conversation, Job, Message, MessageState
from tests.minutes import minutes

BEGIN = "2026-03-02 09:00+00:00"
# Seconds a call, as the default model takes them on two cores; whatever has no line is an app memory.
SECONDS = {"extract": 2.8, "consolidate": 1.0, "title": 1.5, "summary": 8.0}
APP_MEMORY = 12.0
REPLY_SECONDS = 12.0
# Messages a conversation, one after the other.
LENGTHS = (6, 12, 4, 25, 8, 45)
# One in so many asks to be remembered.
TOLD = 40
THINGS = ("chess", "rye bread", "night trains", "old maps", "tomatoes", "jazz", "long walks", "oat milk")


@dataclass
class Day:
    """What came of it; seconds of background model time by purpose."""

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
        """Seconds of background model time in all."""
        return sum(self.spent.values())

    @property
    def share(self) -> float:
        """Which part of the time of chatting the model worked in the background."""
        return self.while_chatting / self.chatting.total_seconds()


class Simulation:
    """One owner who writes so many messages an hour, and all that happens by itself meanwhile."""

    def __init__(self, owner: Any, traveller: time_machine.Traveller, per_hour: int, hours: float) -> None:
        self.owner, self.traveller = owner, traveller
        self.day = Day(per_hour, timedelta(hours=hours))
        self.provider = ScriptedProvider(default_completion=self._answer)
        self.provider.seconds = self._takes
        registry.use(self.provider, label="Simulated")
        self._unread: list[Message] = []

    def run(self, until_done: timedelta) -> Day:
        """Chat, and then let time pass until nothing waits, at most for so long."""
        began = timezone.now()
        schedule.plan(began)
        pause = timedelta(hours=1) / self.day.per_hour
        for number, conversation in enumerate(self._conversations()):
            at = began + number * pause
            if at >= began + self.day.chatting:
                break
            self._wait_until(at)
            self._say(number, conversation)
        self._wait_until(began + self.day.chatting)
        self.day.while_chatting = sum(self.day.spent.values())
        while self._waiting() and timezone.now() < began + self.day.chatting + until_done:
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
        asked, reply = messages.send_message(self.owner, self._words(number), conversation)
        self._unread.append(asked)
        window = self.provider.context_window
        prompt = build(asked.conversation, asked, self.provider)
        prompts.record_prompt(asked.conversation, asked, reply, prompt, window)
        self.traveller.shift(timedelta(seconds=REPLY_SECONDS))
        text = f"About {self._thing(number)}: " + "it depends, and here is how. " * 14
        messages.finish_reply(reply, text, MessageState.COMPLETE)
        prompts.ask_to_prepare(asked.conversation_id, prompt.tokens + 110, window)
        self.day.messages += 1

    def _words(self, number: int) -> str:
        thing = self._thing(number)
        if number % TOLD == TOLD - 1:
            return f"Remember that I keep {number} books about {thing}."
        return f"I like {thing} a lot. What should I know about it before the weekend comes, number {number}?"

    def _thing(self, number: int) -> str:
        return THINGS[number % len(THINGS)]

    def _wait_until(self, then: datetime) -> None:
        """Do what is due whenever it is, as the runner does, until that moment."""
        while True:
            while any(
                runner.run_one(lane.able(timezone.now()), urgent=lane.urgent) for lane in runner.lanes()
            ):
                self._note_what_was_read()
            self._note_what_waits()
            now = timezone.now()
            times = [lane.next_time(now) for lane in runner.lanes()]
            due = min((time for time in times if time is not None), default=None)
            if due is None or due >= then or now >= then:
                break
            self.traveller.shift(max(due - now, timedelta(milliseconds=1)))
        if timezone.now() < then:
            self.traveller.shift(then - timezone.now())

    def _note_what_waits(self) -> None:
        status = energy.status(timezone.now())
        self.day.lowest = min(self.day.lowest, status.percent)
        self.day.most_waiting = max(self.day.most_waiting, status.waiting)
        self.day.seen_waiting |= {deferred.kind for deferred in status.deferred}

    def _note_what_was_read(self) -> None:
        read = dict(Conversation.objects.for_owner(self.owner).values_list("pk", "extracted_through"))
        for message in [m for m in self._unread if read[m.conversation_id] >= m.seq]:
            self._unread.remove(message)
            took = timezone.now() - message.created_at
            self.day.longest_read = max(self.day.longest_read, took)
            if message.content.startswith("Remember"):
                self.day.longest_told = max(self.day.longest_told, took)

    def _waiting(self) -> bool:
        return Job.objects.exclude(kind__in=PERIODIC).filter(failed_at__isnull=True).exists()

    def _takes(self, call: Call) -> float:
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
            return minutes(turns)
        if slot == "app_memory":
            thing = next((t for t in THINGS if t in said), "")
            return (
                f"The user likes {thing} a lot and asked what they should know about it before the weekend."
            )
        return "ADD"


def simulate(owner: Any, per_hour: int, hours: float, until_done: timedelta) -> Day:
    """Return what a day of so many hours of chatting takes of the model, and what came of all that waited."""
    with time_machine.travel(BEGIN, tick=False) as traveller:
        return Simulation(owner, traveller, per_hour, hours).run(until_done)
