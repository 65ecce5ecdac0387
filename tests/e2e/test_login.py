"""Logging in and out in server mode."""

from __future__ import annotations

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import expect

from .page_actions import PASSWORD, log_in

pytestmark = pytest.mark.browser


def test_a_visitor_without_login_gets_the_requested_page_after_the_login(open_page, live, server_mode, other):
    other.set_password(PASSWORD)
    other.save()
    page = open_page("/memory/")
    page.get_by_label("Name").fill(other.username)
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("The name or the password is wrong.")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Memory", exact=True)).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("button", name="Log in")).to_be_visible()


def test_a_page_whose_login_ended_elsewhere_leads_to_the_login_and_back(open_page, live, server_mode, other):
    other.set_password(PASSWORD)
    other.save()
    page = open_page("/statistics/")
    log_in(page, other)
    expect(page.get_by_role("heading", name="Statistics").first).to_be_visible()
    page.wait_for_function("performance.getEntriesByType('resource').length > 0")
    page.wait_for_timeout(500)
    Session.objects.all().delete()
    expect(page.get_by_role("button", name="Log in")).to_be_visible()
    expect(page.get_by_text("Reconnecting")).to_be_hidden()
    log_in(page, other)
    expect(page.get_by_role("heading", name="Statistics").first).to_be_visible()
