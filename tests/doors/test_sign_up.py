"""Sign-up: off by default; with approval a new account waits until an admin lets it in or removes it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from chat.actions import people
from chat.actions.old_records import delete_old_records
from chat.errors import Refused
from chat.models import AccountRequest, AdminAct, App, User

from .owned_objects import ORIGIN

PASSWORD = "correct horse battery"
FORM = {"username": "bob", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture
def visitor(server_mode):
    server_mode.SIGNUP = "approval"
    return Client(headers={"origin": ORIGIN})


@pytest.fixture
def admin(visitor, owner):
    owner.set_password(PASSWORD)
    owner.save()
    return owner


def log_in(visitor):
    return visitor.post("/login/", {"login": "bob", "password": PASSWORD})


@pytest.mark.django_db
class TestClosed:
    def test_it_is_off_by_default(self, visitor, server_mode):
        server_mode.SIGNUP = "off"
        assert visitor.get("/signup/").status_code == 404
        assert visitor.post("/signup/", FORM).status_code == 404
        assert "/signup/" not in visitor.get("/login/").content.decode()
        assert not User.objects.exists()

    def test_there_is_no_such_page_in_local_mode(self, visitor, server_mode, ours):
        server_mode.MODE = "local"
        assert [ours.get(path).status_code for path in ("/signup/", "/signup/waiting/")] == [404, 404]
        assert ours.post("/signup/", FORM).status_code == 404


@pytest.mark.django_db
class TestWaiting:
    def test_a_new_account_waits_and_the_person_is_told(self, visitor):
        assert "/signup/" in visitor.get("/login/").content.decode()
        answer = visitor.post("/signup/", FORM, follow=True)
        assert answer.redirect_chain == [("/signup/waiting/", 302)]
        assert "An admin of this server has to approve it." in answer.content.decode()
        bob = User.objects.get()
        assert (bob.is_active, bob.is_staff, bob.is_superuser) == (False, False, False)
        assert AccountRequest.objects.get().user == bob
        assert not App.objects.exists()

    def test_who_waits_and_logs_in_is_told_so_and_is_not_logged_in(self, visitor):
        visitor.post("/signup/", FORM)
        answer = log_in(visitor)
        assert answer.url == "/signup/waiting/"
        assert visitor.get("/settings/").status_code == 302
        wrong = visitor.post("/login/", {"login": "bob", "password": "something else"})
        assert "is wrong" in wrong.content.decode()

    def test_an_approved_person_can_log_in(self, visitor, admin, logged_in):
        visitor.post("/signup/", FORM)
        bob = User.objects.get(username="bob")
        client = logged_in(admin)
        assert "waits for approval" in client.get("/people/").content.decode()
        assert client.post(f"/people/{bob.pk}/", {"do": "approve"}).url == "/people/"
        assert log_in(visitor).url == "/"
        assert visitor.get("/settings/").status_code == 200
        assert not AccountRequest.objects.exists()
        assert App.objects.for_owner(bob).exists()
        assert AdminAct.objects.get().kind == "approved"

    def test_a_refused_person_is_removed(self, visitor, admin, logged_in):
        visitor.post("/signup/", FORM)
        bob = User.objects.get(username="bob")
        client = logged_in(admin)
        client.post(f"/people/{bob.pk}/", {"do": "refuse"})
        assert not User.objects.filter(username="bob").exists()
        assert client.post(f"/people/{bob.pk}/", {"do": "refuse"}).status_code == 404
        assert "is wrong" in log_in(visitor).content.decode()

    def test_only_who_waits_can_be_refused(self, admin, other):
        for act in (people.refuse, people.approve):
            with pytest.raises(Refused, match="does not wait for approval"):
                act(admin, other)
        people.deactivate(admin, other)
        with pytest.raises(Refused, match="does not wait for approval"):
            people.refuse(admin, other)
        assert User.objects.filter(pk=other.pk).exists()

    def test_a_deactivated_person_learns_nothing_from_the_right_password(self, visitor, admin, other):
        other.set_password(PASSWORD)
        other.save()
        people.deactivate(admin, other)
        answer = visitor.post("/login/", {"login": other.username, "password": PASSWORD})
        assert "The name or the password is wrong." in answer.content.decode()

    def test_a_name_that_is_taken_is_told(self, visitor, other):
        answer = visitor.post("/signup/", {**FORM, "username": other.username})
        assert "Somebody has this name already." in answer.content.decode()

    def test_a_request_that_nobody_answers_is_removed_after_a_month(self, visitor, other):
        visitor.post("/signup/", FORM)
        delete_old_records(timezone.now() + timedelta(days=29))
        assert User.objects.filter(username="bob").exists()
        delete_old_records(timezone.now() + timedelta(days=31))
        assert list(User.objects.all()) == [other]


@pytest.mark.django_db
class TestLimits:
    def test_one_address_cannot_sign_up_again_and_again(self, visitor):
        codes = [visitor.post("/signup/", {**FORM, "username": f"bob{n}"}).status_code for n in range(12)]
        assert codes == [302] * 10 + [429] * 2

    def test_a_bounded_number_of_accounts_waits(self, visitor, monkeypatch):
        monkeypatch.setattr(people, "MAX_WAITING", 2)
        for name in ("ann", "bob"):
            assert visitor.post("/signup/", {**FORM, "username": name}).status_code == 302
        answer = visitor.post("/signup/", {**FORM, "username": "cid"})
        assert "Too many people wait for an account already." in answer.content.decode()
        assert User.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_one_name_in_two_cases_makes_one_account(server_mode):
    def join(name: str) -> str:
        try:
            people.sign_up(name, "!")
        except Refused as problem:
            return problem.code
        finally:
            connection.close()
        return "made"

    with ThreadPoolExecutor(4) as pool:
        outcomes = sorted(pool.map(join, ["bob", "Bob", "BOB", "bob"]))
    assert outcomes == ["account-name-taken"] * 3 + ["made"]
