"""An open socket is closed about a second after its login ended: by logout, revocation or deactivation."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.sessions.models import Session
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chat.actions.api_tokens import create_token, revoke_token
from chat.models import ApiToken, User
from chat.socket_access import Login, find_ended_logins, watch

from .owned_objects import ORIGIN

pytestmark = [pytest.mark.asyncio, pytest.mark.django_db(transaction=True)]
SOON = 3.0  # seconds; the check runs every 0.8 s
UNAUTHENTICATED = 4401


@pytest.fixture
def open_page(server_mode, socket, logged_in):
    """Return a function that logs a user in and opens a socket; it returns the client and the socket."""

    async def open_page(user):
        client = await sync_to_async(logged_in)(user)
        page = socket(session=client.cookies["sessionid"].value)
        assert await page.connect() is True
        return client, page

    return open_page


async def is_open(page) -> bool:
    return await page.is_silent()


async def test_logout_closes_the_sockets_of_this_login_only(open_page, owner):
    client, page = await open_page(owner)
    _, elsewhere = await open_page(owner)
    assert (await sync_to_async(client.post)("/logout/", headers={"origin": ORIGIN})).status_code == 302
    assert await page.wait_for_close(SOON) == UNAUTHENTICATED
    assert await is_open(elsewhere)


async def test_a_deactivated_user_loses_all_sockets_and_others_keep_theirs(open_page, owner, other):
    _, page = await open_page(other)
    _, mine = await open_page(owner)
    await User.objects.filter(pk=other.pk).aupdate(is_active=False)
    assert await page.wait_for_close(SOON) == UNAUTHENTICATED
    assert await is_open(mine)


async def test_a_deleted_user_loses_the_socket(open_page, other):
    _, page = await open_page(other)
    await sync_to_async(other.delete)()
    assert await page.wait_for_close(SOON) == UNAUTHENTICATED


async def test_a_new_password_closes_the_sockets_of_older_logins(open_page, other):
    _, page = await open_page(other)
    await sync_to_async(other.set_password)("another password")
    await other.asave()
    assert await page.wait_for_close(SOON) == UNAUTHENTICATED


async def test_a_login_that_has_ended_closes_the_socket(open_page, other):
    _, page = await open_page(other)
    await Session.objects.aupdate(expire_date=timezone.now() - timedelta(seconds=1))
    assert await page.wait_for_close(SOON) == UNAUTHENTICATED


@pytest.mark.parametrize("mode", ["local", "server"])
@pytest.mark.parametrize("end", ["revoked", "past"])
async def test_the_socket_of_a_program_is_closed_with_its_token(socket, owner, settings, mode, end):
    settings.MODE = mode
    secret = await sync_to_async(create_token)(owner, "a program")
    await sync_to_async(create_token)(owner, "another")
    page = socket(origin=None, authorization=f"Bearer {secret}")
    assert await page.connect() is True
    token = await ApiToken.objects.aget(name="a program")
    if end == "revoked":
        await sync_to_async(revoke_token)(token)
    else:
        await ApiToken.objects.filter(pk=token.pk).aupdate(expires_at=timezone.now())
    assert await page.wait_for_close(SOON) == UNAUTHENTICATED


async def test_a_page_in_local_mode_stays_open(socket, owner):
    page = socket()
    assert await page.connect() is True
    await User.objects.filter(pk=owner.pk).aupdate(is_active=True)
    assert await is_open(page)


async def test_thousands_of_sockets_are_checked_by_a_few_queries(owner, other):
    def check() -> int:
        logins = {Login(owner.pk, session=f"session-{n}") for n in range(2000)}
        logins |= {Login(other.pk, token=str(uuid4())) for _ in range(10)}
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert find_ended_logins(logins) == logins
        return len(queries)

    assert await sync_to_async(check)() <= 5


async def test_a_page_that_reads_nothing_keeps_no_other_ended_login_open(open_page, owner, other):
    reads = asyncio.Event()
    stuck = object()
    watch.add(stuck, Login(other.pk, session="ended"), reads.wait)
    try:
        client, page = await open_page(owner)
        # The socket that cannot be closed yet has been found before.
        await asyncio.sleep(1)
        await sync_to_async(client.post)("/logout/", headers={"origin": ORIGIN})
        assert await page.wait_for_close(SOON) == UNAUTHENTICATED
        assert stuck in watch._sockets
        reads.set()
        await asyncio.sleep(SOON)
        assert stuck not in watch._sockets
    finally:
        watch.discard(stuck)
