"""Runs the real server for benchmarks, with a measurement of its event-loop lag at /lag/."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

PROBE_SECONDS = 0.005


class LagProbe:
    """Wraps the application and measures how late the event loop wakes a sleeping task, in milliseconds.

    The first request to /lag/ starts the measurement; the next one ends it and responds with the lags. The
    measurement does not run all the time, because 200 wake-ups a second would slow other measurements.
    """

    def __init__(self, app: Any) -> None:
        self.app = app
        self.lags: list[float] = []
        self.task: asyncio.Task[None] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] == "/lag/":
            body = json.dumps(self._toggle()).encode()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": body})
            return
        await self.app(scope, receive, send)

    def _toggle(self) -> list[float]:
        if self.task is None:
            self.task = asyncio.create_task(self._measure())
            return []
        self.task.cancel()
        self.task, lags, self.lags = None, self.lags, []
        return lags

    async def _measure(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(PROBE_SECONDS)
            self.lags.append((time.perf_counter() - before - PROBE_SECONDS) * 1000)


def main(port: str) -> None:
    """Migrate the environment's data folder and serve it, as `manage.py serve` does."""
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    import memoryapp.asgi
    from chat.memory import energy

    # Benchmarks request a day's jobs within minutes; with the energy limit these would wait for an hour.
    energy.LOW_LEVEL = float("-inf")
    memoryapp.asgi.application = LagProbe(memoryapp.asgi.application)  # type: ignore[assignment]
    call_command("serve", port=int(port), no_browser=True)


if __name__ == "__main__":
    main(sys.argv[1])
