"""The staging batch: a Deletion row that hides what an import writes until it is made visible or removed."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from chat.actions import erasure, graph
from chat.actions.owners import lock_memory
from chat.errors import Busy, Refused
from chat.models import Conversation, Deletion, DeletionState, Fact, User

logger = logging.getLogger(__name__)

# Writing one portion takes about a second and renews the batch; an import silent for this long was killed.
_TIMEOUT = timedelta(minutes=1)
# How often an import that only reads renews its batch; monotonic seconds.
_RENEW_SECONDS = 10.0
# Facts deleted per transaction.
_FACTS_AT_ONCE = 300


@contextmanager
def open_staging_batch(owner: User) -> Iterator[Deletion]:
    """Create the staging batch of an owner's import; when the import fails, remove what the batch hides.

    Raises Busy while another import of this owner runs.
    """
    remove_abandoned_imports(owner)
    with transaction.atomic():
        # Memory is locked, so that a second import sees the first one's row.
        lock_memory(owner.pk)
        if Deletion.objects.for_owner(owner).filter(state=DeletionState.STAGED).exists():
            raise Busy("import-in-progress")
        now = timezone.now()
        batch = Deletion.objects.create(
            owner=owner, pressed_at=now, expires_at=now + _TIMEOUT, state=DeletionState.STAGED
        )
    try:
        yield batch
    except BaseException:
        _remove(batch)
        raise


def keep_batch_alive(batch: Deletion) -> None:
    """Renew a batch; first in each transaction that writes behind it.

    Raises Refused when it is gone: everything was deleted meanwhile, or the import was considered killed.
    """
    staged_batch = Deletion.objects.filter(pk=batch.pk, state=DeletionState.STAGED)
    # A batch that is being removed cannot be renewed.
    if not staged_batch.filter(expires_at__gte=F("pressed_at")).update(expires_at=timezone.now() + _TIMEOUT):
        raise Refused("import-lost")


class Heartbeat:
    """Renews a batch while a file with little new content is read; in transactions of its own."""

    def __init__(self, batch: Deletion) -> None:
        self._batch, self._renewed_at = batch, time.monotonic()

    def beat(self) -> None:
        """Renew the batch if `_RENEW_SECONDS` have passed. Raises Refused as `keep_batch_alive` does."""
        if time.monotonic() - self._renewed_at >= _RENEW_SECONDS:
            with transaction.atomic():
                keep_batch_alive(self._batch)
            self._renewed_at = time.monotonic()


def publish_batch(batch: Deletion) -> None:
    """Make visible what a batch hides, and delete the batch. In the caller's transaction."""
    Conversation.objects.filter(deletion=batch).update(deletion=None)
    Fact.objects.filter(deletion=batch).update(deletion=None)
    Deletion.objects.filter(pk=batch.pk).delete()


def remove_abandoned_imports(owner: User | None = None) -> int:
    """Delete what killed imports left, of one owner or of all; returns how many imports."""
    abandoned = Deletion.objects.filter(state=DeletionState.STAGED, expires_at__lt=timezone.now())
    found = list((abandoned if owner is None else abandoned.filter(owner=owner)).select_related("owner"))
    for batch in found:
        # An import that was only suspended must not publish the remainder afterwards.
        if abandoned.filter(pk=batch.pk).update(expires_at=F("pressed_at") - _TIMEOUT):
            _remove(batch)
    return len(found)


def _remove(batch: Deletion) -> None:
    # Short transactions, so that other writers do not wait for all of it.
    facts = Fact.objects.filter(deletion=batch)
    while keys := list(facts.values_list("pk", flat=True)[:_FACTS_AT_ONCE]):
        with transaction.atomic():
            lock_memory(batch.owner_id)
            facts.filter(pk__in=keys).delete()
            graph.delete_orphans(batch.owner)
    for key in list(Conversation.objects.filter(deletion=batch).values_list("pk", flat=True)):
        with transaction.atomic():
            for conversation in Conversation.objects.filter(pk=key, deletion=batch):
                erasure.purge_conversation_rows(conversation)
    Deletion.objects.filter(pk=batch.pk, state=DeletionState.STAGED).delete()
