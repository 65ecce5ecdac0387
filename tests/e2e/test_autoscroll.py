"""While a reply grows the view stays at its end, unless the user scrolls up; the layout does not shift."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .page_actions import last_reply, send_message

pytestmark = pytest.mark.browser

SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries())
    window.shifts.push([entry.value, entry.sources.map((s) => s.node?.className ?? s.node?.nodeName)]);
}).observe({ type: "layout-shift", buffered: true });
"""
GROW_WHILE_SCROLLING = """async () => {
  const { followNewText } = await import("/static/js/autoscroll.js");
  const talk = document.querySelector("[data-scroll-area]");
  const blocks = document.querySelector("[data-state=streaming] [data-blocks]");
  talk.scrollTo(0, talk.scrollHeight);
  for (const text of ["More.", "And more.", "And more.", "Just now."])
    blocks.append(Object.assign(document.createElement("p"), { textContent: text }));
  followNewText();
}"""
LONG = "\n\n".join(f"Paragraph {i}." for i in range(60))
MIXED = (
    "# Title\n\nSome text with **bold** words in it.\n\n- one\n- two\n- three\n\n"
    "```python\nfor i in range(3):\n    print(i)\n```\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n> A quoted line.\n\n1. first\n2. second\n\nThe end of it."
)


def test_the_end_of_a_growing_reply_stays_in_view(open_page, scripted, gate):
    scripted.replies.append(LONG)
    page = open_page()
    send_message(page, "Hi")
    page.wait_for_url("**/c/**")
    for release, last in ((20, 18), (20, 38), (15, 53)):
        gate.release(release)
        expect(page.get_by_text(f"Paragraph {last}.", exact=True)).to_be_in_viewport()
    expect(page.get_by_role("button", name="New text")).to_be_hidden()
    gate.release(100)
    expect(page.get_by_text("Paragraph 59.", exact=True)).to_be_in_viewport()
    expect(last_reply(page)).to_have_count(1)


def test_scrolling_back_to_the_end_resumes_following(open_page, scripted, gate):
    scripted.replies.append(LONG)
    page = open_page()
    send_message(page, "Hi")
    page.wait_for_url("**/c/**")
    gate.release(40)
    expect(page.get_by_text("Paragraph 38.", exact=True)).to_be_in_viewport()
    page.locator("[data-scroll-area]").hover()
    page.mouse.wheel(0, -3000)
    expect(page.get_by_text("Paragraph 0.", exact=True)).to_be_in_viewport()
    gate.release(5)
    more = page.get_by_role("button", name="New text")
    expect(more).to_be_visible()
    expect(page.get_by_text("Paragraph 0.", exact=True)).to_be_in_viewport()
    page.mouse.wheel(0, 9000)
    expect(more).to_be_hidden()
    gate.release(10)
    expect(page.get_by_text("Paragraph 53.", exact=True)).to_be_in_viewport()


def test_text_that_arrives_while_the_end_is_reached_is_followed(open_page, scripted, gate):
    scripted.replies.append(LONG)
    page = open_page()
    send_message(page, "Hi")
    page.wait_for_url("**/c/**")
    gate.release(40)
    expect(page.get_by_text("Paragraph 38.", exact=True)).to_be_in_viewport()
    page.locator("[data-scroll-area]").hover()
    page.mouse.wheel(0, -3000)
    expect(page.get_by_text("Paragraph 0.", exact=True)).to_be_in_viewport()
    gate.release(1)
    expect(page.get_by_role("button", name="New text")).to_be_visible()
    # In one JavaScript task, so that the text comes before the browser reports the scroll event.
    page.evaluate(GROW_WHILE_SCROLLING)
    expect(page.get_by_text("Just now.")).to_be_in_viewport()
    expect(page.get_by_role("button", name="New text")).to_be_hidden()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_layout_does_not_shift_from_the_first_word_to_the_end(open_page, scripted, gate, width):
    scripted.replies.append(MIXED)
    page = open_page("/", width=width)
    page.context.add_init_script(SHIFTS)
    send_message(page, "Hi")
    page.wait_for_url("**/c/**")
    for word in range(MIXED.count(" ") + 1):
        gate.release()
        if word % 4 == 0:
            page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(last_reply(page)).to_contain_text("The end of it.")
    shifts = page.evaluate("window.shifts")
    assert sum(value for value, _ in shifts) < 0.02, shifts
