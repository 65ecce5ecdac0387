"""The time zone is taken from the browser at the first visit, where the owner has not set one."""

from __future__ import annotations

import asyncio

import pytest
from asgiref.sync import sync_to_async

from chat.actions.owners import settings_of
from chat.models import OwnerSettings

pytestmark = [pytest.mark.asyncio, pytest.mark.django_db(transaction=True)]


async def read_zone(user) -> str:
    return (await sync_to_async(settings_of)(user.pk)).time_zone


async def wait_for_zone(user) -> str:
    """Return the stored zone; a socket opens before its zone is stored."""
    async with asyncio.timeout(10):
        while not (zone := await read_zone(user)):  # noqa: ASYNC110 - the database has no event
            await asyncio.sleep(0.01)
    return zone


async def test_the_first_page_sets_the_zone_of_the_browser(socket, owner):
    assert await socket(zone="Asia/Tokyo").connect() is True
    assert await wait_for_zone(owner) == "Asia/Tokyo"


async def test_a_later_visit_from_elsewhere_changes_nothing(socket, owner):
    await socket(zone="Asia/Tokyo").connect()
    await wait_for_zone(owner)
    await socket(zone="Europe/Oslo").connect()
    await asyncio.sleep(0.1)
    assert await read_zone(owner) == "Asia/Tokyo"


async def test_a_zone_that_the_owner_has_chosen_stays(socket, owner):
    await OwnerSettings.objects.filter(owner=owner).aupdate(time_zone="America/Lima")
    await socket(zone="Asia/Tokyo").connect()
    assert await read_zone(owner) == "America/Lima"


@pytest.mark.parametrize("zone", ["undefined", "Mars/Olympus", "../etc/passwd", "%FF", "localtime"])
async def test_an_unknown_zone_is_ignored_and_the_socket_opens(socket, owner, zone):
    assert await socket(zone=zone).connect() is True
    assert await read_zone(owner) == ""


async def test_a_page_of_another_user_sets_only_their_zone(socket, server_mode, owner, other, logged_in):
    theirs = await sync_to_async(logged_in)(other)
    assert await socket(session=theirs.cookies["sessionid"].value, zone="Asia/Tokyo").connect() is True
    assert (await wait_for_zone(other), await read_zone(owner)) == ("Asia/Tokyo", "")


async def test_a_stranger_sets_no_zone(socket, server_mode, owner):
    assert await socket(zone="Asia/Tokyo").connect() == 4401
    assert await read_zone(owner) == ""


async def test_another_site_sets_no_zone(socket, owner):
    assert await socket(zone="Asia/Tokyo", origin="https://elsewhere.example").connect() == 4403
    assert await read_zone(owner) == ""
