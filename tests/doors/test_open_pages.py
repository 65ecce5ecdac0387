"""In server mode one person cannot open so many sockets that others find no room."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async

from chat import consumers

pytestmark = [pytest.mark.asyncio, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def _room_for_two(monkeypatch):
    monkeypatch.setattr(consumers, "MAX_SOCKETS_OF_ONE", 2)
    consumers._open_sockets.clear()


@pytest.fixture
def open_page(socket, logged_in):
    """Return a function that makes the socket of a logged-in person."""

    async def make(user):
        client = await sync_to_async(logged_in)(user)
        return socket(session=client.cookies["sessionid"].value)

    return make


async def test_a_page_too_many_is_closed_with_its_own_code_and_others_are_let_in(
    server_mode, open_page, owner, other
):
    mine = [await open_page(owner) for _ in range(3)]
    assert [await page.connect() for page in mine] == [True, True, 4429]
    assert await (await open_page(other)).connect() is True


async def test_a_closed_page_makes_room(server_mode, open_page, owner):
    first, second = await open_page(owner), await open_page(owner)
    assert await first.connect() is True
    assert await second.connect() is True
    await first.leave()
    assert await (await open_page(owner)).connect() is True


async def test_in_local_mode_there_is_no_limit(socket, owner):
    assert [await socket().connect() for _ in range(4)] == [True] * 4
