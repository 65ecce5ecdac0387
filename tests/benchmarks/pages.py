"""How quick the page is where there is much in it: `python -m tests.benchmarks.pages`.

A conversation of 1,000 messages and 150 facts, the real server in a process of its own with a model that only
recites, and a real Chromium (CHROMIUM names another). Prints a table and exits with 1 when a bar is missed.
"""

from __future__ import annotations

import itertools
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

if len(sys.argv) < 3:
    os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from playwright.sync_api import Page as Tab  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

from chat.actions.owners import local_owner  # noqa: E402
from chat.models import Fact  # noqa: E402
from tests.benchmarks.live import Row, planted, printed  # noqa: E402
from tests.benchmarks.more_talk import MORE  # noqa: E402
from tests.benchmarks.talk import TALK  # noqa: E402
from tests.page_client import Page, serve  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
MESSAGES, FACTS, ROUNDS = 1000, 150, 15
WORDS_A_SECOND = 40
SHELVES = (("project", "goal"), ("preference", "likes"), ("identity", "event"))
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]

# From the press to the frame that shows a card.
OPENED = """() => new Promise((done) => addEventListener("keydown", (event) => {
  const look = () => requestAnimationFrame(() => {
    if (!document.querySelector("#sheet[open] .card")?.getClientRects().length) return look();
    const after = new MessageChannel();
    after.port1.onmessage = () => done(performance.now() - event.timeStamp);
    after.port2.postMessage(0);
  });
  look();
}, { once: true, capture: true }))"""
# From each press of a letter to the frame after it.
TYPED = """() => {
  window.delays = [];
  addEventListener("keydown", (event) => requestAnimationFrame(() => {
    const after = new MessageChannel();
    after.port1.onmessage = () => window.delays.push(performance.now() - event.timeStamp);
    after.port2.postMessage(0);
  }), true);
}"""
SHIFTED = """() => {
  window.shift = 0;
  new PerformanceObserver((list) => { for (const one of list.getEntries()) window.shift += one.value; })
    .observe({ type: "layout-shift" });
}"""


class Pace(threading.Semaphore):
    """Lets one word after the other go."""

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        """Wait as long as a word takes."""
        time.sleep(1 / WORDS_A_SECOND)
        return True


def serve_scripted(port: int) -> None:
    """Serve the data folder of the environment with a model that recites at a steady pace."""
    import uvicorn

    from chat.jobs.runner import JobRunner
    from chat.llm.registry import registry
    from chat.llm.scripted import ScriptedProvider

    said = "\n\n".join(answer for _, answer in itertools.islice(itertools.cycle([*TALK, *MORE]), 14))
    registry.use(ScriptedProvider(default=said, gate=Pace(), context_window=32_768), label="Recitation")

    JobRunner().start()
    from memoryapp.asgi import application

    uvicorn.run(
        application,
        port=port,
        log_level="warning",
        lifespan="off",
        ws="websockets-sansio",
        proxy_headers=False,
    )


def main() -> int:
    """Plant the data, run every measurement and print the table; returns the exit code."""
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    owner = local_owner()
    key = planted(owner, itertools.islice(itertools.cycle([*TALK, *MORE]), MESSAGES // 2))
    Fact.objects.bulk_create(
        Fact(
            owner=owner,
            text=f"User thinks that {text[:60]} ({n})",
            category=shelf,
            kind=kind,
            confidence=0.75,
        )
        for n, (shelf, kind), (text, _) in zip(
            range(FACTS), itertools.cycle(SHELVES), itertools.cycle([*TALK, *MORE]), strict=False
        )
    )
    process, base = serve(dict(os.environ), "-m", "tests.benchmarks.pages", "serve")
    try:
        rows = [*server_time(Page(base), key), *in_browser(base, f"/c/{key}/"), *sizes()]
    finally:
        process.terminate()
        process.wait(20)
    print("load average:", *(f"{load:.1f}" for load in os.getloadavg()))
    return printed(rows)


def server_time(page: Page, key: str) -> Iterator[Row]:
    """Measure the chat's page and the panel, from asking to the last byte."""
    for what, path, bar in (
        ("server time of the chat's page", f"/c/{key}/", 400),
        ("  of the memory page", "/memory/", 400),
    ):
        page.get(path)
        took = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            size = len(page.get(path))
            took.append((time.perf_counter() - began) * 1000)
        yield _row(f"{what} ({size // 1000} kB)", took, bar)


def in_browser(base: str, path: str) -> Iterator[Row]:
    """Measure what only a browser can tell."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        tab = browser.new_context(base_url=base, viewport={"width": 1280, "height": 800}).new_page()
        first = [_first_opening(tab, path) for _ in range(ROUNDS)]
        again = []
        for _ in range(ROUNDS):
            tab.keyboard.press("Escape")
            tab.wait_for_timeout(400)
            again.append(_opening(tab))
        yield _row("panel: press to painted cards, first time on a page", first, 100)
        yield _row("  opened again", again, 100)
        tab.keyboard.press("Escape")
        yield from _while_streaming(tab)
        browser.close()


def _first_opening(tab: Tab, path: str) -> float:
    tab.goto(path)
    tab.wait_for_load_state("networkidle")
    tab.wait_for_timeout(500)  # nobody presses earlier
    return _opening(tab)


def _opening(tab: Tab) -> float:
    tab.evaluate(f"() => {{ window.opened = ({OPENED})(); }}")
    # What evaluate returns must not wait for the promise: the press comes after it.
    tab.keyboard.press("Control+Shift+M")
    return float(tab.evaluate("window.opened"))


def _while_streaming(tab: Tab) -> Iterator[Row]:
    box = tab.get_by_role("textbox", name="Message", exact=True)
    for typing in (False, True):
        box.fill("Tell me all of it.")
        tab.keyboard.press("Enter")
        tab.locator("[data-state=streaming] .block").first.wait_for()
        tab.evaluate(TYPED if typing else SHIFTED)
        if typing:
            box.press_sequentially(
                "meanwhile I write the next question, letter by letter, as people do. " * 3, delay=45
            )
            delays = tab.evaluate("window.delays")
            worst = max(delays)
            yield _row("typing while a reply streams: press to painted letter", delays, 50)
            yield Row("  the worst of them", f"{worst:.0f} ms of {len(delays)}", "< 100 ms", worst < 100)
        else:
            tab.wait_for_timeout(8000)
            shift = tab.evaluate("window.shift")
            yield Row("layout shift while a reply streams (CLS)", f"{shift:.4f}", "< 0.02", shift < 0.02)
        tab.keyboard.press("Escape")
        tab.locator("[data-state=streaming]").wait_for(state="detached")


def sizes() -> Iterator[Row]:
    """Count our own scripts and styles, before compression."""
    for kind in ("js", "css"):
        size = sum(path.stat().st_size for path in (ROOT / "static" / kind).glob(f"*.{kind}"))
        yield Row(f"own {kind}", f"{size:,} bytes", "< 40,000 bytes", size < 40_000)


def _row(what: str, took: Sequence[float], bar: float) -> Row:
    p95 = sorted(took)[int(len(took) * 0.95)]
    figures = f"p50 {statistics.median(took):.0f} ms, p95 {p95:.0f} ms"
    return Row(what, figures, f"p95 < {bar:.0f} ms", p95 < bar)


def _command(arguments: list[str]) -> Any:
    return serve_scripted(int(arguments[2])) if len(arguments) > 2 else main()


if __name__ == "__main__":
    sys.exit(_command(sys.argv))
