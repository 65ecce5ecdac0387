"""What was forgotten here stays so, also where an older file still tells of it."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Any

from chat.actions.tombstones import digest_of
from chat.memory.lines import one_line, read_correction, without_lines
from chat.memory.similar import normalise
from chat.models import Fact, Tombstone


class Forgotten:
    """The owner's tombstones, and what is on its way out; `ignored` leaves the tombstones alone."""

    def __init__(self, owner: Any, *, ignored: bool) -> None:
        self._owner = owner
        stones = Tombstone.objects.for_owner(owner)
        self._stones: dict[str, datetime] = (
            {} if ignored else dict(stones.values_list("digest", "pressed_at"))
        )
        self._since: dict[str, datetime | None] = {}

    def knows(self, text: str, said_at: datetime) -> bool:
        """Tell whether a text was forgotten after that moment."""
        if not self._stones:
            return False
        if text not in self._since:
            self._since[text] = self._stones.get(digest_of(self._owner, text))
        since = self._since[text]
        return since is not None and since >= said_at

    def leaving(self, text: str) -> bool:
        """Tell whether the text is on its way out now."""
        return normalise(text) in self._leaving

    def cleaned(self, note: str, said_at: datetime) -> str:
        """Return a note without what was forgotten since."""
        if not note or not self._stones:
            return note
        gone: set[str] = set()
        for line in note.split("\n"):
            said = read_correction(line) or (line.removeprefix("- "), "")
            gone |= {one_line(text) for text in said if text and self.knows(text, said_at)}
        return without_lines(note, gone) if gone else note

    @cached_property
    def _leaving(self) -> set[str]:
        facts = Fact.objects.for_owner(self._owner).filter(deletion__isnull=False)
        return {normalise(text) for text in facts.values_list("text", flat=True)}
