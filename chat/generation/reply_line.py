"""The line of replies: which one gets a thread next, and how many are served before each.

A reply waits for a thread and then, in its thread, for the model. In both places owners take turns.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from chat.llm.turns import Turns
from memoryapp.base.announcements import Announcements, Record
from memoryapp.base.message_bus import MessageBus, bus

from .reply_run import ReplyRun

_CHECK_SECONDS = 0.5


@dataclass(eq=False)
class Entry:
    """A reply in the line. `since_monotonic` is when it began to wait, in seconds of the monotonic clock."""

    run: ReplyRun
    lane: int = 0
    ticket: float = field(default_factory=time.monotonic)
    has_begun: bool = False
    since_monotonic: float = field(default_factory=time.monotonic)
    has_thread: bool = False
    # The model works on it.
    is_served: bool = False

    @property
    def owner(self) -> str:
        """Return whose reply it is."""
        return self.run.owner


@dataclass(frozen=True, slots=True)
class OthersEntry:
    """A reply in another process's line; `ticket` is its arrival by this process's monotonic clock."""

    owner: str
    ticket: float
    is_served: bool
    lane: int = 0
    has_begun: bool = False


class ReplyLine:
    """Runs replies in the threads of a pool, owner by owner. Callable from any thread.

    `show` is called with how many replies are served before a waiting one, when that number has changed.
    `places` returns how many replies the model writes at the same time; with more places than `threads` there
    are as many threads as places, up to `most_threads`.
    """

    def __init__(
        self,
        threads: int,
        show: Callable[[ReplyRun, int], None],
        places: Callable[[], int],
        *,
        most_threads: int = 0,
        message_bus: MessageBus = bus,
    ) -> None:
        self._threads, self._most_threads = threads, max(threads, most_threads)
        self.pool = ThreadPoolExecutor(self._most_threads, "reply")
        self._show = show
        self._places = places
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}
        self._thread_turns, self._model_turns = Turns(), Turns()
        self._shown: Mapping[str, int] = {}
        self._is_checked = False
        self._announcements = Announcements("line", self._read, self._show_places, message_bus)

    def add(self, run: ReplyRun, most: int) -> None:
        """Run a reply as soon as it has a thread; its owner has at most `most` threads at a time."""
        with self._lock:
            self._entries[run.reply] = Entry(run)
        self._hand_out_threads(most)
        self._note_change()

    def withdraw(self, run: ReplyRun) -> bool:
        """Take a reply out of the line; False where a thread has begun it, or it is not in the line."""
        with self._lock:
            entry = self._entries.get(run.reply)
            if entry is None or entry.has_thread:
                return False
            del self._entries[run.reply]
        self._note_change()
        return True

    def note_begin(self, run: ReplyRun) -> None:
        """Note that the model begins to work on a reply."""
        with self._lock:
            entry = self._entries.get(run.reply)
            if entry is None or entry.is_served:
                return
            entry.is_served = True
            self._model_turns.begin(entry)
        self._note_change()

    def count_of(self, owner: str) -> int:
        """Return how many replies of an owner are in the line or being written."""
        with self._lock:
            return sum(entry.owner == owner for entry in self._entries.values())

    def find_waiting(self) -> Sequence[Entry]:
        """Return the replies that the model has not begun, in the order in which they will be served."""
        with self._lock:
            return self._order()

    def restart_waiting(self, now: float) -> None:
        """Let the time of waiting begin now (monotonic clock), because there was no model until now."""
        with self._lock:
            for entry in self._entries.values():
                entry.since_monotonic = now

    def check_while_waiting(self, check: Callable[[], None]) -> None:
        """Call `check` twice a second in a thread, until no reply waits any more."""
        with self._lock:
            if self._is_checked:
                return
            self._is_checked = True
        threading.Thread(target=self._check, args=(check,), name="reply-line", daemon=True).start()

    def _check(self, check: Callable[[], None]) -> None:
        while True:
            time.sleep(_CHECK_SECONDS)
            with self._lock:
                self._is_checked = any(not entry.is_served for entry in self._entries.values())
                if not self._is_checked:
                    return
            check()

    def _hand_out_threads(self, most: int) -> None:
        while (entry := self._take_next(most)) is not None:
            self.pool.submit(self._run, entry, most)

    def _take_next(self, most: int) -> Entry | None:
        limit = min(max(self._threads, self._places()), self._most_threads)
        with self._lock:
            threads = Counter(entry.owner for entry in self._entries.values() if entry.has_thread)
            if threads.total() >= limit:
                return None
            waiting = [
                entry
                for entry in self._entries.values()
                if not entry.has_thread and threads[entry.owner] < most
            ]
            if (entry := self._thread_turns.find_next(waiting)) is not None:
                entry.has_thread = True
                self._thread_turns.begin(entry)
            return entry

    def _run(self, entry: Entry, most: int) -> None:
        try:
            entry.run.main()
        finally:
            with self._lock:
                self._entries.pop(entry.run.reply, None)
            self._hand_out_threads(most)
            self._note_change()

    def _order(self) -> Sequence[Entry]:
        return self._model_turns.order(entry for entry in self._entries.values() if not entry.is_served)

    def _read(self) -> list[Record]:
        """Return what other processes need to know of the replies here."""
        now = time.monotonic()
        with self._lock:
            return [
                [one.owner, now - one.ticket, one.is_served, self._model_turns.find_last(one)]
                for one in self._entries.values()
            ]

    def _list_others(self) -> list[OthersEntry]:
        """Return the replies of other processes, and learn who had the last turns there."""
        now = time.monotonic()
        entries = []
        for owner, age, is_served, last in self._announcements.list_others():
            entries.append(OthersEntry(owner, now - age, is_served))
            self._model_turns.learn(entries[-1], last)
        return entries

    def _note_change(self) -> None:
        self._announcements.announce()
        self._show_places()

    def _show_places(self) -> None:
        """Tell how many replies must end before each waiting one begins, where that number has changed."""
        if not self._entries:
            return
        places = self._places()
        with self._lock:
            entries: list[Entry | OthersEntry] = [*self._entries.values(), *self._list_others()]
            waiting = self._model_turns.order(entry for entry in entries if not entry.is_served)
            served = len(entries) - len(waiting)
            free = max(places, served) - served
            here = [(index, entry) for index, entry in enumerate(waiting) if isinstance(entry, Entry)]
            now = {entry.run.reply: max(0, index - free + 1) for index, entry in here}
            changed = [
                (entry.run, now[entry.run.reply])
                for _, entry in here
                if now[entry.run.reply] != self._shown.get(entry.run.reply, 0)
            ]
            # A reply that has begun has nobody before it.
            changed += [
                (entry.run, 0)
                for entry in self._entries.values()
                if entry.is_served and self._shown.get(entry.run.reply)
            ]
            self._shown = now
            for run, before in changed:
                self._show(run, before)
