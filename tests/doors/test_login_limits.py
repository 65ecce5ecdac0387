"""Logins: attempts are limited by account and by address, and the owner of the account is told of them."""

from __future__ import annotations

import time

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.core.cache import cache
from django.test import Client

from chat.actions.api_tokens import create_token
from chat.actions.facts import add_fact
from chat.actions.logins import find_failed_logins, record_failed_login
from chat.models import ApiToken, Fact, LoginFailure

from .owned_objects import ORIGIN

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def _account(server_mode, other):
    cache.clear()
    other.set_password(PASSWORD)
    other.save()


def log_in(name: str, password: str, address: str = "192.0.2.1", path: str = "/login/") -> str:
    client = Client(headers={"origin": ORIGIN}, REMOTE_ADDR=address)
    answer = client.post(path, {"login": name, "password": password})
    if answer.status_code == 302 and "/login/" not in answer.url:
        return "in"
    if answer.status_code == 429:
        return "address"
    page = answer.content.decode()
    return "limit" if "Too many attempts failed" in page else "wrong" if "is wrong" in page else page


def test_the_sixth_wrong_password_of_an_account_is_not_tried(other):
    tries = [log_in(other.username, f"guess {n}", f"192.0.2.{n}") for n in range(6)]
    assert tries == ["wrong"] * 5 + ["limit"]
    # Nor is the right one, from wherever it comes.
    assert log_in(other.username, PASSWORD, "192.0.2.99") == "limit"
    assert log_in(other.username.upper(), PASSWORD, "192.0.2.98") == "limit"


def test_one_address_cannot_try_many_accounts(other):
    tries = [log_in(f"person {n}", "guess") for n in range(11)]
    assert tries == ["wrong"] * 10 + ["limit"]
    assert log_in(other.username, PASSWORD) == "limit"
    assert log_in(other.username, PASSWORD, "198.51.100.4") == "in"


def test_another_name_of_the_server_is_no_other_limit(other, settings):
    settings.ALLOWED_HOSTS = ["*"]
    for n, host in enumerate(["testserver", "testserver:1", "TESTSERVER", "other.example", "testserver:2"]):
        client = Client(headers={"origin": f"http://{host}", "host": host}, REMOTE_ADDR=f"192.0.2.{n}")
        client.post("/login/", {"login": other.username, "password": "guess"})
    client = Client(
        headers={"origin": "http://testserver:9", "host": "testserver:9"}, REMOTE_ADDR="192.0.2.9"
    )
    answer = client.post("/login/", {"login": other.username, "password": PASSWORD})
    assert "Too many attempts failed" in answer.content.decode()


def test_many_other_names_do_not_push_the_count_out(other):
    for n in range(5):
        log_in(other.username, "guess", f"192.0.2.{n}")
    for n in range(2000):
        cache.set(f"another-key-{n}", 1)
    assert log_in(other.username, PASSWORD, "198.51.100.1") == "limit"


def test_staff_cannot_guess_passwords_on_the_admin_site(owner, other, logged_in):
    other.is_staff = True
    other.save()
    client = logged_in(other)
    owner.set_password("the secret of the owner")
    owner.save()
    for path in ("/admin/login/", "/admin/password_change/"):
        data = {"username": owner.username, "password": "the secret of the owner", "old_password": PASSWORD}
        answer = client.post(path, data)
        assert (answer.status_code, answer.url) == (302, "/admin/")
    assert client.get("/settings/").wsgi_request.user == other


def test_the_limit_ends_after_five_minutes(other, monkeypatch):
    for n in range(6):
        log_in(other.username, "guess", f"192.0.2.{n}")
    later = time.time() + 301
    monkeypatch.setattr("time.time", lambda: later)
    assert log_in(other.username, PASSWORD, "192.0.2.50") == "in"


def test_right_passwords_do_not_count(other):
    assert [log_in(other.username, PASSWORD) for _ in range(12)] == ["in"] * 12


def test_an_unknown_name_costs_as_much_as_a_wrong_password(other, monkeypatch):
    hashed = []
    real = MD5PasswordHasher.encode

    def encode(self, *args, **more):
        hashed.append(1)
        return real(self, *args, **more)

    monkeypatch.setattr(MD5PasswordHasher, "encode", encode)
    counts = []
    for name in (other.username, "nobody at all"):
        hashed.clear()
        assert log_in(name, "guess") == "wrong"
        counts.append(len(hashed))
    assert counts == [1, 1]


def test_a_deactivated_account_looks_like_a_wrong_password(other):
    other.is_active = False
    other.save()
    assert log_in(other.username, PASSWORD) == "wrong"


def test_the_admin_site_uses_the_same_login(owner, other):
    answer = Client().get("/admin/")
    assert answer.status_code == 302
    assert answer.url.startswith("/login/") or Client().get(answer.url).url.startswith("/login/")
    sent = Client(headers={"origin": ORIGIN}).post(
        "/admin/login/", {"username": other.username, "password": PASSWORD}
    )
    assert sent.status_code == 302
    assert sent.url.startswith("/login/")


def test_the_owner_is_told_at_the_next_login_and_in_the_settings(other):
    for n in range(3):
        log_in(other.username, "guess", f"192.0.2.{n}")
    client = Client(headers={"origin": ORIGIN})
    page = client.post("/login/", {"login": other.username, "password": PASSWORD}, follow=True)
    told = "A wrong password or code was entered for your account 3 times, last on"
    assert told in page.content.decode()
    assert "192.0.2.2" in page.content.decode()
    assert told in client.get("/settings/").content.decode()
    # At the login after that there is nothing new.
    client.post("/logout/")
    again = client.post("/login/", {"login": other.username, "password": PASSWORD}, follow=True)
    assert told not in again.content.decode()


def test_nobody_else_is_told(other, owner, logged_in):
    record_failed_login(other, "192.0.2.1")
    assert "A wrong password or code" not in logged_in(owner).get("/settings/").content.decode()


def test_attempts_on_unknown_names_are_not_stored():
    log_in("nobody at all", "guess")
    assert not LoginFailure.objects.exists()


def test_only_so_many_attempts_are_stored_and_old_ones_are_not_shown(other, clock):
    for n in range(205):
        record_failed_login(other, f"192.0.2.{n}")
    assert LoginFailure.objects.count() == 200
    assert find_failed_logins(other).count == 200
    clock(31 * 24 * 3600)
    assert find_failed_logins(other) is None


def test_too_many_invalid_tokens_of_one_address_get_429(owner):
    wrong = Client(headers={"authorization": "Bearer mem_wrong"}, REMOTE_ADDR="192.0.2.1")
    statuses = [wrong.get("/api/facts").status_code for _ in range(31)]
    assert statuses == [401] * 30 + [429]
    limited = wrong.get("/v1/models")
    assert (limited.status_code, limited.headers["retry-after"]) == (429, "5")
    assert "Too many invalid tokens" in limited.json()["error"]["message"]
    right = Client(
        headers={"authorization": f"Bearer {create_token(owner, 'right')}"}, REMOTE_ADDR="192.0.2.1"
    )
    assert right.get("/api/facts").status_code == 200


# -- what cannot be taken back asks for the password


@pytest.mark.parametrize("password", ["", "wrong"])
def test_a_token_and_erasing_need_the_password_again(other, logged_in, password):
    client = logged_in(other)
    add_fact(other, "I like tea")
    new = {"name": "Terminal", "scope": ["chat"], "end": "0", "password": password}
    assert "This is not your password" in client.post("/settings/tokens/", new).content.decode()
    erased = client.post("/settings/erase/", {"word": "delete", "password": password}, follow=True)
    assert "This is not your password" in erased.content.decode()
    assert not ApiToken.objects.exists()
    assert Fact.objects.for_owner(other).live().exists()


def test_with_the_password_both_work(other, logged_in):
    client = logged_in(other)
    add_fact(other, "I like tea")
    new = {"name": "Terminal", "scope": ["chat"], "end": "0", "password": PASSWORD}
    assert client.post("/settings/tokens/", new).status_code == 200
    assert ApiToken.objects.exists()
    assert client.post("/settings/erase/", {"word": "delete", "password": PASSWORD}).status_code == 302
    assert not Fact.objects.for_owner(other).live().exists()


def test_the_password_cannot_be_guessed_there_either(other, logged_in):
    client = logged_in(other)
    for _ in range(5):
        client.post("/settings/erase/", {"word": "delete", "password": "guess"})
    answer = client.post("/settings/erase/", {"word": "delete", "password": PASSWORD}, follow=True)
    assert "Too many attempts failed" in answer.content.decode()


def test_others_cannot_use_up_the_attempts_of_somebody_who_is_logged_in(other, logged_in):
    client = logged_in(other)
    for n in range(6):
        log_in(other.username, "guess", f"192.0.2.{n}")
    new = {"name": "Terminal", "scope": ["chat"], "end": "0", "password": PASSWORD}
    assert client.post("/settings/tokens/", new).status_code == 200


def test_local_mode_asks_for_no_password(server_mode, ours, owner):
    server_mode.MODE = "local"
    assert "Your password" not in ours.get("/settings/").content.decode()
    assert ours.post("/settings/tokens/", {"name": "a", "scope": ["chat"], "end": "0"}).status_code == 200
