"""The time zone is taken from the browser at the first visit, and the settings show it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from chat.actions.owners import settings_of
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_first_visit_sets_the_zone_of_the_browser_and_the_settings_change_it(owner, open_page):
    open_page(timezone_id="Asia/Tokyo")
    wait_until(lambda: settings_of(owner.pk).time_zone == "Asia/Tokyo")
    page = open_page("/settings/", timezone_id="Europe/Oslo")
    zone = page.get_by_label("Time zone")
    expect(zone).to_have_value("Asia/Tokyo")
    zone.select_option("America/Lima")
    wait_until(lambda: settings_of(owner.pk).time_zone == "America/Lima")
