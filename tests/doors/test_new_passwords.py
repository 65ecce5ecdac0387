"""A password is changed with the present one, or by a link: of an admin, or by email where that is set up."""

from __future__ import annotations

import re

import pytest
from allauth.account.forms import default_token_generator
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from django.core import mail
from django.test import Client
from django.urls import reverse

from chat.actions.api_tokens import create_token
from chat.models import User
from tests.authenticator_app import switch_on
from tests.waiting import wait_until

from .owned_objects import ORIGIN

pytestmark = pytest.mark.django_db
PASSWORD, NEW = "correct horse battery", "a staple for the horse"


@pytest.fixture(autouse=True)
def _account(server_mode, other):
    other.set_password(PASSWORD)
    other.save()


def log_in(user, password=PASSWORD):
    client = Client(headers={"origin": ORIGIN})
    client.post("/login/", {"login": user.username, "password": password})
    return client


def is_logged_in(client) -> bool:
    return client.get("/memory/").status_code == 200


def change(client, now=PASSWORD, new=NEW, again=None):
    data = {"oldpassword": now, "password1": new, "password2": new if again is None else again}
    return client.post("/account/password/", data, follow=True)


def link_for(user) -> str:
    """Return the link that an admin makes."""
    user.refresh_from_db()
    key = {"uidb36": user_pk_to_url_str(user), "key": default_token_generator.make_token(user)}
    return reverse("account_reset_password_from_key", kwargs=key)


def use_link(link, new=NEW):
    client = Client(headers={"origin": ORIGIN})
    form = client.get(link, follow=True)
    if not form.redirect_chain:
        return form
    return client.post(form.redirect_chain[-1][0], {"password1": new, "password2": new}, follow=True)


def test_a_changed_password_ends_all_other_sessions_and_keeps_tokens(other):
    here, elsewhere, secret = log_in(other), log_in(other), create_token(other, "script")
    page = change(here)
    assert "Your password is changed, and your other sessions are ended." in page.content.decode()
    assert (is_logged_in(here), is_logged_in(elsewhere)) == (True, False)
    assert Client(headers={"authorization": f"Bearer {secret}"}).get("/api/facts").status_code == 200
    assert is_logged_in(log_in(other, NEW))
    assert not is_logged_in(log_in(other, PASSWORD))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"now": "guess"}, "This is not your password."),
        ({"again": "something else"}, "The two passwords differ."),
        ({"new": "short"}, "too short"),
        ({"new": "password123"}, "too common"),
    ],
)
def test_a_password_that_cannot_be_is_refused(other, given, told):
    client = log_in(other)
    assert told in change(client, **given).content.decode()
    assert User.objects.get(pk=other.pk).check_password(PASSWORD)


def test_the_present_password_cannot_be_guessed_there(other):
    client = log_in(other)
    for _ in range(5):
        change(client, now="guess")
    other_address = {"REMOTE_ADDR": "192.0.2.5"}
    data = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    answer = client.post("/account/password/", data, **other_address)
    assert answer.status_code == 429 or "Too many attempts failed" in answer.content.decode()
    assert User.objects.get(pk=other.pk).check_password(PASSWORD)


def test_a_link_of_an_admin_sets_a_new_password_once(other):
    session, link = log_in(other), link_for(other)
    page = use_link(link)
    assert "Your password is set" in page.content.decode()
    assert not is_logged_in(session)
    assert is_logged_in(log_in(other, NEW))
    assert "This link was used already" in use_link(link, "yet another password").content.decode()
    assert is_logged_in(log_in(other, NEW))


def test_a_link_does_not_get_around_two_factor(other):
    switch_on(other)
    use_link(link_for(other))
    assert not is_logged_in(log_in(other, NEW))


def test_the_key_of_a_link_is_not_in_the_address_of_its_page(other):
    link = link_for(other)
    answer = Client().get(link)
    assert answer.status_code == 302
    assert link.split("-", 1)[1] not in answer.url


@pytest.mark.parametrize("link", ["1-x", "zzzzzzzzzzzzzzzzzzzz-x", "0-set-password", "1-set-password"])
def test_a_wrong_link_tells_nothing(link):
    answer = Client().get(f"/account/password/reset/{link}/")
    assert answer.status_code == 200
    assert "This link was used already" in answer.content.decode()


def test_without_email_the_login_names_the_admin(other):
    page = Client().get("/login/").content.decode()
    assert "An admin can make a link for a new one." in page
    assert "Forgot your password?</a>" not in page
    assert Client().get("/account/password/reset/").status_code == 404
    assert log_in(other).get("/account/email/").status_code == 404


# -- with email


@pytest.fixture
def has_email(server_mode):
    server_mode.HAS_EMAIL = True


def ask_for_link(address):
    client = Client(headers={"origin": ORIGIN})
    return client.post("/account/password/reset/", {"email": address}, follow=True).content.decode()


def wait_for_mail(count=1):
    wait_until(lambda: len(mail.outbox) >= count, 10)
    return mail.outbox[-1]


@pytest.mark.usefixtures("has_email")
def test_a_link_is_sent_to_a_confirmed_address(other):
    EmailAddress.objects.create(user=other, email="me@example.org", verified=True, primary=True)
    assert "Forgot your password?</a>" in Client().get("/login/").content.decode()
    assert "a link for a new password is on its way" in ask_for_link("Me@example.org")
    sent = wait_for_mail()
    assert sent.to == ["me@example.org"]
    link = re.findall(r"http://testserver(/account/password/reset/\S+)", sent.body)[0]
    assert "Your password is set" in use_link(link).content.decode()
    assert is_logged_in(log_in(other, NEW))


@pytest.mark.usefixtures("has_email")
def test_an_address_without_a_confirmed_account_gets_nothing_and_looks_alike(other):
    EmailAddress.objects.create(user=other, email="not-yet@example.org", verified=False)
    User.objects.filter(pk=other.pk).update(email="of-the-row@example.org")
    EmailAddress.objects.create(user=other, email="known@example.org", verified=True, primary=True)
    expected = ask_for_link("known@example.org")
    wait_for_mail()
    for address in ("not-yet@example.org", "of-the-row@example.org", "nobody@example.org"):
        assert ask_for_link(address) == expected
    assert len(mail.outbox) == 1


@pytest.mark.usefixtures("has_email")
def test_links_to_one_address_are_limited(other):
    EmailAddress.objects.create(user=other, email="me@example.org", verified=True, primary=True)
    pages = [ask_for_link("me@example.org") for _ in range(6)]
    assert "Too many attempts" in pages[-1]
    assert "Too many attempts" not in pages[-2]


@pytest.mark.usefixtures("has_email")
def test_an_address_counts_once_its_link_was_opened(other):
    client = log_in(other)
    asked = client.post("/account/email/", {"email": "New@Example.org"}, follow=True)
    assert asked.redirect_chain[-1][0].startswith("/account/confirm/")
    page = client.post(asked.redirect_chain[-1][0], {"password": PASSWORD}, follow=True)
    assert "A link is on its way to this address." in page.content.decode()
    address = EmailAddress.objects.get()
    assert (address.email, address.verified) == ("new@example.org", False)
    link = re.findall(r"http://testserver(/account/email/\S+)", mail.outbox[0].body)[0]
    # Opening the link alone, as programs that check links do, confirms nothing.
    shown = client.get(link).content.decode()
    assert "Is new@example.org the address of the account “someone-else”?" in shown
    assert not EmailAddress.objects.get().verified
    page = client.post(link, follow=True)
    assert "Your email address is confirmed." in page.content.decode()
    assert EmailAddress.objects.get().verified


@pytest.mark.usefixtures("has_email")
def test_a_new_address_takes_the_place_of_the_old_one_when_it_is_confirmed(other):
    EmailAddress.objects.create(user=other, email="old@example.org", verified=True, primary=True)
    client = log_in(other)
    client.post("/account/confirm/", {"password": PASSWORD})
    client.post("/account/email/", {"email": "new@example.org"})
    assert set(EmailAddress.objects.values_list("email", "verified")) == {
        ("old@example.org", True),
        ("new@example.org", False),
    }
    link = re.findall(r"http://testserver(/account/email/\S+)", mail.outbox[0].body)[0]
    client.post(link)
    assert list(EmailAddress.objects.values_list("email", "verified")) == [("new@example.org", True)]
    client.post("/account/email/", {"do": "remove"})
    assert not EmailAddress.objects.exists()


@pytest.mark.usefixtures("has_email")
@pytest.mark.parametrize(
    ("address", "told"),
    [("nonsense", "This is not an email address."), ("old@example.org", "your address already")],
)
def test_an_address_that_cannot_be_is_refused(other, address, told):
    EmailAddress.objects.create(user=other, email="old@example.org", verified=True, primary=True)
    client = log_in(other)
    client.post("/account/confirm/", {"password": PASSWORD})
    answer = client.post("/account/email/", {"email": address})
    assert answer.status_code == 422
    assert told in answer.content.decode()
    assert not mail.outbox


@pytest.mark.usefixtures("has_email")
def test_a_mail_server_that_is_down_is_told(other, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", 9, 2
    client = log_in(other)
    client.post("/account/confirm/", {"password": PASSWORD})
    answer = client.post("/account/email/", {"email": "new@example.org"})
    assert "The email could not be sent." in answer.content.decode()
