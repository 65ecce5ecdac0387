"""The staging batch: a Deletion row that hides what an import writes until it is made visible or removed.

The process that imports holds a lock in its data folder, so that its death is noticed at once. The death of a
server with another data folder and the same database is noticed by its row (`chat.actions.processes`); an
import by a command there is given up when its batch expires.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from chat.actions import erasure, graph, processes
from chat.actions.owners import lock_memory
from chat.errors import Busy, Refused
from chat.models import Conversation, Deletion, DeletionState, Fact, User
from memoryapp.base.locking import try_lock

logger = logging.getLogger(__name__)

# Writing one portion takes about a second and renews the batch; an import silent for this long was killed.
_TIMEOUT = timedelta(minutes=1)
# How often an import that only reads renews its batch; monotonic seconds.
_RENEW_SECONDS = 10.0
# Facts deleted per transaction.
_FACTS_AT_ONCE = 300
# The beginning of the names of the locks; the key of the batch follows.
_LOCK = "importing-"


@contextmanager
def open_staging_batch(owner: User) -> Iterator[Deletion]:
    """Create the staging batch of an owner's import; when the import fails, remove what the batch hides.

    Raises Busy while another import of this owner runs.
    """
    remove_abandoned_imports(owner)
    # The lock is taken before the row exists: a row whose lock nobody holds was left by a killed process.
    with _hold_import_lock(key := uuid4()) as lock:
        batch = _create_batch(owner, key)
        try:
            yield batch
        except BaseException:
            # Where this fails, as on a full disk, the lock stays as a sign that nobody works on the batch.
            _remove(batch)
            lock.unlink()
            raise
        lock.unlink()


def _create_batch(owner: User, key: UUID) -> Deletion:
    with transaction.atomic():
        # Memory is locked, so that a second import sees the first one's row.
        lock_memory(owner.pk)
        if Deletion.objects.for_owner(owner).filter(state=DeletionState.STAGED).exists():
            raise Busy("import-in-progress")
        now = timezone.now()
        return Deletion.objects.create(
            pk=key,
            owner=owner,
            pressed_at=now,
            expires_at=now + _TIMEOUT,
            state=DeletionState.STAGED,
            process=processes.get_current(),
        )


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
    now, staged = timezone.now(), Deletion.objects.filter(state=DeletionState.STAGED)
    batches = (staged if owner is None else staged.filter(owner=owner)).select_related("owner")
    dead = set(staged.filter(processes.without_holder()).values_list("pk", flat=True))
    found = [
        batch
        for batch in batches
        if batch.expires_at < now or batch.pk in dead or _is_lock_left(_lock_path(batch.pk))
    ]
    for batch in found:
        # An import that was only suspended must not publish the remainder afterwards.
        unchanged = staged.filter(pk=batch.pk, expires_at=batch.expires_at)
        if unchanged.update(expires_at=F("pressed_at") - _TIMEOUT):
            _remove(batch)
    _remove_left_locks()
    return len(found)


def _lock_path(key: UUID | str) -> Path:
    return Path(settings.DATA_DIR) / "locks" / f"{_LOCK}{key}"


@contextmanager
def _hold_import_lock(key: UUID) -> Iterator[Path]:
    """Hold the lock of a new batch; yield its file, which `_remove_left_locks` removes where it is left."""
    path = _lock_path(key)
    while True:
        with try_lock(path) as held:
            # Another process may take it for a left one before it is held here, and remove it.
            if held and path.exists():
                yield path
                return


def _is_lock_left(path: Path) -> bool:
    """Return whether the process that held a lock was killed; False where the lock is not in this folder."""
    if not path.exists():
        return False
    with try_lock(path) as free:
        return free


def _remove_left_locks() -> None:
    """Remove the locks of killed processes whose batch is gone."""
    left = [path for path in _lock_path("").parent.glob(f"{_LOCK}*") if _is_lock_left(path)]
    keys = {path: path.name.removeprefix(_LOCK) for path in left}
    there = {str(key) for key in Deletion.objects.filter(pk__in=keys.values()).values_list("pk", flat=True)}
    for path, key in keys.items():
        if key not in there:
            path.unlink(missing_ok=True)


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
