"""The colours of cards in the panel: by category, pinned, and just saved; the pin appears on hover."""

from __future__ import annotations

import colorsys
import re

import pytest
from playwright.sync_api import Locator, expect

from .page_actions import fact_card, open_panel

pytestmark = pytest.mark.browser

# Hues in degrees.
CYAN, PURPLE, GREEN, ORANGE = (180, 220), (265, 290), (130, 160), (10, 40)


@pytest.fixture
def three(make_fact):
    """Three memories, one of each category; the one about jazz is pinned."""
    make_fact("User is building a synth", category="project", kind="building")
    make_fact("User likes jazz", pinned=True)
    make_fact("User lives in Lyon", category="identity", kind="home")


def style_of(element: Locator, part: str, name: str) -> str:
    """Return a computed style of a pseudo-element such as "::before", or of the element for ""."""
    script = "(element, [part, name]) => getComputedStyle(element, part || null).getPropertyValue(name)"
    return str(element.evaluate(script, [part, name]))


def has_hue(colour: str, hues: tuple[int, int]) -> bool:
    """Return whether a colour `rgb(r, g, b)` is saturated and has a hue within these degrees."""
    red, green, blue = (int(number) / 255 for number in re.findall(r"\d+", colour)[:3])
    hue, _, saturation = colorsys.rgb_to_hls(red, green, blue)
    return saturation > 0.3 and hues[0] <= hue * 360 <= hues[1]


@pytest.mark.parametrize("dark", [False, True])
def test_each_category_has_its_colour(open_page, three, dark):
    sheet = open_panel(open_page(dark=dark))
    for text, hues in (("synth", CYAN), ("jazz", PURPLE), ("Lyon", GREEN)):
        colour = style_of(fact_card(sheet, text), "::before", "background-color")
        assert has_hue(colour, hues), f"{text}: {colour}"


def test_a_pinned_card_has_an_orange_line_of_one_pixel(open_page, three):
    sheet = open_panel(open_page())
    pinned = fact_card(sheet, "jazz")
    assert style_of(pinned, "::after", "width") == "1px"
    assert has_hue(style_of(pinned, "::after", "background-color"), ORANGE)
    assert style_of(fact_card(sheet, "synth"), "::after", "content") == "none"


def test_the_pin_appears_while_the_pointer_is_over_the_card(open_page, three):
    sheet = open_panel(open_page())
    card = fact_card(sheet, "synth")
    pin = card.get_by_role("button", name="Pin")
    opacity = "e => { let o = 1; for (; e; e = e.parentElement) o *= getComputedStyle(e).opacity; return o }"
    fact_card(sheet, "Lyon").hover()
    expect(pin).to_have_count(1)
    sheet.page.wait_for_function(f"e => ({opacity})(e) < 0.1", arg=pin.element_handle())
    card.hover()
    sheet.page.wait_for_function(f"e => ({opacity})(e) > 0.9", arg=pin.element_handle())


def test_a_saved_card_pulses_green(open_page, three):
    sheet = open_panel(open_page())
    fact_card(sheet, "synth").get_by_role("link", name="synth").click()
    line = sheet.get_by_role("textbox", name="Memory", exact=True)
    line.fill("User is building a lute")
    line.press("Enter")
    saved = fact_card(sheet, "lute")
    expect(saved).to_have_class(re.compile(r"\bsaved\b"))
    assert style_of(saved, "", "animation-name") == "found"
    assert has_hue(style_of(saved, "::before", "background-color"), GREEN)
