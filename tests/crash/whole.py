"""`python -m tests.crash.whole [WEIGHTS]`: a whole server on loopback, of which each part is killed in turn.

The parts are PostgreSQL, Redis, two servers without background work, two workers, two scripted model servers
behind one setting, and nginx before all. While twenty people chat, each part is killed, stays away for a
second, and is started again. The table says how many seconds later the last request failed or was slow. At
the end no message and no fact may be lost or doubled, each reply must have ended, and each page must know it.

With WEIGHTS, the file of a small model, one real llama-server takes the place of the scripted ones, and three
people chat. Which facts that model finds is not checked.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .chat_acts import say, say_more
from .client import CrashClient, Interrupted
from .invariants import find_faults
from .page_watch import PageWatch
from .scripted_model import list_taught
from .whole_parts import Part, WholeServer, run_whole_server

_AWAY_SECONDS = 1.0
_CALM_SECONDS = 4.0
# Between two messages of one person. Twenty people without pauses need more than two cores.
_PAUSE_SECONDS = (3.0, 9.0)
# A request that takes longer is slow; it waits for a reply for three seconds at most.
_SLOW_SECONDS = 5.0
# The longest time after which everybody must be served again.
_LONGEST_OUTAGE_SECONDS = 10.0
_PATIENCE_SECONDS = 60.0
# Memory reads the messages of twenty people while nobody chats.
_SETTLING_SECONDS = 150.0
# Memory keeps the thirteenth fact of one piece of work, and later ones, in the archive.
_FACTS = "SELECT owner_id, text FROM chat_fact WHERE superseded_at IS NULL"
_REPLIES = "SELECT state, failure FROM chat_message WHERE role = 'assistant'"


def main() -> int:
    """Kill each part once, print the table, and return the exit code."""
    folder = Path(tempfile.mkdtemp(prefix="memoryapp-whole-"))
    folder.chmod(0o755)
    try:
        weights = Path(sys.argv[1]) if sys.argv[1:] else None
        with run_whole_server(folder, weights) as server:
            faults = Rounds(server, finds_facts=weights is None).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(faults) or "nothing is lost, doubled or stuck")
    return 1 if faults else 0


class Rounds:
    """The people chat, and each part is killed in turn."""

    def __init__(self, server: WholeServer, *, finds_facts: bool) -> None:
        self._finds_facts = finds_facts
        self._server, self._clients = server, server.clients
        self._over = threading.Event()
        # When the last request of each person began that was answered.
        self._served = dict.fromkeys(range(len(self._clients)), 0.0)
        # When the last request ended that failed or was slow.
        self._disturbed = 0.0
        self._faults: list[str] = []

    def run(self) -> list[str]:
        """Run all rounds, print a line for each, and return what is wrong."""
        for client in self._clients:
            client.connect(self._server.base)
        _wait(lambda: all(client.is_answered() for client in self._clients), "nobody is served")
        threads = [
            threading.Thread(target=self._chat, args=(number, client), daemon=True)
            for number, client in enumerate(self._clients)
        ]
        with PageWatch(self._server.base, self._clients) as pages:
            for thread in threads:
                thread.start()
            time.sleep(_CALM_SECONDS)
            print(f"{'killed':<12} {'disturbed for':>15} {'messages':>9} {'pages told':>11}")
            for part in self._server.parts:
                self._kill(part, pages)
            self._over.set()
            for thread in threads:
                thread.join(_PATIENCE_SECONDS)
            self._settle()
            # The pages of the last replies.
            time.sleep(_CALM_SECONDS)
        self._describe_replies()
        print("\n".join(self._server.read_errors()))
        return self._faults + pages.find_faults()

    def _kill(self, part: Part, pages: PageWatch) -> None:
        killed = time.monotonic()
        part.kill()
        time.sleep(_AWAY_SECONDS)
        part.start()
        _wait(lambda: min(self._served.values()) > killed, f"not everybody is served after: {part.name}")
        took = max(0.0, self._disturbed - killed)
        sent = sum(client.ledger.done.total() for client in self._clients)
        print(f"{part.name:<12} {took:>13.1f} s {sent:>9} {pages.count_told():>11}", flush=True)
        if took > _LONGEST_OUTAGE_SECONDS:
            self._faults.append(f"{part.name}: requests are disturbed for {took:.1f} s")
        time.sleep(_CALM_SECONDS)

    def _chat(self, number: int, client: CrashClient) -> None:
        while not self._over.is_set():
            begun = time.monotonic()
            try:
                client.settle()
                act = random.choice((say, say_more, say_more))
                client.begin(act.__name__, act(client))
            except Interrupted:
                self._disturbed = time.monotonic()
                self._over.wait(0.5)
                continue
            if time.monotonic() - begun > _SLOW_SECONDS:
                self._disturbed = time.monotonic()
            self._served[number] = begun
            self._over.wait(random.uniform(*_PAUSE_SECONDS))

    def _settle(self) -> None:
        """Let everything end that was begun, and compare the database with what was acknowledged."""
        for client in self._clients:
            _wait(partial(_is_settled, client), "a request is not answered at the end")
        deadline = time.monotonic() + _SETTLING_SECONDS
        while (found := self._find_faults()) and time.monotonic() < deadline:
            time.sleep(1)
        self._faults += found

    def _find_faults(self) -> list[str]:
        ledgers = [client.ledger for client in self._clients]
        faults = find_faults(self._server.database, ledgers, settled=True)
        return faults + (self._find_lost_facts() if self._finds_facts else [])

    def _find_lost_facts(self) -> list[str]:
        """Return the facts that a message has taught and that are not stored once."""
        stored = Counter(
            (owner, fact) for owner, text in self._server.database.rows(_FACTS) for fact in list_taught(text)
        )
        taught = {
            (client.ledger.owner, fact)
            for client in self._clients
            for chat in client.ledger.chats.values()
            for text in chat.shown
            for fact in list_taught(text)
        }
        return [f"stored {stored[each]} times: {each[1]}" for each in sorted(taught) if stored[each] != 1]

    def _describe_replies(self) -> None:
        counts = Counter(self._server.database.rows(_REPLIES))
        print("replies:", ", ".join(f"{n} {state} {why}".strip() for (state, why), n in counts.most_common()))


def _is_settled(client: CrashClient) -> bool:
    try:
        client.settle()
    except Interrupted:
        return False
    return True


def _wait(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(what)
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
