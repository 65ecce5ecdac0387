"""What a driver of memory keeps in mind beside it: the time, what was pressed, what must be forgotten."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from chat.actions import deletions
from chat.memory.similar import normalise
from chat.models import Deletion, Fact, Message

from .sound_memory import SoundMemory, state


class DrivenMemory(SoundMemory):
    """One owner's memory with the books that its rules are held against."""

    time: Any
    # What a batch held when it was pressed, and the words that must not be found any more.
    pressed: dict[Any, dict[Any, dict[str, Any]]]
    forgotten: set[str]
    # What each batch that was not undone forbids messages from before its press to teach.
    barred: dict[Any, tuple[Any, set[str] | None]]

    def tick(self, seconds: float) -> None:
        self.time.shift(timedelta(seconds=seconds))

    def pick(self, rows: Any, number: int) -> Any:
        found = list(rows.order_by("pk"))
        # Keys are random; their order must not be, or a failing run could not be played again.
        found.sort(key=lambda row: (getattr(row, "first_seen", None) or row.pressed_at, str(row)))
        return found[number % len(found)] if found else None

    def live_texts(self) -> set[str]:
        return {fact.text for fact in Fact.objects.live()}

    def taught(self, text: str) -> None:
        self.forgotten.discard(text)

    def press(self, chosen: list[Fact], verb: Any) -> None:
        before = {fact.pk: state(fact) for fact in chosen}
        self.tick(0.1)
        batch = verb()
        self.pressed[batch.pk] = before
        words = None if batch.everything else {normalise(text) for text in batch.facts.all().wordings()}
        self.barred[batch.pk] = (batch.pressed_at, words)

    def is_barred(self, message: Message) -> bool:
        said = normalise(message.content)
        return any(
            pressed_at > message.created_at and (words is None or said in words)
            for pressed_at, words in self.barred.values()
        )

    def expect_the_end(self) -> None:
        overdue = Deletion.objects.pending().filter(expires_at__lte=timezone.now() - deletions.GRACE)
        self.ending = {batch.pk: batch.facts.all().wordings() for batch in overdue}

    def check_the_end(self) -> None:
        for pk, wordings in self.ending.items():
            assert Deletion.objects.get(pk=pk).state == "done"
            del self.pressed[pk]
            standing = Fact.objects.filter(superseded_at=None, archived_at=None)
            said = {normalise(fact.text) for fact in standing}
            self.forgotten |= {text for text in wordings if normalise(text) not in said}
