"""The labelled steps at which a process is killed, and how a process is made to die there.

A step is a call of a function of the product: the process dies before or after it. The calls count from the
signal SIGUSR1 on, or from the start of the process.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

Command = Literal["serve", "start", "backup", "restore", "migrate"]


@dataclass(frozen=True, slots=True)
class KillStep:
    """A moment in the work of a command; `act` is what a user does to bring it about."""

    name: str
    # Module and function, as in "chat.actions.jobs:complete".
    target: str
    moment: Literal["before", "after"]
    act: str = ""
    command: Command = "serve"
    # The process dies at one of the first calls; which, is chosen at random.
    calls: int = 2
    # Whether only SQLite takes this step.
    needs_file: bool = False
    # The step comes once the users rest, because memory works on their messages first.
    rests: bool = False


_IMPORTING = "chat.actions.importing"
# fmt: off
STEPS = (
    KillStep("import: rows staged", f"{_IMPORTING}.run:append_to_conversations", "before", "import"),
    KillStep("import: batch opened", f"{_IMPORTING}.chats:keep_batch_alive", "before", "import"),
    KillStep("import: rows shown, no commit", f"{_IMPORTING}.fact_writer:publish_batch", "after", "import"),
    KillStep("import: committed", f"{_IMPORTING}.fact_writer:finish_import", "before", "import"),
    KillStep("import: finished", f"{_IMPORTING}.fact_writer:update_changed_facts", "after", "import"),
    KillStep("deletion: hidden, no commit", "chat.actions.deletions:create_deletion", "after", "forget"),
    KillStep("deletion: before the purge", "chat.actions.purge:purge_facts", "before", "forget"),
    KillStep("deletion: purged, no commit", "chat.actions.tombstones:add_tombstones", "after", "forget"),
    KillStep("deletion: done, job not", "chat.actions.deletions:finish_deletion", "after", "forget", calls=3),
    KillStep("deletion: sentences marked", "chat.actions.kept_out:mark_everywhere", "after", "clear all"),
    KillStep("clear-all: committed", "chat.actions.deletions:clear_memory", "after", "clear all", calls=1),
    KillStep("undo: facts are back", "chat.actions.deletions:restore_facts", "after", "forget, undo"),
    KillStep("undo: committed", "chat.actions.deletions:undo_deletion", "after", "delete chat, undo"),
    KillStep(
        "deletion: chat is being purged", "chat.actions.erasure:purge_hidden_conversations", "before",
        "delete chat",
    ),
    KillStep("message: saved, no commit", "chat.actions.messages:send_message", "after", "say"),
    KillStep("message: committed, reply not begun", "chat.generation.run:start", "before", "say"),
    KillStep("reply: end not saved", "chat.actions.messages:finish_reply", "before", "say"),
    KillStep("reply: end is saved", "chat.actions.messages:finish_reply", "after", "say"),
    KillStep("edit: old one replaced", "chat.actions.message_edits:_mark_replaced", "after", "edit message"),
    KillStep("edit: memory taken back", "chat.actions.retraction:retract_messages", "after", "edit message"),
    KillStep("fact: edited, no commit", "chat.actions.facts:queue_classification", "before", "edit fact"),
    KillStep("fact: added, no commit", "chat.actions.facts:add_fact", "after", "tell"),
    KillStep("job: claimed", "chat.actions.jobs:claim", "after", calls=12),
    KillStep("job: done, row not deleted", "chat.actions.jobs:complete", "before", "say", calls=6),
    KillStep("job: row deleted", "chat.actions.jobs:complete", "after", "say", calls=6),
    KillStep("extraction: model has answered", "chat.jobs.extract:_store_result", "before", "say"),
    KillStep("extraction: stored", "chat.jobs.extract:_store_result", "after", "say"),
    KillStep(
        "app memory: model has answered", "chat.jobs.app_memories:_store", "before", "end",
        calls=1, rests=True,
    ),
    KillStep("app memory: stored", "chat.jobs.app_memories:_store", "after", "end", calls=1, rests=True),
    KillStep("index: windows", "chat.actions.message_windows:queue_windows", "after", "say", calls=4),
    KillStep(
        "any commit: before", "django.db.backends.base.base:BaseDatabaseWrapper.commit", "before", calls=60
    ),
    KillStep(
        "any commit: after", "django.db.backends.base.base:BaseDatabaseWrapper.commit", "after", calls=60
    ),
    KillStep("start: leases released", "chat.actions.jobs:release_leases", "after", command="start", calls=1),
    KillStep(
        "start: replies stopped", "chat.actions.messages:stop_stale_replies", "after",
        command="start", calls=1,
    ),
    KillStep(
        "start: overdue deletions", "chat.actions.deletions:finish_overdue_deletions", "before",
        command="start", calls=1,
    ),
    KillStep(
        "start: imports removed", "chat.actions.importing:remove_abandoned_imports", "after",
        command="start", calls=1,
    ),
    KillStep(
        "start: periodic jobs", "chat.jobs.schedule:enqueue_all", "after", command="start", calls=1
    ),
    KillStep(
        "backup: copied", "chat.management.backups:_check", "after", command="backup", calls=1,
        needs_file=True,
    ),
    KillStep(
        "backup: before it is renamed", "pathlib:Path.replace", "before", command="backup", calls=1,
        needs_file=True,
    ),
    KillStep(
        "restore: former data put aside", "chat.management.backups:_put_former_aside", "after",
        command="restore", calls=1, needs_file=True,
    ),
    KillStep(
        "restore: before a file is replaced", "pathlib:Path.replace", "before", command="restore", calls=2,
        needs_file=True,
    ),
    KillStep(
        "restore: replaced, not migrated", "chat.management.commands.restore:call_command", "before",
        command="restore", calls=1, needs_file=True,
    ),
    KillStep(
        "restore: before its mark is removed", "chat.management.commands.restore:finish_restore", "before",
        command="restore", calls=1, needs_file=True,
    ),
    KillStep(
        "migrate: before a migration", "django.db.migrations.executor:MigrationExecutor.apply_migration",
        "before", command="migrate", calls=1,
    ),
    KillStep(
        "migrate: applied, no commit", "django.db.migrations.executor:MigrationExecutor.apply_migration",
        "after", command="migrate", calls=1,
    ),
)
# fmt: on


def install_step(target: str, moment: str, call: int, *, armed: bool) -> None:
    """Let this process die at the given call of a function, counted from SIGUSR1 on unless it is armed."""
    module, _, path = target.partition(":")
    *above, name = path.split(".")
    owner: Any = import_module(module)
    for part in above:
        owner = getattr(owner, part)
    setattr(owner, name, _Deadly(getattr(owner, name), moment, call, armed=armed).bind())


class _Deadly:
    """A function that kills the process."""

    def __init__(self, real: Callable[..., Any], moment: str, call: int, *, armed: bool) -> None:
        self._real, self._moment, self._left, self._armed = real, moment, call, armed
        if not armed:
            signal.signal(signal.SIGUSR1, self._arm)

    def _arm(self, _number: int, _frame: Any) -> None:
        self._armed = True

    def bind(self) -> Callable[..., Any]:
        """Return the function, which as an attribute of a class becomes a method."""

        def call(*arguments: Any, **named: Any) -> Any:
            dies = self._counts_down()
            if dies and self._moment == "before":
                _die()
            result = self._real(*arguments, **named)
            if dies:
                _die()
            return result

        return call

    def _counts_down(self) -> bool:
        if self._armed:
            self._left -= 1
        return self._armed and self._left <= 0


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
