"""Where it is unclear what a message asks to forget, the page offers the facts as buttons."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.models import Deletion, Fact

from .page_actions import accessibility_violations, last_reply, memory_pill, send_message

pytestmark = pytest.mark.browser
LONG = "User's sister plays the harp in an orchestra that travels through Scandinavia"


@pytest.fixture
def page(open_page, scripted, make_fact):
    """A chat in which the user asked to forget what may be one of two facts, in a narrow window."""
    scripted.default_completion = "none"
    make_fact("User has a sister called Noor")
    make_fact(LONG)
    page = open_page()
    page.set_viewport_size({"width": 390, "height": 800})
    send_message(page, "Please forget my sister Ada's job.")
    expect(question(page)).to_be_visible()
    return page


def question(page):
    return last_reply(page).get_by_role("group", name="Which should be forgotten?")


def test_a_fact_is_forgotten_by_keyboard_and_undone(page):
    assert not Deletion.objects.exists()
    assert accessibility_violations(page) == []
    fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.evaluate(fits)
    box = question(page).get_by_role("button", name="harp").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    question(page).get_by_role("button", name="Noor").press("Enter")
    expect(question(page)).to_have_count(0)
    assert list(Fact.objects.live().values_list("text", flat=True)) == [LONG]
    last_reply(page).get_by_role("button", name="Undo: keep").press("Enter")
    expect(last_reply(page).get_by_text("Forgotten:")).to_have_count(0)
    assert Fact.objects.live().count() == 2


def test_none_takes_the_question_away(page):
    question(page).get_by_role("button", name="None").click()
    expect(question(page)).to_have_count(0)
    page.reload()
    expect(last_reply(page)).to_be_visible()
    expect(question(page)).to_have_count(0)
    assert Fact.objects.live().count() == 2
    page.set_viewport_size({"width": 1200, "height": 800})
    expect(memory_pill(page, 2)).to_be_visible()
