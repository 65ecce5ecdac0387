"""Logging in with an OpenID Connect issuer, against a real small one."""

from __future__ import annotations

import re
import time
from html import unescape

import pytest
import requests
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.test import Client

from chat.accounts import issuer_id
from chat.models import App, OwnerSettings, User
from tests.openid_issuer import CLIENT_ID, CLIENT_SECRET, run_issuer

from .owned_objects import ORIGIN

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
SECRET = "A" * 32


@pytest.fixture
def issuer(server_mode):
    with run_issuer() as issuer:
        server_mode.OIDC_ISSUER = issuer.url
        server_mode.OIDC_CLIENT_ID, server_mode.OIDC_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET
        server_mode.OIDC_NAME, server_mode.OIDC_SIGNUP = "Example ID", "off"
        yield issuer


@pytest.fixture
def visitor():
    return Client(headers={"origin": ORIGIN})


def follow(visitor, issuer, path="/account/login/start/", data=None):
    """Press the login button, follow the issuer back as a browser does, and return the page after it."""
    leaving = visitor.post(path, data or {})
    if leaving.status_code != 200:
        return leaving
    address = unescape(re.findall(r'content="0; url=([^"]+)"', leaving.content.decode())[0])
    back = requests.get(address, allow_redirects=False, timeout=5).headers["Location"]
    assert back.startswith(f"{ORIGIN}/account/login/back/?")
    return visitor.get(back.removeprefix(ORIGIN), follow=True)


def link(user, sub="person-1"):
    return SocialAccount.objects.create(user=user, provider=issuer_id(), uid=sub)


def who(visitor) -> str:
    return visitor.get("/settings/", follow=True).wsgi_request.user.username


def test_a_linked_login_opens_the_account(issuer, visitor, other):
    link(other)
    assert follow(visitor, issuer).status_code == 200
    assert who(visitor) == other.username
    assert issuer.asked[0]["code_challenge_method"] == "S256"
    assert set(issuer.asked[0]["scope"].split()) == {"openid", "profile"}
    assert not SocialToken.objects.exists()


def test_the_requested_page_opens_after_the_login(issuer, visitor, other):
    link(other)
    page = follow(visitor, issuer, data={"next": "/statistics/"})
    assert page.redirect_chain[-1][0] == "/statistics/"


def test_an_unknown_login_makes_no_account_by_default(issuer, visitor):
    before = User.objects.count()
    page = follow(visitor, issuer)
    assert (page.status_code, User.objects.count()) == (403, before)
    assert "This login is not linked" in page.content.decode()


def test_an_address_alone_links_no_login(issuer, visitor, other):
    EmailAddress.objects.create(user=other, email="ada@example.org", verified=True, primary=True)
    User.objects.filter(pk=other.pk).update(email="ada@example.org")
    issuer.claims |= {"email": "ada@example.org", "email_verified": True}
    assert follow(visitor, issuer).status_code == 403
    assert not SocialAccount.objects.exists()


def test_open_signup_makes_an_account_that_can_be_used_at_once(issuer, visitor, settings):
    settings.OIDC_SIGNUP = "open"
    issuer.claims |= {"email": "ada@example.org", "email_verified": True}
    assert follow(visitor, issuer).status_code == 200
    user = User.objects.get(username="ada")
    assert who(visitor) == "ada"
    assert not any([user.has_usable_password(), user.is_staff, user.is_superuser, user.email])
    assert OwnerSettings.objects.filter(owner=user).exists()
    assert App.objects.for_owner(user).exists()
    assert not EmailAddress.objects.exists()
    # A second login is of the same account.
    follow(Client(headers={"origin": ORIGIN}), issuer)
    assert User.objects.filter(username__startswith="ada").count() == 1


def test_signup_with_approval_makes_an_account_that_has_to_wait(issuer, visitor, settings):
    settings.OIDC_SIGNUP = "approval"
    page = follow(visitor, issuer)
    assert "An admin of this server has to approve it." in page.content.decode()
    user = User.objects.get(username="ada")
    assert not user.is_active
    assert who(visitor) == ""
    User.objects.filter(pk=user.pk).update(is_active=True)
    follow(visitor, issuer)
    assert who(visitor) == "ada"


@pytest.mark.parametrize(
    "claimed", ["someone-else", "SOMEONE-else", "owner", "", None, "a b/c<script>", "x" * 300]
)
def test_names_of_new_accounts_are_valid_and_their_own(issuer, visitor, other, settings, claimed):
    settings.OIDC_SIGNUP = "open"
    issuer.claims = {"sub": "person-1"} | ({} if claimed is None else {"preferred_username": claimed})
    assert follow(visitor, issuer).status_code == 200
    user = SocialAccount.objects.get().user
    assert user != other
    assert user.username.casefold() not in ("owner", other.username)
    user.full_clean(exclude=["password"])


def test_a_linked_account_with_two_factor_still_needs_its_code(issuer, visitor, other):
    link(other)
    Authenticator.objects.create(user=other, type="totp", data={"secret": SECRET})
    page = follow(visitor, issuer)
    assert page.redirect_chain[-1][0] == "/account/two-factor/code/"
    assert who(visitor) == ""
    code = format_hotp_value(hotp_value(SECRET, int(time.time()) // 30))
    visitor.post("/account/two-factor/code/", {"code": code})
    assert who(visitor) == other.username


def test_linking_needs_the_password_again_and_is_undone_with_it(issuer, visitor, other):
    other.set_password(PASSWORD)
    other.save()
    visitor.post("/login/", {"login": other.username, "password": PASSWORD})
    asked = follow(visitor, issuer, "/account/login/start/?process=connect")
    assert asked.redirect_chain[-1][0].startswith("/account/confirm/")
    assert not SocialAccount.objects.exists()
    page = visitor.post(asked.redirect_chain[-1][0], {"password": PASSWORD}, follow=True)
    assert "The login is linked." in page.content.decode()
    assert SocialAccount.objects.get().user == other
    page = visitor.post("/account/login/", {"account": SocialAccount.objects.get().pk}, follow=True)
    assert "The login is no longer linked." in page.content.decode()
    assert not SocialAccount.objects.exists()


def test_a_login_that_belongs_to_somebody_else_is_not_linked(issuer, visitor, owner, other):
    link(owner)
    other.set_password(PASSWORD)
    other.save()
    visitor.post("/login/", {"login": other.username, "password": PASSWORD})
    visitor.post("/account/confirm/", {"password": PASSWORD})
    page = follow(visitor, issuer, "/account/login/start/?process=connect")
    assert "This login is linked to another account here" in page.content.decode()
    assert SocialAccount.objects.get().user == owner


def test_nobody_loses_their_only_way_in(issuer, visitor, settings):
    settings.OIDC_SIGNUP = "open"
    follow(visitor, issuer)
    page = visitor.post("/account/login/", {"account": SocialAccount.objects.get().pk})
    assert "Set a password first" in page.content.decode()
    assert SocialAccount.objects.exists()


def test_without_a_password_a_fresh_login_confirms_a_change(issuer, visitor, settings, monkeypatch):
    settings.OIDC_SIGNUP = "open"
    follow(visitor, issuer)
    assert visitor.get("/account/password/set/").status_code == 200
    later = time.time() + 601
    with monkeypatch.context() as patched:
        patched.setattr("time.time", lambda: later)
        page = visitor.get("/account/password/set/", follow=True)
        again = visitor.post("/settings/erase/", {"word": "delete"}, follow=True)
    assert page.redirect_chain[-1][0] == "/account/confirm/again/?next=%2Faccount%2Fpassword%2Fset%2F"
    assert "log in again with Example ID first" in again.content.decode()
    follow(visitor, issuer, "/account/login/start/?again=1", {"next": "/account/password/set/"})
    assert issuer.asked[-1]["prompt"] == "login"
    new = {"password1": PASSWORD, "password2": PASSWORD}
    visitor.post("/account/password/set/", new)
    assert User.objects.get(username="ada").check_password(PASSWORD)
    assert who(visitor) == "ada"


FAULTS = ["down", "nonsense", "audience", "issuer", "expired", "signature", "no id token", "person"]


@pytest.mark.parametrize("fault", FAULTS)
def test_an_issuer_that_fails_leads_to_a_sentence(issuer, visitor, other, settings, fault):
    settings.OIDC_SIGNUP = "open"
    issuer.faults.add(fault)
    page = follow(visitor, issuer)
    assert (page.status_code, who(visitor)) == (401, "")
    assert "Example ID cannot be reached, or its answer is not valid." in page.content.decode()
    assert not SocialAccount.objects.exists()


def test_the_clock_of_the_issuer_may_differ_a_little(issuer, visitor, other, monkeypatch):
    link(other)
    ahead = time.time() + 30
    monkeypatch.setattr("tests.openid_issuer.time.time", lambda: ahead)
    follow(visitor, issuer)
    monkeypatch.undo()
    assert who(visitor) == other.username


def test_an_issuer_that_is_gone_leads_to_a_sentence(issuer, visitor, settings):
    settings.OIDC_ISSUER = "http://127.0.0.1:9"
    page = visitor.post("/account/login/start/")
    assert page.status_code == 401
    assert "cannot be reached" in page.content.decode()


def test_a_refused_login_leads_to_a_sentence(issuer, visitor):
    issuer.faults.add("denied")
    assert "You did not log in" in follow(visitor, issuer).content.decode()


def test_an_answer_that_nobody_asked_for_is_refused(issuer, visitor, other):
    link(other)
    stranger = Client(headers={"origin": ORIGIN})
    for state in ("", "&state=unknown"):
        page = stranger.get(f"/account/login/back/?code=x{state}")
        assert page.status_code == 401
        assert "Begin again." in page.content.decode()
    assert issuer.redeemed == 0


def test_an_answer_counts_once_and_in_its_browser_only(issuer, visitor, other):
    link(other)
    leaving = visitor.post("/account/login/start/").content.decode()
    address = unescape(re.findall(r'content="0; url=([^"]+)"', leaving)[0])
    back = requests.get(address, allow_redirects=False, timeout=5).headers["Location"].removeprefix(ORIGIN)
    assert Client().get(back).status_code == 401
    assert visitor.get(back).status_code == 302
    visitor.post("/logout/")
    assert visitor.get(back).status_code == 401


def test_the_page_asks_for_nothing_more_than_the_program_does(issuer, visitor, other):
    link(other)
    follow(visitor, issuer, "/account/login/start/?scope=admin&auth_params=prompt%3Dnone")
    assert set(issuer.asked[0]["scope"].split()) == {"openid", "profile"}
    assert "prompt" not in issuer.asked[0]


def test_another_issuer_has_other_people(issuer, visitor, other, settings):
    link(other)
    with run_issuer() as second:
        settings.OIDC_ISSUER = second.url
        assert follow(visitor, second).status_code == 403


def test_members_log_in_with_the_issuer_only_and_admins_keep_their_password(issuer, owner, other, settings):
    settings.OIDC_ONLY = True
    for user, logged_in in ((other, ""), (owner, owner.username)):
        user.set_password(PASSWORD)
        user.save()
        visitor = Client(headers={"origin": ORIGIN})
        visitor.post("/login/", {"login": user.username, "password": PASSWORD})
        assert who(visitor) == logged_in
    settings.SIGNUP = "approval"
    page = Client().get("/login/").content.decode()
    assert "Log in with a password (admins)" in page
    # A password that somebody chooses there would open nothing.
    assert "/signup/" not in page
    assert Client().get("/signup/").status_code == 404


def test_without_an_issuer_there_is_no_such_page(server_mode, other, logged_in):
    client = logged_in(other)
    for path in ("/account/login/", "/account/login/start/", "/account/login/back/?code=x&state=y"):
        assert client.get(path).status_code == 404
    assert "OpenID" not in client.get("/settings/").content.decode()
