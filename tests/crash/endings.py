"""The ways in which a round ends. Each lets the users work, causes trouble, and starts the server again.

Each returns what it did, in a few words. The server that it starts dies at the step of the next round.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .disk import fill_disk
from .harness import Harness
from .steps import STEPS, KillStep

# How long a step may take to come, in seconds.
_LONGEST_WAIT = 20.0
_BACKUP = "crash.backup"
# Has no factor in common with the number of the steps, so that each comes in turn.
_STRIDE = 17
Ending = Callable[[Harness, "KillStep | None"], str]


def kill(harness: Harness, following: KillStep | None) -> str:
    """Kill the server at a random moment."""
    with harness.work():
        harness.let_work(20)
        harness.kill()
    harness.start(step=following)
    return "kill"


def stop_and_kill(harness: Harness, following: KillStep | None) -> str:
    """Stop the server for a moment, let it go on, and kill it."""
    with harness.work():
        harness.let_work(20)
        harness.signal(signal.SIGSTOP)
        time.sleep(0.5)
        harness.signal(signal.SIGCONT)
        harness.let_work(3)
        harness.kill()
    harness.start(step=following)
    return "stop, kill"


def kill_starts(harness: Harness, following: KillStep | None) -> str:
    """Kill the server, and two starts after it."""
    with harness.work():
        harness.let_work(20)
        harness.kill()
    for _ in range(2):
        starting = harness.processes.start("serve", "--no-browser", "--port", "0")
        time.sleep(harness.chance.uniform(0.05, 1.0))
        starting.kill()
    harness.start(step=following)
    return "kill, starts killed"


def kill_backup(harness: Harness, following: KillStep | None) -> str:
    """Kill a backup while the users work, then the server; the next backup is whole."""
    with harness.work():
        harness.let_work(15)
        backup = harness.processes.start("backup", str(harness.folder / _BACKUP))
        time.sleep(harness.chance.uniform(0.05, 0.6))
        backup.kill()
        harness.processes.run("backup", str(harness.folder / _BACKUP))
        harness.kill()
    harness.start(step=following)
    return "backup killed, kill"


def fill_the_disk(harness: Harness, following: KillStep | None) -> str:
    """Leave almost no room on the disk for a while; the server goes on once there is room, or is killed.

    Where no disk can be mounted, the database file only can grow no more.
    """
    dies = harness.chance.random() < 0.5
    with harness.work():
        harness.let_work(6)
        with _no_room(harness):
            time.sleep(harness.chance.uniform(1.5, 3.0))
            if dies:
                harness.kill()
        if not dies:
            harness.let_work(6)
    if not dies:
        harness.settle()
        harness.kill()
    harness.start(step=following)
    return f"disk full, {'kill' if dies else 'room again'}"


@contextmanager
def _no_room(harness: Harness) -> Iterator[None]:
    if harness.has_disk:
        with fill_disk(harness.folder, harness.chance.choice((0, 20_000, 300_000))):
            yield
        return
    harness.signal(signal.SIGUSR2)
    yield
    harness.signal(signal.SIGUSR2)


def set_clock(harness: Harness, following: KillStep | None) -> str:
    """Let a killed server run by a wrong clock, kill it, and go back to the right one."""
    year = harness.chance.choice(("2020", "2030"))
    clock, before = f"{year}-06-01T12:00:00+00:00", _read_dates(harness)
    harness.kill()
    for client in harness.clients:
        # An upload is too old by a clock in the future, and things deleted before are gone.
        client.patient = True
    harness.start(clock=clock)
    with harness.work():
        harness.let_work(12)
        harness.kill()
    # A key of a request is known for a day, so the same clock is needed to send it again.
    harness.start(clock=clock)
    harness.settle()
    for client in harness.clients:
        client.patient = False
    changed = before.items() - _read_dates(harness).items()
    gone = {key for key, _ in changed} - _read_dates(harness).keys()
    rewritten = [f"the date of {key} was changed" for key, _ in changed if key not in gone]
    harness.clients[0].ledger.surprises += rewritten
    harness.kill()
    harness.start(step=following)
    return f"clock {year}, kill"


def restart_database(harness: Harness, following: KillStep | None) -> str:
    """Restart the database while the users work; the server goes on."""
    with harness.work():
        harness.let_work(20)
        if not harness.database.restart():
            harness.kill()
        else:
            harness.let_work(10)
    if harness.is_running():
        harness.settle()
        harness.kill()
    harness.start(step=following)
    return "database restarted"


def reach_step(step: KillStep) -> Ending:
    """Return an ending in which the server dies at a step."""

    def end(harness: Harness, following: KillStep | None) -> str:
        return _REACH[step.command](harness, step, following)

    return end


def _reach_in_server(harness: Harness, step: KillStep, following: KillStep | None) -> str:
    # The server was started with the step.
    with harness.work(step.act):
        harness.let_work(4)
        harness.signal(signal.SIGUSR1)
        if step.rests:
            harness.let_work(20)
        else:
            _wait_for_death(harness)
    if step.rests:
        _wait_for_death(harness)
    reached = not harness.is_running()
    harness.kill()
    harness.start(step=following)
    return step.name if reached else f"{step.name} (not reached)"


def _wait_for_death(harness: Harness) -> None:
    deadline = time.monotonic() + _LONGEST_WAIT
    while harness.is_running() and time.monotonic() < deadline:
        time.sleep(0.05)


def _reach_in_start(harness: Harness, step: KillStep, following: KillStep | None) -> str:
    with harness.work():
        harness.let_work(20)
        harness.kill()
    return _run_and_die(harness, step, following, "serve", "--no-browser", "--port", "0")


def _reach_in_backup(harness: Harness, step: KillStep, following: KillStep | None) -> str:
    with harness.work():
        harness.let_work(20)
        harness.kill()
    backup = str(harness.folder / _BACKUP)
    told = _run_and_die(harness, step, following, "backup", backup)
    harness.processes.run("backup", backup)
    return told


def _reach_in_restore(harness: Harness, step: KillStep, following: KillStep | None) -> str:
    with harness.work():
        harness.let_work(20)
        harness.kill()
    backup = str(harness.folder / _BACKUP)
    harness.processes.run("backup", backup)
    dying = harness.processes.start("restore", backup, step=step, armed=True)
    reached = dying.wait() < 0
    # Again from the start, or back to what was there before: both are what the users have.
    again = ("restore", backup)
    if harness.chance.random() < 0.5 and (harness.folder / "restore-unfinished").exists():
        again = ("restore", "--back")
    harness.processes.run(*again)
    harness.start(step=following)
    return step.name if reached else f"{step.name} (not reached)"


def _reach_in_migration(harness: Harness, step: KillStep, following: KillStep | None) -> str:
    with harness.work():
        harness.let_work(20)
        harness.kill()
    # The last migration adds a table in which nothing is stored here.
    harness.processes.run("migrate", "-v0", "chat", "0028")
    dying = harness.processes.start("migrate", "-v0", step=step, armed=True)
    reached = dying.wait() < 0
    harness.processes.run("migrate", "-v0")
    harness.start(step=following)
    return step.name if reached else f"{step.name} (not reached)"


def _run_and_die(harness: Harness, step: KillStep, following: KillStep | None, *command: str) -> str:
    dying = harness.processes.start(*command, step=step, armed=True)
    deadline = time.monotonic() + _LONGEST_WAIT
    while dying.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    reached = (dying.poll() or 0) < 0
    dying.kill()
    harness.start(step=following)
    return step.name if reached else f"{step.name} (not reached)"


def _read_dates(harness: Harness) -> dict[str, str]:
    queries = (
        "SELECT id, created_at FROM chat_message",
        "SELECT id, created_at FROM chat_conversation",
        "SELECT id, first_seen FROM chat_fact",
    )
    return {str(key): str(at) for query in queries for key, at in harness.database.rows(query)}


_REACH: dict[str, Callable[[Harness, KillStep, KillStep | None], str]] = {
    "serve": _reach_in_server,
    "start": _reach_in_start,
    "backup": _reach_in_backup,
    "restore": _reach_in_restore,
    "migrate": _reach_in_migration,
}


def choose_ending(number: int, database: str) -> tuple[Ending, KillStep | None]:
    """Return how a round ends and the step at which its server dies. Each second one takes the next step."""
    steps = [step for step in STEPS if database == "sqlite" or not step.needs_file]
    if number % 2:
        # Neighbours in the list are alike, and a series takes different ones.
        step = steps[number // 2 * _STRIDE % len(steps)]
        return reach_step(step), step if step.command == "serve" else None
    ways = {
        "sqlite": (
            kill,
            fill_the_disk,
            stop_and_kill,
            set_clock,
            kill_starts,
            kill,
            fill_the_disk,
            kill_backup,
        ),
        "postgres": (restart_database, kill, restart_database, set_clock, stop_and_kill, kill_starts),
    }[database]
    return ways[number // 2 % len(ways)], None
