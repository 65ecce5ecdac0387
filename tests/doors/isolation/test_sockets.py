"""Every socket, opened by every kind of caller: only the owner's conversation is shown to its owner."""

from __future__ import annotations

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async

from chat.actions.api_tokens import create_token
from chat.actions.facts import add_fact
from chat.actions.messages import send_message
from chat.generation import run as generation
from chat.models import Scope
from tests.full_token import create_full_token

from .bad_tokens import REASONS, make_bad_token
from .conftest import MARK, make_ids
from .routes import list_socket_routes
from .table import SOCKETS

pytestmark = [pytest.mark.asyncio, pytest.mark.django_db(transaction=True)]
NOT_LOGGED_IN, REFUSED, NOT_FOUND = 4401, 4403, 4404
[(ROUTE, (NAMED, NEEDED))] = SOCKETS.items()


async def test_every_socket_is_in_the_table():
    # The last route refuses every other address.
    assert list_socket_routes() == {*SOCKETS, ""}


@pytest_asyncio.fixture
async def theirs(ids, other):
    """The ids of the other user's objects."""
    return await sync_to_async(make_ids)(other, "Brindlefen")


@pytest.fixture
def open_by_login(socket, logged_in):
    """Return a function that makes the socket of a logged-in user for a conversation."""

    async def make(user, conversation=None):
        client = await sync_to_async(logged_in)(user)
        return socket(conversation, session=client.cookies["sessionid"].value)

    return make


def by_token(socket, secret, conversation=None):
    return socket(conversation, origin=None, authorization=f"Bearer {secret}")


@pytest.mark.parametrize("make", [create_token, create_full_token], ids=["token", "full token"])
async def test_a_token_opens_the_conversation_of_its_owner_only(socket, ids, owner, other, settings, make):
    mine, foreign = [await sync_to_async(make)(user, "a program") for user in (owner, other)]
    for mode in ("server", "local"):
        settings.MODE = mode
        assert await by_token(socket, mine, ids[NAMED]).connect() is True
        assert await by_token(socket, foreign, ids[NAMED]).connect() == NOT_FOUND


@pytest.mark.parametrize("staff", [False, True], ids=["another user", "staff"])
async def test_a_login_opens_the_conversation_of_its_user_only(ids, owner, other, open_by_login, staff):
    other.is_staff = other.is_superuser = staff
    await other.asave()
    assert await (await open_by_login(owner, ids[NAMED])).connect() is True
    assert await (await open_by_login(other, ids[NAMED])).connect() == NOT_FOUND


async def test_without_login_no_socket_is_accepted(socket, ids):
    for session in ("", "forged"):
        for conversation in (ids[NAMED], None):
            assert await socket(conversation, session=session).connect() == NOT_LOGGED_IN


@pytest.mark.parametrize("reason", REASONS)
async def test_a_token_that_is_not_valid_opens_no_socket(socket, ids, owner, settings, reason):
    secret = await sync_to_async(make_bad_token)(owner, reason)
    for mode in ("server", "local"):
        settings.MODE = mode
        for conversation in (ids[NAMED], None):
            assert await by_token(socket, secret, conversation).connect() == REFUSED


async def test_a_token_without_a_needed_scope_opens_no_socket(socket, ids, owner):
    for missing in sorted(NEEDED):
        secret = await sync_to_async(create_token)(owner, missing, set(Scope.values) - {missing})
        assert await by_token(socket, secret, ids[NAMED]).connect() == REFUSED
    secret = await sync_to_async(create_token)(owner, "enough", NEEDED)
    assert await by_token(socket, secret, ids[NAMED]).connect() is True


async def test_the_page_of_another_site_opens_no_socket_with_the_login_of_the_owner(
    socket, ids, owner, logged_in
):
    session = (await sync_to_async(logged_in)(owner)).cookies["sessionid"].value
    page = socket(ids[NAMED], session=session, origin="http://elsewhere.example")
    assert await page.connect() == REFUSED


async def test_the_id_of_a_reply_of_the_owner_gives_another_user_nothing(
    ids, theirs, owner, other, open_by_login, gate
):
    _, reply = await sync_to_async(send_message)(owner, f"Message {MARK}")
    await sync_to_async(generation.start)(reply)
    for conversation in (None, theirs[NAMED]):
        page = await open_by_login(other, conversation)
        assert await page.connect() is True
        for kind in ("hello", "resync", "stop"):
            await page.send({"type": kind, "reply": str(reply.pk), "seq": 0})
        frames = []
        await page.send({"type": "ping"})
        while (frame := await page.receive())["type"] != "pong":
            frames.append(frame)
        # "done" says of every id but that of their own running reply that nothing is written any more.
        assert frames == [{"type": "done", "reply": str(reply.pk)}] * 2
    assert generation.count_running() == 1


async def test_events_reach_no_socket_of_another_user(ids, owner, other, open_by_login):
    page = await open_by_login(other)
    assert await page.connect() is True
    await sync_to_async(add_fact)(owner, f"I know {MARK}")
    await sync_to_async(send_message)(owner, f"Message {MARK}")
    assert await page.is_silent()
