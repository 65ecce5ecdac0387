"""Steps of a stateful test of one owner's memory, with the expected effects of each step."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from chat.actions import deletions
from chat.memory.text_similarity import normalize_text
from chat.models import Deletion, Fact, Message

from .memory_invariants import MemoryInvariants, restorable_fields


class MemoryDriver(MemoryInvariants):
    """Runs steps on one owner's memory and records the effects that each step must have."""

    time: Any
    # For each pending deletion, the fields of its facts before it; and texts that must not be stored.
    facts_before_deletion: dict[Any, dict[Any, dict[str, Any]]]
    forgotten: set[str]
    # For each deletion that was not undone: its time, and the texts that must not be extracted from messages
    # before it (None: any text).
    barriers: dict[Any, tuple[Any, set[str] | None]]

    def move_clock(self, seconds: float) -> None:
        """Advance the wall clock."""
        self.time.shift(timedelta(seconds=seconds))

    def pick_row(self, rows: Any, number: int) -> Any:
        """Return one of the rows, chosen by a number that hypothesis drew; None if there is none."""
        found = list(rows.order_by("pk"))
        # Sort by values that are not random, so that a failing run can be repeated; primary keys are random.
        found.sort(key=lambda row: (getattr(row, "first_seen", None) or row.pressed_at, str(row)))
        return found[number % len(found)] if found else None

    def live_texts(self) -> set[str]:
        """Return the texts of the live facts."""
        return {fact.text for fact in Fact.objects.live()}

    def record_as_known(self, text: str) -> None:
        """Record that a text occurred again, so that it may be stored again."""
        self.forgotten.discard(text)

    def start_deletion(self, chosen: list[Fact], action: Any) -> None:
        """Run an action that deletes the chosen facts, and record their fields before it."""
        before = {fact.pk: restorable_fields(fact) for fact in chosen}
        self.move_clock(0.1)
        batch = action()
        self.facts_before_deletion[batch.pk] = before
        words = None if batch.everything else {normalize_text(text) for text in batch.facts.all().all_texts()}
        self.barriers[batch.pk] = (batch.pressed_at, words)

    def is_barred(self, message: Message) -> bool:
        """Whether a later deletion forbids extracting the message's text."""
        text = normalize_text(message.content)
        return any(
            pressed_at > message.created_at and (words is None or text in words)
            for pressed_at, words in self.barriers.values()
        )

    def note_expired_deletions(self) -> None:
        """Record the deletions that the next sweep must finish."""
        overdue = Deletion.objects.pending().filter(expires_at__lte=timezone.now() - deletions.UNDO_GRACE)
        self.expiring = {batch.pk: batch.facts.all().all_texts() for batch in overdue}

    def check_expired_deletions(self) -> None:
        """Check that the sweep finished the recorded deletions; their texts must not be stored any more."""
        for pk, wordings in self.expiring.items():
            assert Deletion.objects.get(pk=pk).state == "done"
            del self.facts_before_deletion[pk]
            standing = Fact.objects.filter(superseded_at=None, archived_at=None)
            remaining = {normalize_text(fact.text) for fact in standing}
            self.forgotten |= {text for text in wordings if normalize_text(text) not in remaining}
