"""Invitations: one account each, for a time, as long as the inviter is an admin."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.contrib.auth.hashers import make_password
from django.db import connection
from django.test import Client
from django.utils import timezone

from chat.actions import invitations, people
from chat.actions.old_records import delete_old_records
from chat.errors import Refused
from chat.models import AdminAct, App, Invitation, OwnerSettings, User

from .owned_objects import ORIGIN

PASSWORD = "correct horse battery"
FORM = {"username": "bob", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture
def admin(server_mode, owner):
    owner.set_password(PASSWORD)
    owner.save()
    return owner


@pytest.fixture
def visitor(server_mode):
    return Client(headers={"origin": ORIGIN})


def accept(visitor, secret, **form):
    return visitor.post(f"/invite/{secret}/", {**FORM, **form})


@pytest.mark.django_db
class TestInvited:
    def test_an_invited_person_has_an_account_and_is_logged_in(self, admin, visitor):
        secret = invitations.invite(admin, "member", "Bob from work", "7")
        page = visitor.get(f"/invite/{secret}/").content.decode()
        assert "owner has invited you" in page
        assert "Bob from work" not in page
        answer = accept(visitor, secret)
        assert (answer.status_code, answer.url) == (302, "/")
        bob = User.objects.get(username="bob")
        assert (bob.is_active, bob.is_staff, bob.is_superuser) == (True, False, False)
        assert bob.check_password(PASSWORD)
        assert visitor.get("/settings/").status_code == 200
        assert visitor.get("/people/").status_code == 404
        assert OwnerSettings.objects.filter(owner=bob).exists()
        assert App.objects.for_owner(bob).exists()
        assert Invitation.objects.get().used_by == bob

    def test_an_invitation_as_admin_makes_an_admin(self, admin, visitor):
        secret = invitations.invite(admin, "admin", "", "1")
        assert "You will be an admin" in visitor.get(f"/invite/{secret}/").content.decode()
        accept(visitor, secret)
        assert visitor.get("/people/").status_code == 200

    def test_who_is_logged_in_is_led_home_and_the_invitation_stays(self, admin, other, logged_in):
        secret = invitations.invite(admin, "member", "", "7")
        answer = accept(logged_in(other), secret)
        assert (answer.status_code, answer.url) == (302, "/")
        assert Invitation.objects.get().used_at is None

    def test_a_taken_name_is_told_and_the_invitation_stays(self, admin, visitor, other):
        secret = invitations.invite(admin, "member", "", "7")
        answer = accept(visitor, secret, username=other.username.upper())
        assert "Somebody has this name already." in answer.content.decode()
        assert accept(visitor, secret).status_code == 302

    def test_the_address_of_a_link_is_limited(self, admin, visitor):
        codes = [accept(visitor, "unknown").status_code for _ in range(12)]
        assert codes == [404] * 10 + [429] * 2


@pytest.mark.django_db
class TestOver:
    def expect(self, visitor, secret, status, sentence):
        for answer in (visitor.get(f"/invite/{secret}/"), accept(visitor, secret)):
            assert answer.status_code == status
            assert sentence in answer.content.decode()
        assert not User.objects.filter(username="bob").exists()

    def test_an_unknown_link_is_not_found(self, admin, visitor):
        self.expect(visitor, "unknown", 404, "There is no such invitation.")

    def test_an_expired_invitation_is_over(self, admin, visitor):
        secret = invitations.invite(admin, "member", "", "1")
        Invitation.objects.update(expires_at=timezone.now())
        self.expect(visitor, secret, 410, "This invitation has expired.")

    def test_a_used_invitation_is_over(self, admin, visitor):
        secret = invitations.invite(admin, "member", "", "1")
        invitations.accept_invitation(secret, "first", "!")
        self.expect(visitor, secret, 410, "This invitation was used already.")

    def test_a_revoked_invitation_is_over(self, admin, visitor, logged_in):
        secret = invitations.invite(admin, "member", "Bob", "1")
        client = logged_in(admin)
        address = f"/people/invitations/{Invitation.objects.get().pk}/revoke/"
        assert client.post(address).status_code == 302
        assert Invitation.objects.get().revoked_at is not None
        assert "Revoke the invitation “Bob”" not in client.get("/people/").content.decode()
        self.expect(visitor, secret, 410, "This invitation was taken back.")
        assert client.post(address, headers={"hx-request": "true"}).status_code == 409

    @pytest.mark.parametrize("end", ["deactivated", "demoted", "deleted"])
    def test_it_ends_with_the_admin_who_made_it(self, admin, visitor, other, end):
        people.make_admin(admin, other)
        User.objects.filter(pk=other.pk).update(last_login=timezone.now())
        secret = invitations.invite(other, "member", "", "7")
        if end == "deactivated":
            people.deactivate(admin, other)
        elif end == "demoted":
            people.make_member(admin, other)
        else:
            other.delete()
        self.expect(visitor, secret, 410, "This invitation was taken back.")

    def test_there_is_no_such_page_in_local_mode(self, admin, settings, ours):
        secret = invitations.invite(admin, "member", "", "7")
        settings.MODE = "local"
        assert ours.get(f"/invite/{secret}/").status_code == 404
        assert accept(ours, secret).status_code == 404


@pytest.mark.django_db
class TestInviting:
    def test_the_link_is_shown_once(self, admin, logged_in, visitor):
        client = logged_in(admin)
        answer = client.post("/people/invitations/", {"role": "member", "note": "Bob", "end": "7"})
        secret = answer.content.decode().split("http://testserver/invite/")[1].split("/")[0]
        assert visitor.get(f"/invite/{secret}/").status_code == 200
        page = client.get("/people/").content.decode()
        assert secret not in page
        assert "Bob" in page
        assert secret not in str(Invitation.objects.values())
        assert Invitation.objects.get().expires_at - timezone.now() > timedelta(days=6, hours=23)
        assert "owner made an invitation: Bob" in page

    @pytest.mark.parametrize("form", [{"role": "king"}, {"end": "365"}, {"note": "x" * 81}])
    def test_a_form_that_is_wrong_makes_none(self, admin, logged_in, form):
        sent = {"role": "member", "note": "", "end": "7", **form}
        answer = logged_in(admin).post("/people/invitations/", sent)
        assert answer.status_code == 422
        assert 'role="alert"' in answer.content.decode()
        assert not Invitation.objects.exists()

    def test_there_are_not_more_than_a_hundred_open_ones(self, admin, monkeypatch):
        monkeypatch.setattr(invitations, "MAX_OPEN", 2)
        for _ in range(2):
            invitations.invite(admin, "member", "", "1")
        with pytest.raises(Refused, match="2 open invitations"):
            invitations.invite(admin, "member", "", "1")
        Invitation.objects.update(expires_at=timezone.now())
        invitations.invite(admin, "member", "", "1")

    def test_invitations_and_acts_are_deleted_after_a_year(self, admin):
        invitations.invite(admin, "member", "", "7")
        delete_old_records(timezone.now() + timedelta(days=300))
        assert Invitation.objects.exists()
        delete_old_records(timezone.now() + timedelta(days=373))
        assert not Invitation.objects.exists()
        assert not AdminAct.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_people_at_once_make_one_account_with_one_invitation(admin):
    secret = invitations.invite(admin, "member", "", "7")
    hashed = make_password(PASSWORD)

    def join(name: str) -> str:
        try:
            invitations.accept_invitation(secret, name, hashed)
        except Refused as problem:
            return problem.code
        finally:
            connection.close()
        return "made"

    with ThreadPoolExecutor(4) as pool:
        outcomes = sorted(pool.map(join, ["ann", "bob", "cid", "dan"]))
    assert outcomes == ["invitation-used"] * 3 + ["made"]
    assert User.objects.count() == 2
