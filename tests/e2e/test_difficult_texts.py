"""Long code, wide tables, very long words and right-to-left text, on phone and desktop widths."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .page_actions import accessibility_violations, each_width, last_reply, send_message

pytestmark = pytest.mark.browser

DIFFICULT = f"""# A title

A word without an end: {"Donaudampfschifffahrt" * 12}

| {" | ".join(f"Column {i}" for i in range(14))} |
|{"---|" * 14}
| {" | ".join("something" for _ in range(14))} |

```python
{"a_very_long_name = " * 30}1
```

שלום, זה טקסט מימין לשמאל.

- the first
- the second with `{"code" * 60}`

The end of it."""

# Layout shifts as the browser counts them; shifts after user input do not count.
OBSERVE = (
    "window.shift = 0; new PerformanceObserver(list => { for (const e of list.getEntries())"
    " if (!e.hadRecentInput) window.shift += e.value }).observe({type: 'layout-shift', buffered: true})"
)


def test_nothing_is_wider_than_the_page_and_everything_can_be_scrolled_to(open_page, scripted):
    scripted.replies.append(DIFFICULT)
    page = open_page()
    send_message(page, f"{'Unendlich' * 40} and more")
    expect(last_reply(page)).to_contain_text("The end of it.")
    for width in each_width(page):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("[data-scroll-area]").evaluate("e => e.scrollWidth <= e.clientWidth")
        for box in (last_reply(page).locator("pre"), last_reply(page).locator(".table")):
            expect(box).to_have_attribute("tabindex", "0")
        assert accessibility_violations(page) == [], width


def test_each_paragraph_has_its_own_text_direction(open_page, scripted):
    scripted.replies.append(DIFFICULT)
    page = open_page()
    send_message(page, "Hi")
    expect(last_reply(page)).to_contain_text("The end of it.")
    edges = last_reply(page).evaluate(
        """e => [...e.querySelectorAll('p')].map(p => {
            const range = document.createRange(); range.selectNodeContents(p);
            const text = range.getBoundingClientRect(), box = p.getBoundingClientRect();
            return Math.round(text.left - box.left) <= 1 ? 'left' : 'right';
        })"""
    )
    assert edges[1:3] == ["right", "left"]


@pytest.mark.parametrize("width", [1280, 390])
def test_the_layout_does_not_shift_while_a_difficult_reply_is_written(open_page, scripted, gate, width):
    scripted.replies.extend(["A first answer.", DIFFICULT])
    page = open_page(width=width)
    send_message(page, "Hi")
    page.wait_for_url("**/c/**")
    gate.release(3)
    expect(last_reply(page)).to_contain_text("A first answer.")
    page.evaluate(OBSERVE)
    send_message(page, "More")
    for _ in range(30):
        gate.release(8)
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    gate.release(1000)
    expect(last_reply(page)).to_contain_text("The end of it.")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("window.shift") < 0.02


def test_a_connection_lost_during_a_difficult_reply_loses_nothing(open_page, scripted, gate):
    scripted.replies.append(DIFFICULT)
    page = open_page(width=390)
    send_message(page, "Hi")
    page.wait_for_url("**/c/**")
    gate.release(20)
    expect(last_reply(page, "streaming").locator("h1")).to_have_text("A title")
    page.context.set_offline(True)
    gate.release(40)
    page.context.set_offline(False)
    gate.release(1000)
    expect(last_reply(page)).to_contain_text("The end of it.", timeout=30_000)
    expect(last_reply(page).locator("h1")).to_have_count(1)
    expect(last_reply(page).locator("td")).to_have_count(14)
