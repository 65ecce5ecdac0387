"""A person's own account in a browser: every page, and the ways through them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from allauth.account.forms import default_token_generator
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from playwright.sync_api import expect

from chat.accounts import issuer_id
from chat.models import User
from tests.authenticator_app import show_code, switch_on
from tests.openid_issuer import CLIENT_ID, CLIENT_SECRET, run_issuer

from .page_actions import PASSWORD, accessibility_violations, log_in

pytestmark = pytest.mark.browser
# A folder for pictures of the pages, for whoever wants to look at them.
PICTURES = os.environ.get("PICTURES", "")


@pytest.fixture
def person(server_mode, other):
    other.set_password(PASSWORD)
    other.save()
    return other


@pytest.fixture
def everything(server_mode):
    """An issuer and email, as an operator sets them up."""
    with run_issuer() as issuer:
        server_mode.OIDC_ISSUER, server_mode.OIDC_NAME = issuer.url, "Example ID"
        server_mode.OIDC_CLIENT_ID, server_mode.OIDC_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET
        server_mode.HAS_EMAIL = True
        yield issuer


def check(page, name: str, width: int) -> None:
    """Check a page by axe, and that it is not wider than the window."""
    assert accessibility_violations(page) == [], f"{name} at {width}"
    assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    if PICTURES:
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            page.wait_for_timeout(300)
            page.screenshot(path=Path(PICTURES) / f"{name}-{width}-{theme}.png")


def confirm(page) -> None:
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()


@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_serious_on_the_pages_before_the_login(open_page, live, everything, person, width):
    link = f"{user_pk_to_url_str(person)}-{default_token_generator.make_token(person)}"
    page = open_page("/login/", width=width)
    check(page, "login", width)
    for name, path in {
        "reset": "password/reset/",
        "reset-sent": "password/reset/sent/",
        "reset-link": f"password/reset/{link}/",
        "reset-link-used": "password/reset/1-x/",
        "reset-done": "password/reset/done/",
        "inactive": "inactive/",
        "confirm-email-used": "email/x/",
        "issuer-start": "login/start/",
        "issuer-cancelled": "login/cancelled/",
        "issuer-error": "login/back/?code=x&state=y",
    }.items():
        page.goto(f"/account/{path}")
        check(page, name, width)
    page.goto("/login/")
    page.get_by_role("button", name="Log in with Example ID").click()
    expect(page.get_by_role("heading", name="This login is not linked")).to_be_visible()
    check(page, "issuer-not-linked", width)


@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_serious_on_the_pages_of_the_account(open_page, live, everything, person, width):
    EmailAddress.objects.create(user=person, email="old@example.org", verified=True, primary=True)
    EmailAddress.objects.create(user=person, email="new@example.org")
    page = open_page("/settings/", width=width)
    log_in(page, person)
    page.locator("#of-account").scroll_into_view_if_needed()
    check(page, "settings", width)
    page.goto("/account/confirm/?next=/account/two-factor/")
    check(page, "confirm", width)
    confirm(page)
    expect(page.get_by_text("Two-factor is off.")).to_be_visible()
    check(page, "two-factor-off", width)
    for name, path in {
        "password": "password/",
        "email": "email/",
        "sessions": "sessions/",
        "link": "login/",
        "switch-on": "two-factor/on/",
        "delete": "delete/",
    }.items():
        page.goto(f"/account/{path}")
        check(page, name, width)
    switch_on(person)
    SocialAccount.objects.create(user=person, provider=issuer_id(), uid="person-1")
    for name, path in {
        "two-factor-on": "two-factor/",
        "switch-off": "two-factor/off/",
        "recovery": "two-factor/recovery/",
        "recovery-new": "two-factor/recovery/new/",
        "confirm-by-code": "two-factor/confirm/",
        "linked": "login/",
        "delete-with-code": "delete/",
    }.items():
        page.goto(f"/account/{path}")
        check(page, name, width)
    page.context.clear_cookies()
    page.goto("/login/")
    log_in(page, person)
    expect(page.get_by_label("Code")).to_be_focused()
    check(page, "code", width)


def test_two_factor_is_switched_on_and_asked_for(open_page, live, person):
    page = open_page("/settings/")
    log_in(page, person)
    page.get_by_role("link", name="Change two-factor").click()
    page.get_by_role("link", name="Switch it on").click()
    confirm(page)
    secret = page.locator(".command code").inner_text()
    page.get_by_role("textbox", name="Code").fill(show_code(secret))
    page.get_by_role("button", name="Switch it on").click()
    expect(page.locator(".codes code")).to_have_count(10)
    codes = page.locator(".codes code").all_inner_texts()
    page.get_by_role("link", name="Done").click()
    page.get_by_role("button", name="Log out").click()
    log_in(page, person)
    page.get_by_label("Code").fill(codes[0])
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("button", name="Log out")).to_be_visible()


def test_a_page_of_an_ended_session_leads_to_the_login(open_page, live, person):
    page, elsewhere = open_page("/account/sessions/"), open_page("/statistics/", width=390)
    log_in(page, person)
    log_in(elsewhere, person)
    expect(elsewhere.get_by_role("heading", name="Statistics").first).to_be_visible()
    page.reload()
    page.get_by_role("button", name=re.compile("End the session of Chrome on Linux")).click()
    expect(page.get_by_text("The session is ended.")).to_be_visible()
    expect(elsewhere.get_by_role("button", name="Log in")).to_be_visible()
    assert UserSession.objects.count() == 1


def test_an_account_is_linked_and_used_in_a_browser(open_page, live, everything, person):
    page = open_page("/settings/")
    log_in(page, person)
    page.get_by_role("link", name="Change the link").click()
    page.get_by_role("button", name="Link Example ID").click()
    confirm(page)
    expect(page.get_by_text("Linked as ada")).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("button", name="Log in with Example ID").click()
    expect(page.get_by_role("button", name="Log out")).to_be_visible()


def test_a_deleted_account_comes_back_by_undo_and_goes_without(open_page, live, person, owner):
    page = open_page("/settings/")
    log_in(page, person)
    for undone in (True, False):
        page.goto("/account/delete/")
        page.get_by_label("Your password").fill(PASSWORD)
        page.get_by_role("button", name="Delete my account").click()
        expect(page.get_by_text("Your account is deleted")).to_be_visible()
        if undone:
            page.get_by_role("button", name="Undo").click()
            expect(page.get_by_text("Your account is deleted")).to_be_hidden()
            assert User.objects.filter(pk=person.pk).exists()
    expect(page.get_by_role("button", name="Log in")).to_be_visible(timeout=30_000)
    assert not User.objects.filter(pk=person.pk).exists()
