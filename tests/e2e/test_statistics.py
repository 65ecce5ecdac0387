"""The statistics page in a browser: phone and desktop widths, both themes."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from chat.actions.messages import finish_reply
from chat.models import Energy, ExtractionRun, Job, PromptReport, UsageRecord

from .page_actions import accessibility_violations, each_width, last_reply, send_message

pytestmark = pytest.mark.browser


@pytest.fixture
def busy(owner, talk, make_fact):
    """A day of messages, replies, extractions and model calls."""
    luck, now, chat = random.Random(7), timezone.now(), None
    for n in range(40):
        when = now - timedelta(minutes=n * 34)
        asked, answer = talk(f"Message {n}", chat)
        chat = asked.conversation
        finish_reply(answer, "All right.", "complete")
        PromptReport.objects.create(
            reply=answer,
            window=4096,
            created_at=when,
            first_token_ms=luck.randint(200, 3000),
            facts=["a"] if n % 3 else [],
            stage=int(n % 9 == 0),
        )
        ExtractionRun.objects.create(
            message=asked,
            stored=n % 2,
            reinforced=n % 3 == 0,
            refused=[{"text": "", "reason": "no"}] * (n % 4),
        )
        for purpose, lane, energy in (("reply", "chat", 0), ("extract", "background", luck.uniform(1, 12))):
            UsageRecord.objects.create(
                owner=owner,
                purpose=purpose,
                lane=lane,
                prompt_tokens=900 + 20 * n,
                cached_tokens=850,
                completion_tokens=60,
                energy=energy,
                outcome="stop",
                created_at=when,
            )
        if n % 2:
            make_fact(f"User likes thing {n}", first_seen=when)


@pytest.fixture
def low(live):
    """No energy is left, and three extraction jobs wait."""
    Energy.objects.update_or_create(pk=1, defaults={"level": -60, "measured_at": timezone.now()})
    for _ in range(3):
        Job.objects.create(kind="extract", run_after=timezone.now() + timedelta(seconds=60))


def test_axe_finds_no_serious_violation_and_nothing_overflows(open_page, busy, low):
    page = open_page("/statistics/")
    expect(page.get_by_role("img")).to_have_count(4)
    for width in each_width(page):
        assert accessibility_violations(page) == [], width
    for numbers in page.locator(".chart summary").all():
        numbers.click()
    for width in each_width(page):
        assert accessibility_violations(page) == [], f"with all numbers, {width} px"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator(".statistics").evaluate("e => e.scrollWidth <= e.clientWidth")
        for chart in page.locator(".chart").all():
            assert chart.bounding_box()["width"] <= 360


def test_the_time_span_is_chosen_by_a_link_without_javascript(open_page, busy):
    page = open_page("/statistics/", java_script_enabled=False)
    page.get_by_role("button", name="30 days").click()
    expect(page).to_have_url("/statistics/?span=month")
    expect(page.get_by_role("button", name="30 days")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("26 of 40 replies")).to_be_visible()


def test_an_empty_page_shows_an_explanation(open_page):
    page = open_page("/statistics/")
    expect(page.get_by_text("Nothing to count yet.")).to_be_visible()
    assert accessibility_violations(page) == []


def test_the_gauge_shows_low_energy_and_links_to_the_statistics(open_page, owner):
    page = open_page("/")
    gauge = page.get_by_role("meter", name="Energy for background work")
    expect(gauge).to_have_attribute("aria-valuenow", "100")
    Energy.objects.update_or_create(pk=1, defaults={"level": 9, "measured_at": timezone.now()})
    send_message(page, "Hello")
    expect(last_reply(page)).to_be_visible()
    expect(gauge).to_have_attribute("aria-valuenow", "5")
    expect(gauge).to_have_attribute("data-full", "")
    page.get_by_role("link", name="Statistics").click()
    expect(page).to_have_url("/statistics/")
