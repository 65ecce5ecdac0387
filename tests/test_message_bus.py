"""Messages between processes go on after odd messages, failing listeners and a Redis that refuses writes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from memoryapp.base.message_bus import MessageBus
from memoryapp.base.redis import name_key
from tests.waiting import wait_until


@pytest.fixture
def buses(redis: Any) -> Iterator[tuple[MessageBus, MessageBus]]:
    """The messages of two processes."""
    made = MessageBus(redis.url), MessageBus(redis.url)
    yield made
    for bus in made:
        bus.close()
    with redis.connect() as client:
        client.config_set("maxmemory", 0)
        client.flushall()


def listen(bus: MessageBus) -> list[str]:
    """Return a list to which the texts of received messages are added."""
    received: list[str] = []
    bus.listen("hello", lambda message: received.append(message["text"]))
    return received


@pytest.mark.parametrize("odd", [b"no JSON", b"[]", b"{}", b"7", b'{"kind": [], "from": 1}', b"\xff\xfe"])
def test_the_next_message_is_received_after_an_odd_one(redis, buses, odd):
    one, other = buses
    received = listen(other)
    wait_until(lambda: one.publish("hello", text="before") and "before" in received)
    with redis.connect() as client:
        client.publish(name_key("messages"), odd)
    wait_until(lambda: one.publish("hello", text="after") and "after" in received)


def test_a_failing_listener_ends_neither_thread(redis, buses):
    one, other = buses
    called = threading.Event()

    def fail() -> None:
        raise ValueError("a listener fails")

    for bus in buses:
        bus.call_after_outage(fail)
    other.call_after_outage(called.set)
    received = listen(other)
    wait_until(lambda: one.publish("hello", text="before") and "before" in received)
    assert called.is_set()
    redis.kill()
    wait_until(lambda: not one.publish("hello", text="lost"))
    redis.start()
    wait_until(lambda: one.publish("hello", text="after") and "after" in received)


def test_a_failing_write_leaves_the_thread_to_the_others(redis, buses):
    one, _other = buses

    def fail(_pipeline: Any) -> None:
        raise ValueError("a write fails")

    assert one.write(fail)
    wait_until(lambda: one.write(lambda pipe: pipe.set("written", "1")) and redis.find_text("1"))


def test_a_redis_that_refuses_writes_is_asked_seldom_and_messages_that_wait_are_sent(redis, buses, caplog):
    one, other = buses
    received = listen(other)
    again: list[float] = []
    wait_until(lambda: one.publish("hello", text="before") and "before" in received)
    one.call_after_outage(lambda: again.append(time.monotonic()))
    with redis.connect() as client:
        client.config_set("maxmemory", 1)
        commands = client.info("stats")["total_commands_processed"]
        with one._changed:
            assert one.write(lambda pipe: pipe.set("refused", "1"))
            assert one.publish("hello", text="beside")
        wait_until(lambda: one.is_down)
        time.sleep(2)
        assert one.is_down
        assert again == []
        assert client.info("stats")["total_commands_processed"] - commands < 30
        assert received[-1] == "beside"
        client.config_set("maxmemory", 0)
        wait_until(lambda: one.write(lambda pipe: pipe.set("taken", "1")) and client.get("taken"))
    assert len(again) == 1
    assert caplog.text.count("Redis does not answer") == 1


def test_the_pause_grows_while_redis_fails_again_at_once(redis, buses):
    one, _other = buses
    with redis.connect() as client:
        client.set("text", "1")
    # Refused by Redis, which takes other writes.
    one.call_after_outage(lambda: one.write(lambda pipe: pipe.incr("text").lpush("text", "1")) and None)
    assert one.write(lambda pipe: pipe.lpush("text", "1"))
    time.sleep(5)
    with redis.connect() as client:
        assert 2 <= int(client.get("text")) <= 5
