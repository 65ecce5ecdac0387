"""The batch behind which an import hides what it has written: shown at the end, or removed."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.actions import graph, keeping
from chat.actions.messages import Busy, Refused
from chat.actions.owners import hold_memory
from chat.models import Conversation, Deletion, DeletionState, Fact

logger = logging.getLogger(__name__)

# Each portion is told of and takes a second or so; who has been silent for so long was killed.
_SILENCE = timedelta(minutes=1)
# How often whoever only reads says that they are at work.
_TOLD_SECONDS = 10.0
# So many are removed in one transaction.
_FACTS = 300


@contextmanager
def staged(owner: Any) -> Iterator[Deletion]:
    """Open a batch for an owner's import, and remove what is behind it where the import fails.

    Raises Busy while another import of theirs is at work.
    """
    remove_abandoned(owner)
    with transaction.atomic():
        # One at a time: whoever comes second sees the first one's row.
        hold_memory(owner.pk)
        if Deletion.objects.for_owner(owner).filter(state=DeletionState.STAGED).exists():
            raise Busy(_("Another import is at work. Wait until it is done."))
        now = timezone.now()
        batch = Deletion.objects.create(
            owner=owner, pressed_at=now, expires_at=now + _SILENCE, state=DeletionState.STAGED
        )
    try:
        yield batch
    except BaseException:
        _remove(batch)
        raise


def hold(batch: Deletion) -> None:
    """Keep a batch for another while; first of all in each transaction that writes behind it.

    Raises Refused where it is gone: all was deleted meanwhile, or the import was thought dead.
    """
    there = Deletion.objects.filter(pk=batch.pk, state=DeletionState.STAGED)
    # One that is being removed stays so, whoever wakes up.
    if not there.filter(expires_at__gte=F("pressed_at")).update(expires_at=timezone.now() + _SILENCE):
        why = _(
            "Everything was deleted meanwhile, or this import stood still for too long: nothing was imported."
        )
        raise Refused(why)


class Pulse:
    """Keeps a batch while a file is read of which little is new; in transactions of its own."""

    def __init__(self, batch: Deletion) -> None:
        self._batch, self._told = batch, time.monotonic()

    def beat(self) -> None:
        """Say that the import is at work, if that was not said lately. Raises Refused as `hold` does."""
        if time.monotonic() - self._told >= _TOLD_SECONDS:
            with transaction.atomic():
                hold(self._batch)
            self._told = time.monotonic()


def show(batch: Deletion) -> None:
    """Bring what is behind a batch to light and end it. In the caller's transaction."""
    Conversation.objects.filter(deletion=batch).update(deletion=None)
    Fact.objects.filter(deletion=batch).update(deletion=None)
    Deletion.objects.filter(pk=batch.pk).delete()


def remove_abandoned(owner: Any = None) -> int:
    """Remove what killed imports have left, of one owner or of all; returns how many of them there were."""
    dead = Deletion.objects.filter(state=DeletionState.STAGED, expires_at__lt=timezone.now())
    found = list((dead if owner is None else dead.filter(owner=owner)).select_related("owner"))
    for batch in found:
        # Whoever was only asleep must not show what is left of it then.
        if dead.filter(pk=batch.pk).update(expires_at=F("pressed_at") - _SILENCE):
            _remove(batch)
    return len(found)


def _remove(batch: Deletion) -> None:
    # One short transaction after another, so that nobody waits for all.
    facts = Fact.objects.filter(deletion=batch)
    while keys := list(facts.values_list("pk", flat=True)[:_FACTS]):
        with transaction.atomic():
            hold_memory(batch.owner_id)
            facts.filter(pk__in=keys).delete()
            graph.drop_orphans(batch.owner)
    for key in list(Conversation.objects.filter(deletion=batch).values_list("pk", flat=True)):
        with transaction.atomic():
            for conversation in Conversation.objects.filter(pk=key, deletion=batch):
                keeping.remove(conversation)
    Deletion.objects.filter(pk=batch.pk, state=DeletionState.STAGED).delete()
