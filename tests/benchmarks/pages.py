"""Response and painting times of pages with much data: `python -m tests.benchmarks.pages`.

Uses a conversation of 1,000 messages and 150 facts, the real server in its own process with a scripted model,
and a real Chromium (CHROMIUM names another program). Prints a table and exits with 1 when a bar is missed.
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
from tests.benchmarks.more_sample_talk import MORE  # noqa: E402
from tests.benchmarks.running_server import Row, create_conversation, print_table  # noqa: E402
from tests.benchmarks.sample_talk import TALK  # noqa: E402
from tests.page_client import PageClient, start_server_process  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
MESSAGES, FACTS, ROUNDS = 1000, 150, 15
WORDS_A_SECOND = 40
CATEGORIES = (("project", "goal"), ("preference", "likes"), ("identity", "event"))
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]

# Milliseconds from a key press to the frame that shows a fact card.
OPENED = """() => new Promise((done) => addEventListener("keydown", (event) => {
  const look = () => requestAnimationFrame(() => {
    if (!document.querySelector("#sheet[open] .card")?.getClientRects().length) return look();
    const after = new MessageChannel();
    after.port1.onmessage = () => done(performance.now() - event.timeStamp);
    after.port2.postMessage(0);
  });
  look();
}, { once: true, capture: true }))"""
# Milliseconds from each typed letter to the next frame.
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
    """A semaphore that lets a fixed number of words a second pass."""

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        """Wait for the time of one word."""
        time.sleep(1 / WORDS_A_SECOND)
        return True


def serve_scripted(port: int) -> None:
    """Serve the environment's data folder with a scripted model that writes at a steady pace."""
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
    """Create the data, run all measurements, print the table, and return the exit code."""
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    owner = local_owner()
    key = create_conversation(owner, itertools.islice(itertools.cycle([*TALK, *MORE]), MESSAGES // 2))
    Fact.objects.bulk_create(
        Fact(
            owner=owner,
            text=f"User thinks that {text[:60]} ({n})",
            category=category,
            kind=kind,
            confidence=0.75,
        )
        for n, (category, kind), (text, _) in zip(
            range(FACTS), itertools.cycle(CATEGORIES), itertools.cycle([*TALK, *MORE]), strict=False
        )
    )
    process, base = start_server_process(dict(os.environ), "-m", "tests.benchmarks.pages", "serve")
    try:
        rows = [
            *measure_server_time(PageClient(base), key),
            *measure_in_browser(base, f"/c/{key}/"),
            *measure_sizes(),
        ]
    finally:
        process.terminate()
        process.wait(20)
    print("load average:", *(f"{load:.1f}" for load in os.getloadavg()))
    return print_table(rows)


def measure_server_time(page: PageClient, key: str) -> Iterator[Row]:
    """Measure the conversation page and the memory page, from the request to the last byte."""
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


def measure_in_browser(base: str, path: str) -> Iterator[Row]:
    """Measure painting times and layout shifts in a browser."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        tab = browser.new_context(base_url=base, viewport={"width": 1280, "height": 800}).new_page()
        first = [_measure_first_opening(tab, path) for _ in range(ROUNDS)]
        again = []
        for _ in range(ROUNDS):
            tab.keyboard.press("Escape")
            tab.wait_for_timeout(400)
            again.append(_measure_opening(tab))
        yield _row("panel: press to painted cards, first time on a page", first, 100)
        yield _row("  opened again", again, 100)
        tab.keyboard.press("Escape")
        yield from _measure_while_streaming(tab)
        browser.close()


def _measure_first_opening(tab: Tab, path: str) -> float:
    tab.goto(path)
    tab.wait_for_load_state("networkidle")
    tab.wait_for_timeout(500)  # let the page settle before the key press
    return _measure_opening(tab)


def _measure_opening(tab: Tab) -> float:
    tab.evaluate(f"() => {{ window.opened = ({OPENED})(); }}")
    # The key press follows, so evaluate must not wait for the promise.
    tab.keyboard.press("Control+Shift+M")
    return float(tab.evaluate("window.opened"))


def _measure_while_streaming(tab: Tab) -> Iterator[Row]:
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


def measure_sizes() -> Iterator[Row]:
    """Sum the sizes of the own scripts and of the own styles, without compression."""
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
