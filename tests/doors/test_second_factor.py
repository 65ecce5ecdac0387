"""Two-factor: a code after the password, everywhere; recovery codes; limits; switching it on and off."""

from __future__ import annotations

import re

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client

from chat.actions.api_tokens import create_token
from chat.actions.logins import find_failed_logins
from tests.authenticator_app import show_code, switch_on

from .owned_objects import ORIGIN

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def _account(server_mode, other):
    other.set_password(PASSWORD)
    other.save()


@pytest.fixture
def visitor():
    return Client(headers={"origin": ORIGIN})


def enter_password(visitor, user, path="/login/"):
    return visitor.post(path, {"login": user.username, "password": PASSWORD}, follow=True)


def enter_code(visitor, code):
    return visitor.post("/account/two-factor/code/", {"code": code}, follow=True)


def is_logged_in(visitor) -> bool:
    return visitor.get("/memory/").status_code == 200


def test_the_password_alone_logs_nobody_in(visitor, other):
    switch_on(other)
    page = enter_password(visitor, other, "/login/?next=/statistics/")
    assert page.redirect_chain[-1][0] == "/account/two-factor/code/"
    for path in ("/memory/", "/settings/", "/account/two-factor/off/", "/account/delete/", "/admin/"):
        assert visitor.get(path).url.startswith("/login/") or "/login/" in visitor.get(path).url, path
    assert visitor.get("/api/facts", headers={"origin": ORIGIN}).status_code == 401
    page = enter_code(visitor, show_code())
    assert page.redirect_chain[-1][0] == "/statistics/"
    assert is_logged_in(visitor)


def test_the_admin_site_is_not_opened_by_the_password_alone(visitor, other):
    other.is_staff = other.is_superuser = True
    other.save()
    switch_on(other)
    for path in ("/login/?next=/admin/", "/admin/login/"):
        visitor.post(path, {"login": other.username, "username": other.username, "password": PASSWORD})
        assert visitor.get("/admin/").status_code == 302
    enter_code(visitor, show_code())
    assert visitor.get("/admin/").status_code == 200


def test_a_code_counts_once(visitor, other):
    switch_on(other)
    code = show_code()
    enter_password(visitor, other)
    enter_code(visitor, code)
    second = Client(headers={"origin": ORIGIN})
    enter_password(second, other)
    assert "was used already" in enter_code(second, code).content.decode()
    assert not is_logged_in(second)


@pytest.mark.parametrize(("steps", "accepted"), [(-3, False), (-1, True), (1, True), (3, False)])
def test_a_clock_may_differ_by_half_a_minute(visitor, other, steps, accepted):
    switch_on(other)
    enter_password(visitor, other)
    enter_code(visitor, show_code(steps=steps))
    assert is_logged_in(visitor) is accepted


def test_a_recovery_code_counts_once_in_place_of_a_code(visitor, other):
    codes = switch_on(other)
    enter_password(visitor, other)
    enter_code(visitor, codes[0])
    assert is_logged_in(visitor)
    assert "9 unused recovery codes are left." in visitor.get("/settings/").content.decode()
    second = Client(headers={"origin": ORIGIN})
    enter_password(second, other)
    enter_code(second, codes[0])
    assert not is_logged_in(second)


def test_the_sixth_wrong_code_is_not_tried_and_the_owner_is_told(other, visitor):
    switch_on(other)
    enter_password(visitor, other)
    for _ in range(5):
        assert "This code is wrong" in enter_code(visitor, "000000").content.decode()
    other_place = Client(headers={"origin": ORIGIN}, REMOTE_ADDR="192.0.2.9")
    enter_password(other_place, other)
    assert "Too many attempts failed" in enter_code(other_place, show_code()).content.decode()
    assert not is_logged_in(other_place)
    assert find_failed_logins(other).count == 5


def test_the_limit_holds_across_new_attempts_to_log_in(other):
    switch_on(other)
    pages = []
    for n in range(6):
        visitor = Client(headers={"origin": ORIGIN}, REMOTE_ADDR=f"192.0.2.{n}")
        enter_password(visitor, other)
        pages.append("Too many" in enter_code(visitor, "000000").content.decode())
    assert pages == [False] * 5 + [True]


def test_switching_it_on_needs_the_password_again_and_a_right_code(visitor, other):
    enter_password(visitor, other)
    page = visitor.get("/account/two-factor/on/", follow=True)
    assert page.redirect_chain[-1][0].startswith("/account/confirm/")
    page = visitor.post(page.redirect_chain[-1][0], {"password": PASSWORD}, follow=True).content.decode()
    secret = re.findall(r"<code[^>]*>([A-Z2-7]{32})</code>", page)[0]
    assert "data:image/svg+xml;base64," in page
    wrong = visitor.post("/account/two-factor/on/", {"code": "000000"})
    assert "This code is wrong" in wrong.content.decode()
    assert not Authenticator.objects.exists()
    page = visitor.post("/account/two-factor/on/", {"code": show_code(secret)}, follow=True)
    assert page.redirect_chain[-1][0] == "/account/two-factor/recovery/"
    shown = re.findall(r"<code>(\d{8})</code>", page.content.decode())
    assert len(shown) == 10
    assert visitor.get("/account/two-factor/recovery/file/").content.decode().split() == shown
    fresh = Client(headers={"origin": ORIGIN})
    enter_password(fresh, other)
    assert not is_logged_in(fresh)
    enter_code(fresh, shown[3])
    assert is_logged_in(fresh)


def test_switching_it_off_needs_the_password_again(visitor, other):
    switch_on(other)
    enter_password(visitor, other)
    enter_code(visitor, show_code())
    asked = visitor.post("/account/two-factor/off/", follow=True)
    assert asked.redirect_chain[-1][0].startswith("/account/confirm/")
    wrong = visitor.post(asked.redirect_chain[-1][0], {"password": "guess"})
    assert "This is not your password." in wrong.content.decode()
    assert Authenticator.objects.count() == 2
    page = visitor.post(asked.redirect_chain[-1][0], {"password": PASSWORD}, follow=True)
    assert "Two-factor is off." in page.content.decode()
    assert not Authenticator.objects.exists()
    fresh = Client(headers={"origin": ORIGIN})
    enter_password(fresh, other)
    assert is_logged_in(fresh)


def test_new_recovery_codes_end_the_old_ones(visitor, other):
    codes = switch_on(other)
    enter_password(visitor, other)
    enter_code(visitor, show_code())
    visitor.post("/account/confirm/", {"password": PASSWORD})
    page = visitor.post("/account/two-factor/recovery/new/", follow=True).content.decode()
    shown = re.findall(r"<code>(\d{8})</code>", page)
    assert len(shown) == 10
    assert not set(shown) & set(codes)


def test_another_person_sees_no_recovery_codes(visitor, owner, other):
    codes = switch_on(owner)
    enter_password(visitor, other)
    visitor.post("/account/confirm/", {"password": PASSWORD})
    for path in ("recovery/", "recovery/file/", "off/"):
        assert visitor.get(f"/account/two-factor/{path}").status_code == 404
    assert codes[0] not in visitor.get("/account/two-factor/").content.decode()


def test_an_admin_can_switch_it_off_for_somebody_without_a_phone(visitor, owner, other, logged_in):
    admin, address = logged_in(owner), f"/people/{other.pk}/"
    button = "Switch two-factor off"
    assert button not in admin.get("/people/").content.decode()
    switch_on(other)
    assert button in admin.get("/people/").content.decode()
    page = admin.post(address, {"do": "remove_second_factor"}, follow=True).content.decode()
    assert "The password alone is enough now." in page
    assert f"switched off the two-factor of {other.username}" in page
    refused = admin.post(address, {"do": "remove_second_factor"}, follow=True)
    assert "Two-factor is off for this account already." in refused.content.decode()
    enter_password(visitor, other)
    assert is_logged_in(visitor)


def test_a_new_password_keeps_two_factor(visitor, other):
    switch_on(other)
    other.set_password("another good password")
    other.save()
    visitor.post("/login/", {"login": other.username, "password": "another good password"})
    assert not is_logged_in(visitor)


def test_tokens_need_no_code(other):
    switch_on(other)
    secret = create_token(other, "script")
    assert Client(headers={"authorization": f"Bearer {secret}"}).get("/api/facts").status_code == 200


def test_the_admin_site_shows_no_secret(ours, owner, other):
    switch_on(other)
    owner.set_password(PASSWORD)
    owner.save()
    ours.force_login(owner)
    row = Authenticator.objects.filter(user=other, type="totp").get()
    page = ours.get(f"/admin/mfa/authenticator/{row.pk}/change/")
    assert page.status_code == 200
    assert "JBSWY3DPEHPK3PXP" not in page.content.decode()
