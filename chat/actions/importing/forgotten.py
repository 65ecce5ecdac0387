"""What was forgotten here stays so, also where an older file still tells of it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from chat.actions.owners import redacts
from chat.actions.tombstones import digest_of, digests_told
from chat.memory.lines import one_line, read_correction, without_lines
from chat.memory.secrets import redact
from chat.memory.similar import normalise
from chat.models import AppMemory, Deletion, DeletionState, Fact, Tombstone

# The finest that a database keeps.
_JUST = timedelta(microseconds=1)


def bars(pressed_at: datetime | None, said_at: datetime | None) -> bool:
    """Tell whether what was said then is what a press meant; what nobody knows when was said before it."""
    return pressed_at is not None and (said_at is None or pressed_at >= said_at)


class Forgotten:
    """The owner's tombstones, and what is on its way out; `ignored` leaves the tombstones alone."""

    def __init__(self, owner: Any, *, ignored: bool) -> None:
        self._owner = owner
        self._redacts = redacts(owner.pk)
        stones = Tombstone.objects.for_owner(owner)
        self._stones: dict[str, datetime] = (
            {} if ignored else dict(stones.values_list("digest", "pressed_at"))
        )
        self._since: dict[str, datetime | None] = {}
        done = Deletion.objects.for_owner(owner).filter(app__isnull=False, state=DeletionState.DONE)
        # The last press that emptied an app.
        self._emptied: dict[UUID | None, datetime] = (
            {} if ignored else dict(done.order_by("pressed_at").values_list("app", "pressed_at"))
        )

    def knows(self, text: str, said_at: datetime | None) -> bool:
        """Tell whether a text was forgotten after that moment; None stands for one that nobody knows."""
        if not self._stones:
            return False
        if text not in self._since:
            # As it would be kept here, too.
            found = {digest_of(self._owner, said) for said in (text, self._safe(text))}
            self._since[text] = self._latest(found)
        return bars(self._since[text], said_at)

    def knows_told(self, content: str, keys: Iterable[Any], app: UUID, told_at: datetime) -> bool:
        """Tell whether an app was made to forget after that moment what has these words or keys.

        `app` is its key here.
        """
        if bars(self._emptied.get(app), told_at):
            return True
        keys = [key for key in keys if key is not None]
        found = {d for said in (content, self._safe(content)) for d in digests_told(self._owner, said, keys)}
        return bool(self._stones) and bars(self._latest(found), told_at)

    def leaving(self, text: str) -> bool:
        """Tell whether the text is on its way out now."""
        return normalise(text) in self._leaving

    def leaving_told(self, content: str) -> bool:
        """Tell whether something of these words that an app remembers is on its way out now."""
        return normalise(content) in self._leaving_told

    def cleaned(self, note: str, said_at: datetime | None) -> str:
        """Return a note without what was forgotten since."""
        if not note or not self._stones:
            return note
        gone: set[str] = set()
        for line in note.split("\n"):
            said = read_correction(line) or (line.removeprefix("- "), "")
            gone |= {one_line(text) for text in said if text and self.knows(text, said_at)}
        return without_lines(note, gone) if gone else note

    def before(self, at: datetime) -> datetime:
        """Return a moment before everything that the owner ever forgot, and not after this one.

        It stands for when something was said of which nobody knows when: what they forgot since they may have
        forgotten of this. Also where tombstones are left alone, for memory heeds them when it reads.
        """
        return at if self._first is None else min(at, self._first - _JUST)

    def _latest(self, digests: set[str]) -> datetime | None:
        return max((self._stones[digest] for digest in digests if digest in self._stones), default=None)

    def _safe(self, text: str) -> str:
        return redact(text) if self._redacts else text

    @cached_property
    def _first(self) -> datetime | None:
        presses = Deletion.objects.for_owner(self._owner)
        presses = presses.exclude(state__in=[DeletionState.UNDONE, DeletionState.STAGED])
        stones = Tombstone.objects.for_owner(self._owner).order_by("pressed_at")
        found = (
            presses.order_by("pressed_at").values_list("pressed_at", flat=True).first(),
            stones.values_list("pressed_at", flat=True).first(),
        )
        return min((at for at in found if at is not None), default=None)

    @cached_property
    def _leaving(self) -> set[str]:
        facts = Fact.objects.for_owner(self._owner).filter(deletion__isnull=False)
        # An import that is at work forgets nothing.
        facts = facts.exclude(deletion__state=DeletionState.STAGED)
        return {normalise(text) for text in facts.values_list("text", flat=True)}

    @cached_property
    def _leaving_told(self) -> set[str]:
        told = AppMemory.objects.for_owner(self._owner).filter(deletion__isnull=False)
        return {normalise(text) for text in told.values_list("content", flat=True)}
