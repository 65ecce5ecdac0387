"""The random session of one user through the REST API, with retries of what was not acknowledged."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable
from typing import Any

import httpx2

from .ledger import FactState, Ledger

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Facts of one user at a time: far from the limit at which memory archives some.
_MOST_FACTS = 40


class Interrupted(Exception):
    """The server did not answer: nobody knows whether the request was carried out."""


class CrashClient:
    """Sends requests of one user. What was not acknowledged is sent again, with the same key, by `settle`."""

    def __init__(self, ledger: Ledger, token: str, chance: random.Random) -> None:
        self.ledger = ledger
        self._headers = {"Authorization": f"Bearer {token}"}
        self._chance = chance
        self._base = ""
        self._open: list[Callable[[], None]] = []

    def connect(self, base: str) -> None:
        """Use the server at this address from now on."""
        self._base = base

    def settle(self) -> None:
        """Send again what was not acknowledged. Raises Interrupted."""
        while self._open:
            self._open[0]()
            self._open.pop(0)

    def act(self) -> None:
        """Do one random thing. Raises Interrupted."""
        acts = [
            self._say,
            self._say,
            self._tell,
            self._tell,
            self._forget,
            self._forget_and_undo,
            self._import,
        ]
        step = self._chance.choice(acts)()
        self._open.append(step)
        self.settle()

    def _word(self) -> str:
        return "".join(self._chance.choices(_LETTERS, k=12))

    def _ask(self, method: str, path: str, body: Any = None, key: str = "", **more: Any) -> Any:
        headers = self._headers | ({"Idempotency-Key": key} if key else {})
        try:
            answer = httpx2.request(
                method, f"{self._base}/api/{path}", json=body, headers=headers, timeout=20, **more
            )
        except httpx2.HTTPError as error:
            raise Interrupted from error
        if answer.status_code >= 500:
            raise Interrupted(answer.text)
        return answer

    # Each of these returns a step that can be repeated until it is acknowledged.

    def _say(self) -> Callable[[], None]:
        text, key, chat_key = f"Message {self._word()}", str(uuid.uuid4()), str(uuid.uuid4())

        def step() -> None:
            chat = self._ask("POST", "conversations", {"title": "Crash"}, chat_key).json()["id"]
            sent = self._ask("POST", f"conversations/{chat}/messages?wait=0", {"content": text}, key)
            if sent.status_code in (201, 202):
                self.ledger.messages.add(text)

        return step

    def _tell(self) -> Callable[[], None]:
        text, key = f"User keeps the {self._word()} in drawer {self._word()}", str(uuid.uuid4())
        live = [fact for fact, state in self.ledger.facts.items() if state is FactState.LIVE]
        if len(live) >= _MOST_FACTS:
            return self._forget()

        def step() -> None:
            made = self._ask("POST", "facts", {"text": text}, key)
            if made.status_code in (200, 201):
                stored = made.json()
                self.ledger.facts[stored["text"]] = FactState.LIVE
                self.ledger.fact_keys[stored["text"]] = stored["id"]

        return step

    def _forget(self) -> Callable[[], None]:
        live = [fact for fact, state in self.ledger.facts.items() if state is FactState.LIVE]
        if not live:
            return self._say()
        text = self._chance.choice(live)

        def step() -> None:
            # From the first attempt on it may be deleted.
            self.ledger.facts[text] = FactState.DELETED
            answer = self._ask("DELETE", f"facts/{self.ledger.fact_keys[text]}")
            if answer.status_code == 200:
                self.ledger.deletions[text] = answer.json()["id"]

        return step

    def _forget_and_undo(self) -> Callable[[], None]:
        forget = self._forget()

        def step() -> None:
            before = dict(self.ledger.facts)
            forget()
            deleted = [
                t for t, s in self.ledger.facts.items() if s is FactState.DELETED and before.get(t) != s
            ]
            for text in deleted:
                if text not in self.ledger.deletions:
                    continue
                self.ledger.facts[text] = FactState.UNDOING
                answer = self._ask("POST", f"deletions/{self.ledger.deletions[text]}/undo")
                # 409: the server was down for so long that it was too late.
                self.ledger.facts[text] = FactState.LIVE if answer.status_code == 200 else FactState.DELETED

        return step

    def _import(self) -> Callable[[], None]:
        text = f"Imported {self._word()}"
        row = {"uuid": self._word(), "sender": "human", "text": text, "created_at": "2026-01-01T10:00:00Z"}
        chat = {
            "uuid": self._word(),
            "name": "Old",
            "created_at": "2026-01-01T10:00:00Z",
            "chat_messages": [row],
        }
        content = json.dumps([chat]).encode()

        def step() -> None:
            answer = self._ask("POST", "import", files={"file": ("claude.json", content, "application/json")})
            if answer.status_code == 200:
                self.ledger.imported.add(text)
            # 409: an import that was killed has not been removed yet, and nothing was imported.

        return step
