"""The panel shows facts that were heard once, and offers facts for cleaning that may not be worth keeping."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from chat.models import Fact

from .page_actions import accessibility_violations, each_width, fact_card, open_panel

pytestmark = pytest.mark.browser


def test_a_fact_that_was_heard_once_can_be_kept_or_forgotten(open_page, make_fact, live):
    now = timezone.now()
    make_fact("User walks by the lake", heard_once=True, archived_at=now)
    make_fact("User is at the station", heard_once=True, archived_at=now)
    page = open_page()
    sheet = open_panel(page)
    line = sheet.locator("#heard-once summary")
    expect(line).to_have_text("Heard once 2")
    expect(sheet.locator("#archive")).to_be_hidden()
    line.focus()
    page.keyboard.press("Enter")
    sheet.get_by_role("button", name="Keep “Walks by the lake”").press("Enter")
    expect(fact_card(sheet, "lake")).to_be_visible()
    expect(page.get_by_text("Kept.")).to_be_visible()
    expect(line).to_have_text("Heard once 1")
    sheet.get_by_role("button", name="Forget “At the station”").press("Enter")
    expect(sheet.locator("#heard-once")).to_be_hidden()
    page.get_by_role("button", name="Undo").click()
    expect(line).to_have_text("Heard once 1")
    assert [fact.text for fact in Fact.objects.live()] == ["User walks by the lake"]


def test_facts_that_may_not_matter_are_offered_for_cleaning(open_page, make_fact, live):
    make_fact("User lives in Oslo", durability="lasting")
    make_fact("User likes tea", durability="passing", pinned=True)
    make_fact("User has an example", durability="passing")
    make_fact("User waits for the bus", durability="doubtful")
    page = open_page()
    sheet = open_panel(page)
    expect(sheet.locator("#worth-keeping")).to_contain_text("2 memories may not be worth keeping.")
    sheet.get_by_role("link", name="Look through").click()
    expect(sheet.get_by_role("tab", name="Worth keeping? 2")).to_have_attribute("aria-selected", "true")
    for box in sheet.get_by_role("checkbox").all():
        box.check()
    sheet.get_by_role("button", name="Delete").click()
    expect(sheet.get_by_text("Nothing looks as if it would not matter for long.")).to_be_visible()
    texts = Fact.objects.live().values_list("text", flat=True)
    assert sorted(texts) == ["User likes tea", "User lives in Oslo"]


def test_axe_finds_no_serious_violation_and_nothing_needs_javascript(open_page, make_fact, live):
    make_fact("User has an example", durability="passing")
    make_fact("User walks by the lake", heard_once=True, archived_at=timezone.now())
    page = open_page("/memory/")
    page.locator("#heard-once summary").click()
    for width in each_width(page):
        assert accessibility_violations(page) == [], width
    plain = open_page("/memory/", java_script_enabled=False)
    plain.get_by_text("Heard once").click()
    plain.get_by_role("button", name="Keep “Walks by the lake”").click()
    expect(fact_card(plain, "lake")).to_be_visible()
    plain.get_by_role("link", name="Look through").click()
    expect(plain.get_by_role("checkbox")).to_have_count(1)
