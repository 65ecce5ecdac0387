"""Limits count for all processes together by Redis, and in each by itself while Redis is away."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

from memoryapp.base.env import BadValue
from memoryapp.base.message_bus import MessageBus
from memoryapp.base.redis import check_redis
from memoryapp.base.service_urls import parse_redis_url
from memoryapp.shared_cache import SharedCache
from tests.waiting import wait_until


def make_cache(redis: Any) -> SharedCache:
    return SharedCache(redis.url, {"KEY_PREFIX": "memoryapp:cache", "OPTIONS": {"socket_timeout": 1.0}})


def test_two_processes_count_together(redis):
    one, other = make_cache(redis), make_cache(redis)
    assert one.add("code", "y", 60)
    assert not other.add("code", "y", 60)
    one.set("history", [1.5, 2.5], 60)
    assert other.get("history") == [1.5, 2.5]
    one.set("count", 1)
    assert other.incr("count") == 2
    one.clear()
    assert other.get("history") is None


def test_clearing_leaves_the_keys_of_others(redis):
    with redis.connect() as client:
        client.set("other:program", "1")
        make_cache(redis).clear()
        assert client.get("other:program") == "1"


def test_without_redis_a_process_goes_on_with_what_it_has_counted(redis, caplog):
    cache = make_cache(redis)
    cache.set("history", [1], 60)
    assert cache.add("code", "y", 60)
    redis.kill()
    try:
        began = time.monotonic()
        assert cache.get("history") == [1]
        assert not cache.add("code", "y", 60)
        for _ in range(50):
            cache.set("history", [1, 2], 60)
        assert time.monotonic() - began < 4
        assert caplog.text.count("limits such as those of logins count in each") == 1
    finally:
        redis.start()
    wait_until(lambda: cache.add("later", 1) and redis.find_text("1"))
    assert cache.get("history") is None


def test_all_caches_of_a_process_share_their_connections_and_what_they_know_of_an_outage(redis, caplog):
    for number in range(20):
        make_cache(redis).set("count", number)
    with redis.connect() as client:
        assert len(client.client_list()) < 10
    redis.signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        for _ in range(20):
            assert make_cache(redis).get("count") == 19
        # One of them waits, and twice by trying again.
        assert time.monotonic() - began < 8
        assert caplog.text.count("limits such as those of logins count in each") == 1
    finally:
        redis.signal(signal.SIGCONT)

    def is_stored() -> bool:
        make_cache(redis).set("back", "again")
        return bool(redis.find_text("again"))

    wait_until(is_stored)


def test_a_message_reaches_other_processes_and_is_not_received_by_its_sender(redis):
    one, other = MessageBus(redis.url), MessageBus(redis.url)
    received: list[str] = []
    one.listen("hello", lambda message: received.append(f"one {message['text']}"))
    other.listen("hello", lambda message: received.append(f"other {message['text']}"))
    wait_until(lambda: one.publish("hello", text="1") and "other 1" in received)
    assert not any(text.startswith("one") for text in received)
    redis.kill()
    one.publish("hello", text="lost")
    wait_until(lambda: one.is_down)
    assert not one.publish("hello", text="lost")
    redis.start()
    wait_until(lambda: one.publish("hello", text="2") and "other 2" in received)
    one.close()
    other.close()


def test_the_check_says_what_is_wrong(redis, settings):
    assert check_redis() == ""
    settings.REDIS_URL = redis.url
    assert check_redis() == ""
    settings.REDIS_URL = "redis://:geheim@127.0.0.1:1/0"
    assert check_redis().startswith("Redis does not answer")
    assert "geheim" not in check_redis()


@pytest.mark.parametrize(
    "url", ["redis://host", "rediss://:p%40ss@host:6380/3", "redis://user:word@[::1]:6379"]
)
def test_an_url_of_redis_is_taken_as_it_is(url):
    assert parse_redis_url(url, is_server=True, has_database=True) == url


@pytest.mark.parametrize(
    "url", ["http://host", "redis://", "redis://host:port", "redis://host/name", "host:6379"]
)
def test_another_url_is_refused_without_being_shown(url):
    with pytest.raises(BadValue, match="REDIS_URL must look like") as refused:
        parse_redis_url(url, is_server=True, has_database=True)
    assert "name" not in str(refused.value)


@pytest.mark.parametrize(("is_server", "has_database"), [(False, True), (True, False)])
def test_redis_without_several_processes_is_refused(is_server, has_database):
    with pytest.raises(BadValue, match="Set MODE=server and DATABASE_URL"):
        parse_redis_url("redis://host", is_server=is_server, has_database=has_database)
