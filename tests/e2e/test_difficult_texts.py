"""Long code, wide tables, endless words and text from right to left, on a phone and on a desk."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .hands import findings, reply, say

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

# Shifts of the layout, as the browser counts them; what follows a press of the user's does not count.
OBSERVE = (
    "window.shift = 0; new PerformanceObserver(list => { for (const e of list.getEntries())"
    " if (!e.hadRecentInput) window.shift += e.value }).observe({type: 'layout-shift', buffered: true})"
)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_page_and_all_of_it_can_be_reached(open_page, scripted, width, dark):
    scripted.replies.append(DIFFICULT)
    page = open_page(width=width, dark=dark)
    say(page, f"{'Unendlich' * 40} and more")
    expect(reply(page)).to_contain_text("The end of it.")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("[data-talk]").evaluate("e => e.scrollWidth <= e.clientWidth")
    for box in (reply(page).locator("pre"), reply(page).locator(".table")):
        expect(box).to_have_attribute("tabindex", "0")
    assert findings(page) == []


def test_each_paragraph_runs_in_its_own_direction(open_page, scripted):
    scripted.replies.append(DIFFICULT)
    page = open_page()
    say(page, "Hi")
    expect(reply(page)).to_contain_text("The end of it.")
    edges = reply(page).evaluate(
        """e => [...e.querySelectorAll('p')].map(p => {
            const range = document.createRange(); range.selectNodeContents(p);
            const text = range.getBoundingClientRect(), box = p.getBoundingClientRect();
            return Math.round(text.left - box.left) <= 1 ? 'left' : 'right';
        })"""
    )
    assert edges[1:3] == ["right", "left"]


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_shifts_while_a_difficult_reply_is_written_word_by_word(open_page, scripted, gate, width):
    scripted.replies.extend(["A first answer.", DIFFICULT])
    page = open_page(width=width)
    say(page, "Hi")
    page.wait_for_url("**/c/**")
    gate.release(3)
    expect(reply(page)).to_contain_text("A first answer.")
    page.evaluate(OBSERVE)
    say(page, "More")
    for _ in range(30):
        gate.release(8)
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    gate.release(1000)
    expect(reply(page)).to_contain_text("The end of it.")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("window.shift") < 0.02


def test_a_line_lost_and_back_in_the_middle_of_difficult_text_loses_nothing(open_page, scripted, gate):
    scripted.replies.append(DIFFICULT)
    page = open_page(width=390)
    say(page, "Hi")
    page.wait_for_url("**/c/**")
    gate.release(20)
    expect(reply(page, "streaming").locator("h1")).to_have_text("A title")
    page.context.set_offline(True)
    gate.release(40)
    page.context.set_offline(False)
    gate.release(1000)
    expect(reply(page)).to_contain_text("The end of it.", timeout=30_000)
    expect(reply(page).locator("h1")).to_have_count(1)
    expect(reply(page).locator("td")).to_have_count(14)
