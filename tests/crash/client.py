"""Sends the requests of one user, and again those that were not acknowledged."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from typing import Any

import httpx2

from .ledger import Ledger, State

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
Step = Callable[[], None]


class Interrupted(Exception):
    """The server did not answer: nobody knows whether the request was carried out."""


class CrashClient:
    """The connection of one user to the server that runs now, and the acts that are not acknowledged yet."""

    def __init__(self, ledger: Ledger, token: str, chance: random.Random) -> None:
        self.ledger = ledger
        self.chance = chance
        self.headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx2.Client(timeout=20)
        self._base = ""
        self._open: list[tuple[str, Step]] = []
        # Acts that are told to fail now, for instance because the clock is wrong: no surprise.
        self.patient = False

    def connect(self, base: str) -> None:
        """Use the server at this address from now on."""
        self._http.close()
        self._http = httpx2.Client(timeout=20)
        self._base = base

    def is_answered(self) -> bool:
        """Return whether the server answers."""
        try:
            self.ask("GET", "settings", expect={200})
        except Interrupted:
            return False
        return True

    def begin(self, name: str, step: Step) -> None:
        """Do an act; where it is interrupted, `settle` does it again. Raises Interrupted."""
        self._open.append((name, step))
        self.settle()

    def settle(self) -> None:
        """Send again what was not acknowledged. Raises Interrupted."""
        while self._open:
            name, step = self._open[0]
            step()
            self.ledger.done[name] += 1
            self._open.pop(0)

    def word(self) -> str:
        """Return a word that nobody else uses."""
        return "".join(self.chance.choices(_LETTERS, k=12))

    def ask(
        self, method: str, path: str, body: Any = None, *, expect: Collection[int], key: str = "", **more: Any
    ) -> Any:
        """Send a request and return the response; raises Interrupted without one, and for a server error."""
        headers = self.headers | ({"Idempotency-Key": key} if key else {}) | more.pop("headers", {})
        try:
            answer = self._http.request(
                method, f"{self._base}/api/{path}", json=body, headers=headers, **more
            )
        except httpx2.HTTPError as error:
            raise Interrupted(f"{method} {path}: {error!r}") from error
        if answer.status_code >= 500:
            raise Interrupted(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
        if answer.status_code not in expect and not self.patient:
            self.ledger.surprises.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
        return answer

    def press(self, method: str, path: str) -> str:
        """Delete something; return the deletion, or "" where it was deleted before for good."""
        answer = self.ask(method, path, expect={200, 404, 409})
        if answer.status_code != 200:
            return ""
        told = answer.json()
        return str(told.get("deletion", told)["id"])

    def undo(self, deletion: str) -> State:
        """Undo a deletion; return whether what it deleted is live now."""
        answer = self.ask("POST", f"deletions/{deletion}/undo", expect={200, 409})
        if answer.status_code == 200:
            return State.LIVE
        # Too late, or an earlier attempt was not acknowledged.
        told = self.ask("GET", f"deletions/{deletion}", expect={200}).json()
        return State.LIVE if told.get("state") == "undone" else State.DELETED
