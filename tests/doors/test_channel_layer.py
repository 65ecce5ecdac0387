"""An event costs each open socket the same, however many sockets there are."""

from __future__ import annotations

import pytest
from channels.layers import InMemoryChannelLayer, get_channel_layer

from chat.actions.events import group_name
from memoryapp import channel_layer
from memoryapp.channel_layer import ChannelLayer

pytestmark = pytest.mark.asyncio
SOCKETS = 300


async def join(layer: ChannelLayer) -> list[str]:
    names = [await layer.new_channel() for _ in range(SOCKETS)]
    for name in names:
        await layer.group_add("everyone", name)
    return names


async def test_all_channels_are_looked_through_once_and_not_for_each_socket(monkeypatch):
    looks = []
    monkeypatch.setattr(InMemoryChannelLayer, "_clean_expired", lambda self: looks.append(1))
    layer = ChannelLayer()
    names = await join(layer)
    await layer.group_send("everyone", {"type": "event"})
    assert [await layer.receive(name) for name in names] == [{"type": "event"}] * SOCKETS
    assert len(looks) <= 2


async def test_an_event_that_nobody_took_expires(monkeypatch):
    monkeypatch.setattr(channel_layer, "CLEAN_SECONDS", 0.0)
    layer = ChannelLayer(expiry=-1)
    names = await join(layer)
    await layer.group_send("everyone", {"type": "event"})
    layer._clean_expired()
    assert not layer.channels
    assert len(names) == SOCKETS


async def test_the_sockets_use_this_layer():
    assert isinstance(get_channel_layer(), ChannelLayer)


@pytest.mark.django_db(transaction=True)
async def test_an_event_takes_no_thread(socket, owner, monkeypatch):
    page = socket()
    assert await page.connect() is True
    taken = []
    monkeypatch.setattr("channels.consumer.aclose_old_connections", lambda: taken.append(1))
    event = {"type": "owner.event", "event": {"type": "facts"}}
    await get_channel_layer().group_send(group_name(owner.pk), event)
    assert await page.frame("facts") == {"type": "facts"}
    assert not taken
    monkeypatch.undo()
