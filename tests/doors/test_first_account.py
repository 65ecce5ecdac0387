"""The first admin account of server mode: the link works once, for one person, until an admin exists."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.hashers import make_password
from django.db import connection
from django.test import Client

from chat.actions import first_account
from chat.actions.facts import add_fact
from chat.actions.owners import local_owner
from chat.errors import Refused
from chat.models import AdminAct, App, Fact, FirstLink, User

from .owned_objects import ORIGIN

PASSWORD = "correct horse battery"
FORM = {"username": "ann", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture
def visitor(server_mode):
    return Client(headers={"origin": ORIGIN})


def open_link(visitor, secret, **form):
    return visitor.post(f"/first/{secret}/", {**FORM, **form}) if form else visitor.get(f"/first/{secret}/")


@pytest.mark.django_db
class TestLink:
    def test_it_makes_an_admin_who_is_logged_in(self, visitor):
        secret = first_account.make_first_link()
        assert open_link(visitor, secret).status_code == 200
        answer = open_link(visitor, secret, username="ann")
        assert (answer.status_code, answer.url) == (302, "/")
        ann = User.objects.get()
        assert (ann.username, ann.is_active, ann.is_staff, ann.is_superuser) == ("ann", True, True, True)
        assert visitor.get("/people/").status_code == 200
        assert App.objects.for_owner(ann).count() == 1
        assert AdminAct.objects.get().actor_name == "ann"

    def test_it_works_once(self, visitor):
        secret = first_account.make_first_link()
        open_link(visitor, secret, username="ann")
        again = open_link(Client(headers={"origin": ORIGIN}), secret, username="bob")
        assert again.status_code == 410
        assert "This link does not work any more." in again.content.decode()
        assert User.objects.count() == 1
        assert not FirstLink.objects.exclude(digest="").exists()

    def test_a_later_link_ends_the_former_one(self, visitor):
        former, later = first_account.make_first_link(), first_account.make_first_link()
        assert open_link(visitor, former).status_code == 410
        assert open_link(visitor, later).status_code == 200

    def test_it_ends_when_an_admin_exists(self, visitor, owner):
        secret = first_account.make_first_link()
        owner.set_password(PASSWORD)
        owner.save()
        assert open_link(visitor, secret, username="ann").status_code == 410
        assert User.objects.count() == 1
        with pytest.raises(Refused, match="There is an admin account already"):
            first_account.make_first_link()

    def test_a_member_who_can_log_in_does_not_end_it(self, visitor, other):
        other.set_password(PASSWORD)
        other.save()
        assert open_link(visitor, first_account.make_first_link()).status_code == 200

    def test_only_its_hash_is_stored(self, visitor):
        secret = first_account.make_first_link()
        assert secret not in str(FirstLink.objects.values())

    @pytest.mark.parametrize("secret", ["unknown", "x" * 500, "\x00"])
    def test_an_unknown_link_is_over(self, visitor, secret):
        first_account.make_first_link()
        assert open_link(visitor, secret, username="ann").status_code in (404, 410)
        assert not User.objects.exists()

    def test_there_is_no_such_page_in_local_mode(self, settings, ours):
        secret = first_account.make_first_link()
        settings.MODE = "local"
        assert open_link(ours, secret).status_code == 404
        assert open_link(ours, secret, username="ann").status_code == 404
        assert not User.objects.filter(username="ann").exists()

    def test_a_weak_password_is_refused_and_the_link_stays(self, visitor):
        secret = first_account.make_first_link()
        answer = open_link(visitor, secret, password1="12345678", password2="12345678")
        assert "too common" in answer.content.decode()
        answer = open_link(visitor, secret, password2="another one of length")
        assert "same password" in answer.content.decode()
        assert not User.objects.exists()
        assert open_link(visitor, secret, username="ann").status_code == 302


@pytest.mark.django_db
class TestLocalData:
    def test_it_is_given_to_the_account_that_takes_it_over(self, visitor, owner):
        add_fact(owner, "I love hiking")
        secret = first_account.make_first_link()
        assert "Take over the data of local mode" in open_link(visitor, secret).content.decode()
        open_link(visitor, secret, adopt="1")
        owner.refresh_from_db()
        assert owner.username == "ann"
        assert owner.check_password(PASSWORD)
        assert Fact.objects.for_owner(owner).get().text == "I love hiking"
        assert User.objects.count() == 1

    def test_it_stays_where_it_is_when_it_is_not_taken_over(self, visitor, owner):
        add_fact(owner, "I love hiking")
        open_link(visitor, first_account.make_first_link(), username="ann")
        assert Fact.objects.for_owner(owner).exists()
        assert not Fact.objects.for_owner(User.objects.get(username="ann")).exists()

    def test_an_empty_account_of_local_mode_becomes_the_new_one(self, visitor, owner):
        secret = first_account.make_first_link()
        assert "Take over" not in open_link(visitor, secret).content.decode()
        open_link(visitor, secret, username="ann")
        assert [(user.pk, user.username) for user in User.objects.all()] == [(owner.pk, "ann")]

    def test_local_mode_goes_on_with_the_account_while_it_is_the_only_one(self, visitor, owner, settings):
        add_fact(owner, "I love hiking")
        open_link(visitor, first_account.make_first_link(), adopt="1")
        settings.MODE = "local"
        assert "hiking" in Client(headers={"origin": ORIGIN}).get("/memory/").content.decode()
        assert local_owner() == owner
        assert User.objects.count() == 1

    def test_among_several_accounts_local_mode_opens_none_of_them(self, visitor, owner, other):
        add_fact(owner, "I love hiking")
        open_link(visitor, first_account.make_first_link(), adopt="1")
        found = local_owner()
        assert found not in (owner, other)
        assert not Fact.objects.for_owner(found).exists()

    def test_a_member_is_never_the_owner_of_local_mode(self, other):
        assert local_owner() != other

    def test_nobody_can_take_the_name_of_local_mode(self, visitor):
        answer = open_link(visitor, first_account.make_first_link(), username="Owner")
        assert "This name is reserved" in answer.content.decode()
        assert not User.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_people_at_once_make_one_account(server_mode):
    secret = first_account.make_first_link()
    hashed = make_password(PASSWORD)

    def join(name: str) -> str:
        try:
            first_account.create_first_admin(name, hashed, adopt=False, secret=secret)
        except Refused as problem:
            return problem.code
        finally:
            connection.close()
        return "made"

    with ThreadPoolExecutor(4) as pool:
        outcomes = sorted(pool.map(join, ["ann", "bob", "cid", "dan"]))
    assert outcomes == ["admin-exists"] * 3 + ["made"]
    assert User.objects.filter(is_superuser=True).count() == 1
