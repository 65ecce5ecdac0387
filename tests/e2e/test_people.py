"""The accounts of a server in a browser: the first link, an invitation, sign-up with approval, and People."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from chat.actions import first_account
from chat.models import User

from .page_actions import PASSWORD, accessibility_violations, each_width, log_in

pytestmark = pytest.mark.browser


def expect_accessible(page, what):
    for width in each_width(page):
        assert accessibility_violations(page) == [], f"{what} at {width}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 1280, "height": 800})


def fill_form(page, name, password=PASSWORD):
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_label("The password again").fill(password)


def person(page, name):
    return page.locator("li.person").filter(has=page.get_by_role("heading", name=name))


@pytest.fixture
def admin(server_mode, owner):
    owner.set_password(PASSWORD)
    owner.save()
    return owner


def test_the_first_link_leads_to_an_admin_who_is_logged_in(open_page, live, server_mode, owner, talk):
    talk("Hello")
    page = open_page(f"/first/{first_account.make_first_link()}/")
    expect_accessible(page, "first link")
    expect(page.get_by_label("Take over the data of local mode")).to_be_checked()
    fill_form(page, "ann", "12345678")
    page.get_by_role("button", name="Create the account").click()
    expect(page.get_by_role("alert").first).to_contain_text("too common")
    expect_accessible(page, "first link with errors")
    fill_form(page, "ann")
    page.get_by_role("button", name="Create the account").click()
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_be_visible()
    assert User.objects.get().username == "ann"
    page.get_by_role("link", name="People").click()
    expect(person(page, "ann")).to_contain_text("Admin")


def test_an_invited_person_joins_by_the_link_that_is_shown_once(open_page, live, admin):
    page = open_page("/people/")
    log_in(page, admin)
    page.get_by_label("Invite somebody").fill("Bob from work")
    page.get_by_label("Valid for").select_option("1")
    page.get_by_role("button", name="Make a link").click()
    shown = page.locator("#invitations [role=status] code")
    expect(shown).to_contain_text("/invite/")
    expect(page.locator("#invitations li")).to_contain_text("Bob from work")
    expect_accessible(page, "people with an invitation")
    link = re.sub(r"^https?://[^/]+", "", shown.inner_text())
    page.reload()
    expect(page.locator("#invitations li")).to_contain_text("Bob from work")
    expect(shown).to_be_hidden()
    guest = open_page(link)
    expect_accessible(guest, "invitation")
    fill_form(guest, "bob")
    guest.get_by_role("button", name="Create the account").click()
    expect(guest.get_by_role("textbox", name="Message", exact=True)).to_be_visible()
    expect(guest.get_by_role("link", name="People")).to_have_count(0)
    again = open_page(link)
    expect(again.get_by_text("This invitation was used already.")).to_be_visible()
    expect_accessible(again, "used invitation")
    page.reload()
    expect(page.get_by_text("bob joined by an invitation of owner")).to_be_visible()


def test_who_asks_for_an_account_waits_until_an_admin_approves(open_page, live, admin, server_mode):
    admin_page = open_page("/people/")
    log_in(admin_page, admin)
    page = open_page("/login/")
    expect(page.get_by_role("link", name="Ask for an account")).to_have_count(0)
    server_mode.SIGNUP = "approval"
    page.reload()
    page.get_by_role("link", name="Ask for an account").click()
    expect_accessible(page, "sign-up")
    fill_form(page, "cid")
    page.get_by_role("button", name="Ask for the account").click()
    expect(page.get_by_role("heading", name="Your account waits for approval")).to_be_visible()
    expect_accessible(page, "waiting")
    admin_page.reload()
    expect(person(admin_page, "cid")).to_contain_text("waits for approval")
    expect_accessible(admin_page, "people with somebody who waits")
    admin_page.get_by_role("button", name="Approve cid").click()
    expect(admin_page.get_by_text("cid can log in now.")).to_be_visible()
    page.get_by_role("link", name="Log in").click()
    log_in(page, User.objects.get(username="cid"))
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_be_visible()


def test_the_page_of_a_deactivated_person_leads_to_the_login(open_page, live, admin, other):
    other.set_password(PASSWORD)
    other.save()
    theirs = open_page("/statistics/")
    log_in(theirs, other)
    expect(theirs.get_by_role("heading", name="Statistics").first).to_be_visible()
    page = open_page("/people/")
    log_in(page, admin)
    row = person(page, other.username)
    row.get_by_text("Change", exact=True).click()
    expect_accessible(page, "people with an open form")
    row.get_by_role("button", name="Deactivate").click()
    expect(person(page, other.username)).to_contain_text("deactivated")
    expect(theirs.get_by_role("button", name="Log in")).to_be_visible()


def test_limits_are_set_and_a_deactivated_account_is_deleted_and_brought_back(open_page, live, admin, other):
    page = open_page("/people/")
    log_in(page, admin)
    row = person(page, other.username)
    row.get_by_text("Limits", exact=True).click()
    row.get_by_label("Imports a day").fill("2")
    expect_accessible(page, "people with open limits")
    row.get_by_role("button", name="Save").click()
    expect(page.get_by_text(f"The limits of {other.username} are saved.").first).to_be_visible()
    row.get_by_text("Limits", exact=True).click()
    expect(row.get_by_label("Imports a day")).to_have_value("2")
    row.get_by_text("Change", exact=True).click()
    row.get_by_role("button", name="Deactivate").click()
    row.get_by_text("Delete", exact=True).click()
    row.get_by_role("button", name="Delete the account").click()
    expect(row).to_contain_text("It will be deleted for good on")
    expect_accessible(page, "people with a deleted account")
    row.get_by_role("button", name=f"Bring {other.username} back").click()
    expect(row.get_by_role("button", name=f"Reactivate {other.username}")).to_be_visible()
