"""Keeps what was deleted here from coming back with an older file."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from chat.actions.owners import redacts_secrets
from chat.actions.tombstones import hash_app_memory, hash_fact_text, hash_fact_value, hash_sentence
from chat.memory.formatting import parse_correction, remove_lines, to_one_line
from chat.memory.secrets import redact_secrets
from chat.memory.sentences import find_sentence_spans
from chat.memory.text_similarity import normalize_text
from chat.models import AppMemory, Deletion, DeletionState, Fact, Tombstone, User

# The finest resolution that a database stores.
_RESOLUTION = timedelta(microseconds=1)


def is_barred(pressed_at: datetime | None, said_at: datetime | None) -> bool:
    """Return whether a deletion covers something said at that moment; an unknown moment counts as earlier."""
    return pressed_at is not None and (said_at is None or pressed_at >= said_at)


class TombstoneFilter:
    """The owner's tombstones and pending deletions; `ignored` leaves the tombstones out."""

    def __init__(self, owner: User, *, ignored: bool) -> None:
        self._owner = owner
        self._redacts = redacts_secrets(owner.pk)
        tombstones = Tombstone.objects.for_owner(owner)
        self._deleted_at: dict[str, datetime] = (
            {} if ignored else dict(tombstones.values_list("digest", "pressed_at"))
        )
        self._deleted_at_by_text: dict[str, datetime | None] = {}
        done = Deletion.objects.for_owner(owner).filter(app__isnull=False, state=DeletionState.DONE)
        # The last time all memories of an app were deleted.
        self._emptied: dict[UUID | None, datetime] = (
            {} if ignored else dict(done.order_by("pressed_at").values_list("app", "pressed_at"))
        )

    def is_deleted(self, text: str, said_at: datetime | None) -> bool:
        """Return whether a text was deleted after that moment (wall clock); None is an unknown moment."""
        if not self._deleted_at:
            return False
        if text not in self._deleted_at_by_text:
            # Also as it would be stored here, with secrets redacted.
            found = {hash_fact_text(self._owner, wording) for wording in (text, self._redact(text))}
            self._deleted_at_by_text[text] = self._find_latest(found)
        return is_barred(self._deleted_at_by_text[text], said_at)

    def is_nearly_deleted(self, kind: str, subject: str, text: str, said_at: datetime | None) -> bool:
        """Return whether another wording of such a fact was deleted after that moment; None is unknown."""
        if not self._deleted_at:
            return False
        return is_barred(self._find_latest(hash_fact_value(self._owner, kind, subject, text)), said_at)

    def is_app_memory_deleted(
        self, content: str, keys: Iterable[Any], app: UUID, updated_at: datetime
    ) -> bool:
        """Return whether an app memory with this content or one of these keys was deleted after that time.

        `app` is the app's key here.
        """
        if is_barred(self._emptied.get(app), updated_at):
            return True
        keys = [key for key in keys if key is not None]
        found = {
            d
            for wording in (content, self._redact(content))
            for d in hash_app_memory(self._owner, wording, keys)
        }
        return bool(self._deleted_at) and is_barred(self._find_latest(found), updated_at)

    def is_pending(self, text: str) -> bool:
        """Return whether a fact with this text is pending deletion."""
        return normalize_text(text) in self._pending_texts

    def is_app_memory_pending(self, content: str) -> bool:
        """Return whether an app memory with this content is pending deletion."""
        return normalize_text(content) in self._pending_app_memories

    def clean_note(self, note: str, said_at: datetime | None) -> str:
        """Return a turn note without the lines that were deleted since."""
        if not note or not self._deleted_at:
            return note
        deleted: set[str] = set()
        for line in note.split("\n"):
            wording = parse_correction(line) or (line.removeprefix("- "), "")
            deleted |= {to_one_line(text) for text in wording if text and self.is_deleted(text, said_at)}
        return remove_lines(note, deleted) if deleted else note

    def find_deleted_sentences(self, content: str, said_at: datetime | None) -> list[tuple[int, int]]:
        """Return the spans of the sentences that said a fact that was deleted after that moment."""
        if not self._deleted_at:
            return []
        return [
            (start, end)
            for start, end in find_sentence_spans(content)
            if is_barred(self._find_latest({hash_sentence(self._owner, content[start:end])}), said_at)
        ]

    def moment_before_deletions(self, at: datetime) -> datetime:
        """Return a moment before all of the owner's deletions, and not after `at`.

        It is used as the time of messages without one, because any deletion since may have concerned
        them. Tombstones count even when they are ignored, because later extraction applies them.
        """
        return at if self._first_deletion is None else min(at, self._first_deletion - _RESOLUTION)

    def _find_latest(self, digests: set[str]) -> datetime | None:
        return max(
            (self._deleted_at[digest] for digest in digests if digest in self._deleted_at), default=None
        )

    def _redact(self, text: str) -> str:
        return redact_secrets(text) if self._redacts else text

    @cached_property
    def _first_deletion(self) -> datetime | None:
        presses = Deletion.objects.for_owner(self._owner).filter(by_age=False)
        presses = presses.exclude(state__in=[DeletionState.UNDONE, DeletionState.STAGED])
        tombstones = Tombstone.objects.for_owner(self._owner).order_by("pressed_at")
        found = (
            presses.order_by("pressed_at").values_list("pressed_at", flat=True).first(),
            tombstones.values_list("pressed_at", flat=True).first(),
        )
        return min((at for at in found if at is not None), default=None)

    @cached_property
    def _pending_texts(self) -> set[str]:
        facts = Fact.objects.for_owner(self._owner).filter(deletion__isnull=False)
        # A running import deletes nothing.
        facts = facts.exclude(deletion__state=DeletionState.STAGED)
        return {normalize_text(text) for text in facts.values_list("text", flat=True)}

    @cached_property
    def _pending_app_memories(self) -> set[str]:
        memories = AppMemory.objects.for_owner(self._owner).filter(deletion__isnull=False)
        return {normalize_text(text) for text in memories.values_list("content", flat=True)}
