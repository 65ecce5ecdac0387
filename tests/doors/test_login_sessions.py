"""A person sees where they are logged in, and can end one session or all others."""

from __future__ import annotations

from datetime import timedelta

import pytest
from allauth.usersessions.models import UserSession
from asgiref.sync import sync_to_async
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from chat.actions.login_sessions import delete_ended_sessions, list_sessions
from chat.user_agents import describe_device

from .owned_objects import ORIGIN

PASSWORD = "correct horse battery"
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0"
PHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.0 Mobile/15E148 Safari/604.1"
)


@pytest.fixture
def log_in(server_mode, other):
    other.set_password(PASSWORD)
    other.save()

    def log_in(address="192.0.2.1", device=FIREFOX):
        client = Client(headers={"origin": ORIGIN, "user-agent": device}, REMOTE_ADDR=address)
        client.post("/login/", {"login": other.username, "password": PASSWORD})
        return client

    return log_in


def is_logged_in(client) -> bool:
    return client.get("/memory/").status_code == 200


def key_of(client) -> str:
    return client.cookies["sessionid"].value


@pytest.mark.django_db
def test_the_list_names_browser_address_and_the_session_in_use(log_in):
    here = log_in()
    log_in("192.0.2.7", PHONE)
    page = here.get("/account/sessions/").content.decode()
    for shown in ("Firefox on Windows", "Safari on iPhone", "from 192.0.2.1", "from 192.0.2.7"):
        assert page.count(shown) >= 1, shown
    assert page.count("<b>this one</b>") == 1
    assert key_of(here) not in page
    assert '<dd>2, <a class="inline" href="/account/sessions/">' in here.get("/settings/").content.decode()


@pytest.mark.django_db
def test_one_session_is_ended_and_the_others_stay(log_in, other):
    here, phone, third = log_in(), log_in("192.0.2.7", PHONE), log_in("192.0.2.8")
    row = UserSession.objects.get(ip="192.0.2.7")
    page = here.post(f"/account/sessions/{row.pk}/end/", follow=True)
    assert "The session is ended." in page.content.decode()
    assert [is_logged_in(one) for one in (here, phone, third)] == [True, False, True]
    assert here.post(f"/account/sessions/{row.pk}/end/").status_code == 404


@pytest.mark.django_db
def test_all_other_sessions_are_ended(log_in, other):
    here, phone, third = log_in(), log_in("192.0.2.7", PHONE), log_in("192.0.2.8")
    page = here.post("/account/sessions/", follow=True)
    assert "2 other sessions are ended." in page.content.decode()
    assert [is_logged_in(one) for one in (here, phone, third)] == [True, False, False]
    assert len(list_sessions(other)) == 1


@pytest.mark.django_db
def test_nobody_ends_the_session_of_somebody_else(log_in, owner, logged_in):
    client = log_in()
    row = UserSession.objects.get()
    mine = logged_in(owner)
    assert mine.post(f"/account/sessions/{row.pk}/end/").status_code == 404
    mine.post("/account/sessions/")
    assert is_logged_in(client)
    assert "192.0.2.1" not in mine.get("/account/sessions/").content.decode()


@pytest.mark.django_db
def test_it_is_recorded_when_a_session_was_last_used_but_not_at_every_request(log_in):
    client = log_in()
    client.get("/memory/")
    UserSession.objects.update(last_seen_at=timezone.now() - timedelta(days=2))
    client.get("/memory/")
    assert UserSession.objects.get().last_seen_at < timezone.now() - timedelta(days=1)
    cache.clear()
    client.get("/memory/")
    assert UserSession.objects.get().last_seen_at > timezone.now() - timedelta(minutes=1)


@pytest.mark.django_db
def test_a_session_from_before_this_list_is_in_it(server_mode, other, logged_in):
    client = logged_in(other)
    assert "this one" in client.get("/account/sessions/").content.decode()


@pytest.mark.django_db
def test_what_is_known_of_ended_sessions_is_deleted_at_night(log_in, other):
    here, gone = log_in(), log_in("192.0.2.7")
    Session.objects.filter(session_key=key_of(gone)).delete()
    assert [one.ip for one in list_sessions(other)] == ["192.0.2.1"]
    delete_ended_sessions()
    assert [one.session_key for one in UserSession.objects.all()] == [key_of(here)]


@pytest.mark.django_db
def test_local_mode_records_no_session(ours):
    ours.get("/settings/")
    assert not UserSession.objects.exists()


@pytest.mark.asyncio
@pytest.mark.django_db(transaction=True)
async def test_the_sockets_of_an_ended_session_close_within_a_second_or_so(log_in, socket):
    here, phone = await sync_to_async(log_in)(), await sync_to_async(log_in)("192.0.2.7", PHONE)
    mine, theirs = socket(session=key_of(here)), socket(session=key_of(phone))
    assert await mine.connect() is True
    assert await theirs.connect() is True
    await sync_to_async(here.post)("/account/sessions/")
    assert await theirs.wait_for_close(3.0) == 4401
    assert await mine.is_silent()


DEVICES = {
    FIREFOX: "Firefox on Windows",
    PHONE: "Safari on iPhone",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36": (
        "Chrome on Linux"
    ),
    "Mozilla/5.0 (Windows NT 10.0) Chrome/156.0 Safari/537.36 Edg/156.0": "Edge on Windows",
    "Mozilla/5.0 (Linux; Android 16; K) AppleWebKit/537.36 Chrome/156.0 Mobile Safari/537.36": (
        "Chrome on Android"
    ),
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605 Version/18 Safari/605": "Safari on macOS",
    "curl/8.9": "Unknown browser",
    "": "Unknown browser",
}


@pytest.mark.parametrize(("header", "words"), DEVICES.items())
def test_browsers_are_named_in_plain_words(header, words):
    assert describe_device(header) == words
