"""The pages below /account/ exist in server mode only, and every one of them is ours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.template.loader import get_template

from memoryapp.account_urls import urlpatterns
from memoryapp.base import env
from memoryapp.base.service_urls import envissuer, parse_email_url

ROOT = Path(django_settings.BASE_DIR) / "templates"
# All that django-allauth can render for what is mounted.
TEMPLATES = [
    *("account/login", "account/password_change", "account/password_set", "account/password_reset"),
    *(
        "account/password_reset_done",
        "account/password_reset_from_key",
        "account/password_reset_from_key_done",
    ),
    *("account/reauthenticate", "account/email_confirm"),
    *("mfa/index", "mfa/authenticate", "mfa/reauthenticate", "mfa/totp/activate_form"),
    *("mfa/totp/deactivate_form", "mfa/recovery_codes/index", "mfa/recovery_codes/generate"),
    *("usersessions/usersession_list", "socialaccount/connections", "socialaccount/login"),
    *("socialaccount/login_cancelled", "socialaccount/authentication_error", "429"),
]
ADDRESSES = [re.sub(r"<\w+:\w+>", "1", str(pattern.pattern)) for pattern in urlpatterns]


@pytest.mark.django_db
@pytest.mark.parametrize("address", ADDRESSES)
def test_local_mode_has_none_of_them(ours, address):
    for method in (ours.get, ours.post):
        assert method(f"/account/{address}").status_code == 404


@pytest.mark.django_db
def test_the_settings_of_local_mode_show_nothing_of_an_account(ours):
    page = ours.get("/settings/").content.decode()
    assert "of-account" not in page
    assert "/account/" not in page
    assert "It runs on this device." in page


@pytest.mark.django_db
def test_the_settings_of_server_mode_are_true_for_a_server(server_mode, other, logged_in):
    page = logged_in(other).get("/settings/").content.decode()
    assert "Your account and the tokens of your programs stay" in page
    for wrong in ("this device", "this machine", "The model stays."):
        assert wrong not in page, wrong


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_is_ours(name):
    assert Path(get_template(f"{name}.html").origin.name).is_relative_to(ROOT)


@pytest.mark.parametrize("name", ["email/password_reset_key", "email/email_confirmation"])
def test_every_email_is_ours(name):
    for part in ("subject", "message"):
        assert Path(get_template(f"account/{name}_{part}.txt").origin.name).is_relative_to(ROOT)


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["signup/", "phone/change/", "two-factor/webauthn/", "login/signup/"])
def test_other_pages_of_allauth_do_not_exist(server_mode, other, logged_in, path):
    assert logged_in(other).get(f"/account/{path}").status_code == 404


URL = "smtp://me%40example.org:a%3Ab@mail.example.org"


@pytest.mark.parametrize(
    ("url", "port", "starttls", "ssl"),
    [
        (URL, 587, True, False),
        (f"{URL}?tls=ssl", 465, False, True),
        (f"{URL}:2525?tls=none", 2525, False, False),
    ],
)
def test_the_mail_server_is_read_from_its_address(url, port, starttls, ssl):
    found = parse_email_url(url, "memoryapp <chat@example.org>")
    assert (found["EMAIL_HOST"], found["EMAIL_PORT"]) == ("mail.example.org", port)
    assert (found["EMAIL_HOST_USER"], found["EMAIL_HOST_PASSWORD"]) == ("me@example.org", "a:b")
    assert (found["EMAIL_USE_TLS"], found["EMAIL_USE_SSL"]) == (starttls, ssl)
    assert found["DEFAULT_FROM_EMAIL"] == "memoryapp <chat@example.org>"


@pytest.mark.parametrize(
    ("url", "sender"),
    [
        ("http://mail.example.org", "a@example.org"),
        ("smtp://", "a@example.org"),
        ("smtp://me:secret@host:port", "a@example.org"),
        ("smtp://me:secret@host?tls=yes", "a@example.org"),
        ("smtp://me:secret@host", ""),
    ],
)
def test_a_wrong_mail_server_stops_the_start_without_showing_the_password(url, sender):
    with pytest.raises(env.BadValue) as raised:
        parse_email_url(url, sender)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("address", "accepted"),
    [
        ("https://id.example.org/", "https://id.example.org"),
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("", ""),
        ("http://id.example.org", None),
        ("id.example.org", None),
    ],
)
def test_an_issuer_needs_tls(monkeypatch, address, accepted):
    monkeypatch.setenv("OIDC_ISSUER", address)
    if accepted is None:
        with pytest.raises(env.BadValue):
            envissuer("OIDC_ISSUER")
    else:
        assert envissuer("OIDC_ISSUER") == accepted
