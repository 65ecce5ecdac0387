"""Several servers of one model: which one a call goes to, and what happens when one fails."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from functools import partial

import pytest

from chat.errors import BadAddress, ModelNotReady, ProviderError
from chat.llm.model_status import ModelState
from chat.llm.registry import Registry
from chat.llm.remote.address import MAX_ADDRESSES, parse_address, parse_addresses
from chat.llm.remote.health import find_next_pause, is_other_model
from chat.llm.remote.provider import RemoteProvider
from chat.llm.remote.server_use import ServerUse
from chat.llm.types import GenerationOptions, Lane, Turn
from tests.waiting import wait_until

from .fake_server import (
    MODELS,
    STORY_TURNS,
    chat_endpoint,
    only_when_streamed,
    run_fake_server,
    stream_pieces,
)

CHAT = "/v1/chat/completions"


@pytest.fixture
def servers():
    """Two servers of one model that reply at once."""
    with ExitStack() as stack:
        paths = {"v1__models": MODELS, "v1__chat__completions": chat_endpoint("Hello there.")}
        yield [stack.enter_context(run_fake_server(**paths)) for _ in range(2)]


def ask(provider, slot="chat", owner="ann"):
    return "".join(provider.stream(STORY_TURNS, GenerationOptions.for_reply(slot, owner=owner)))


def has_active(provider, number):
    return len(provider._queue.active) == number


def count(servers):
    """Return how many replies each server was asked for; probing a server never streams."""
    return [sum(bool(body.get("stream")) for body in server.bodies(CHAT)) for server in servers]


def test_addresses_are_separated_by_commas_or_blanks_and_counted_once():
    found = parse_addresses(" http://127.0.0.1:1, http://127.0.0.1:2/v1\nhttp://127.0.0.1:1/v1 ")
    assert [one.host for one in found] == ["127.0.0.1:1", "127.0.0.1:2"]
    with pytest.raises(BadAddress):
        parse_addresses(" , ")
    with pytest.raises(BadAddress, match="At most"):
        parse_addresses(" ".join(f"http://127.0.0.1:{port}" for port in range(1, MAX_ADDRESSES + 2)))


def test_a_conversation_stays_with_its_server_and_others_are_spread(connected, servers):
    provider = connected(*servers)
    for _ in range(3):
        assert ask(provider, "one") == "Hello there."
    assert sorted(count(servers)) == [0, 3]
    for number in range(30):
        ask(provider, f"chat {number}")
    assert min(count(servers)) > 0


def test_the_least_busy_server_is_asked_first_relative_to_its_places(connected, servers):
    held = threading.Event()

    def slow(body):
        held.wait(10)
        yield from stream_pieces("Done.")

    for server in servers:
        server.paths[CHAT] = only_when_streamed(slow)
    provider = connected(*servers)
    assert provider.places == 4
    small, large = provider.servers
    small.places.capacity, large.places.capacity = 1, 3
    threads = [threading.Thread(target=ask, args=(provider, f"chat {number}")) for number in range(4)]
    for number, thread in enumerate(threads, start=1):
        thread.start()
        wait_until(partial(has_active, provider, number))
    assert [len(one.places.active) for one in provider.servers] == [1, 3]
    held.set()
    for thread in threads:
        thread.join(10)


def test_a_conversation_whose_server_is_full_goes_to_another_one(connected, servers):
    provider = connected(*servers)
    ask(provider, "one")
    own = provider._queue._prefixes["ann", "one"]
    own.capacity = 0
    assert ask(provider, "one") == "Hello there."
    assert sorted(count(servers)) == [1, 1]


def test_background_work_leaves_for_a_reply_only_where_no_other_server_is_free(connected, servers):
    held, begun = threading.Event(), threading.Event()

    def slow(body):
        if body["messages"][-1]["content"] == "notes":
            begun.set()
            held.wait(10)
        yield from stream_pieces("Done.")

    for server in servers:
        server.paths[CHAT] = only_when_streamed(slow)
    provider = connected(*servers)
    options = GenerationOptions(slot="notes", lane=Lane.BACKGROUND, owner="ann")
    work = threading.Thread(target=provider.complete, args=([Turn("user", "notes")], options))
    work.start()
    assert begun.wait(10)
    assert ask(provider, "chat") == "Done."
    assert sum(count(servers)) == 2
    held.set()
    work.join(10)


@pytest.mark.parametrize(
    "failure",
    [(500, {"error": "out of memory"}), (502, {}), (503, {}), (401, {}), iter([None])],
    ids=["500", "502", "503", "401", "broken connection"],
)
def test_a_request_that_fails_before_its_first_token_goes_to_another_server(connected, servers, failure):
    provider = connected(*servers)
    ask(provider, "one")
    failing = next(server for server in servers if count([server]) == [1])
    failing.paths[CHAT] = only_when_streamed(lambda body: failure)
    assert ask(provider, "one") == "Hello there."
    assert count([failing]) == [2]
    # It is left out from then on.
    for number in range(8):
        assert ask(provider, f"chat {number}") == "Hello there."
    assert count([failing]) == [2]


def test_a_silent_server_is_left_out_before_its_first_token(connected, servers):
    provider = connected(*servers, first=0.3)
    ask(provider, "one")
    failing = next(server for server in servers if count([server]) == [1])
    held = threading.Event()
    failing.paths[CHAT] = only_when_streamed(lambda body: held.wait(10))
    assert ask(provider, "one") == "Hello there."
    held.set()


def test_a_reply_that_breaks_off_after_its_first_token_is_not_shown_twice(connected, servers):
    for server in servers:
        server.paths[CHAT] = only_when_streamed(lambda body: stream_pieces("Once ", then=[None]))
    pieces = []
    with pytest.raises(ProviderError, match="broke off"):
        pieces.extend(connected(*servers).stream(STORY_TURNS, GenerationOptions.for_reply("one")))
    assert sum(count(servers)) == 1


def test_where_all_servers_fail_the_error_is_the_one_of_a_single_server(connected, servers):
    provider = connected(*servers)
    for server in servers:
        server.paths[CHAT] = only_when_streamed(lambda body: (502, {}))
    with pytest.raises(ModelNotReady, match="Your message is saved"):
        ask(provider)


def test_a_request_that_every_server_refuses_leaves_none_of_them_out(connected, servers):
    provider = connected(*servers)
    for server in servers:
        server.paths[CHAT] = only_when_streamed(lambda body: (500, {"error": "cannot parse"}))
    with pytest.raises(ProviderError, match="refused the request"):
        ask(provider)
    assert all(server.is_usable() for server in provider.servers)


def test_a_server_with_another_model_is_left_out_and_named(connected, servers):
    servers[1].paths["/v1/models"] = {"data": [{"id": "fox"}]}
    provider = connected(*servers)
    host = provider.servers[1].address.host
    assert str(provider.servers[1].problem) == (
        f"The server {host} has the model fox, and the others have m. It is not used."
    )
    for number in range(8):
        ask(provider, f"chat {number}")
    assert count(servers) == [8, 0]


def test_a_folder_before_the_name_of_the_models_file_may_differ(connected, servers):
    servers[0].paths["/v1/models"] = {"data": [{"id": "/models/a.gguf"}]}
    servers[1].paths["/v1/models"] = {"data": [{"id": "/srv/weights/a.gguf"}]}
    assert connected(*servers).places == 4


def test_a_server_that_is_away_at_the_start_is_used_when_it_comes(servers, monkeypatch):
    monkeypatch.setattr("chat.llm.remote.health._FIRST_PAUSE", 0.1)
    here = threading.Event()
    servers[0].paths["/v1/models"] = lambda body: MODELS if here.is_set() else (502, {})
    registry = Registry()
    registry.connect(RemoteProvider(*(parse_address(server.url) for server in servers)))
    try:
        wait_until(lambda: registry.status().state is ModelState.READY)
        provider = registry.provider()
        wait_until(lambda: provider.servers[0].problem is not None)
        assert registry.status().state is ModelState.READY
        assert provider.places == 2
        here.set()
        wait_until(lambda: provider.places == 4)
        assert [server.explain() for server in provider.servers] == [None, None]
    finally:
        registry.close()


def test_the_model_is_away_only_when_all_servers_are(servers, monkeypatch):
    monkeypatch.setattr("chat.llm.remote.health._CHECK_SECONDS", 0.1)
    registry = Registry()
    registry.connect(RemoteProvider(*(parse_address(server.url) for server in servers)))
    try:
        wait_until(lambda: registry.status().state is ModelState.READY and registry.provider().places == 4)
        provider = registry.provider()
        servers[0].paths["/v1/models"] = (502, {})
        wait_until(lambda: provider.servers[0].problem is not None)
        assert ask(provider) == "Hello there."
        assert registry.status().state is ModelState.READY
        servers[1].paths["/v1/models"] = (502, {})
        wait_until(lambda: registry.status().state is ModelState.AWAY)
    finally:
        registry.close()


def test_places_that_are_set_count_for_each_server(connected, servers):
    assert connected(*servers, use=ServerUse(places=7)).places == 14


def test_a_llama_server_gets_no_more_calls_than_it_has_slots(connected):
    paths = {
        "v1__models": {"data": [{"id": "m", "owned_by": "llamacpp"}]},
        "props": {"total_slots": 3, "default_generation_settings": {"n_ctx": 4096}},
        "v1__chat__completions": chat_endpoint("Hello."),
    }
    with run_fake_server(**paths) as server:
        assert connected(server).places == 3
        assert connected(server, use=ServerUse(places=9)).places == 3
        assert connected(server, use=ServerUse(places=2)).places == 2


def test_a_failing_server_rests_longer_each_time_and_at_most_a_minute(connected, servers, monkeypatch):
    server = connected(*servers).servers[0]
    now = [100.0]
    monkeypatch.setattr("chat.llm.remote.failure_rest.time.monotonic", lambda: now[0])
    rests = []
    for _ in range(8):
        server.note_failure()
        began = now[0]
        while not server.is_usable():
            now[0] += 1
        rests.append(now[0] - began)
    assert rests == [2, 4, 8, 16, 32, 60, 60, 60]


def test_calls_that_fail_at_the_same_moment_count_as_one_failure(connected, servers, monkeypatch):
    server = connected(*servers).servers[0]
    now = [100.0]
    monkeypatch.setattr("chat.llm.remote.failure_rest.time.monotonic", lambda: now[0])
    for _ in range(6):
        server.note_failure()
    now[0] += 2
    assert server.is_usable()
    server.note_failure()
    now[0] += 2
    assert not server.is_usable()
    now[0] += 2
    assert server.is_usable()


def test_a_pause_that_the_server_asks_for_is_kept_when_other_calls_fail_after_it(
    connected, servers, monkeypatch
):
    server = connected(*servers).servers[0]
    now = [100.0]
    monkeypatch.setattr("chat.llm.remote.failure_rest.time.monotonic", lambda: now[0])
    server.note_failure(seconds=20)
    server.note_failure()
    now[0] += 19
    assert not server.is_usable()


def test_a_server_that_is_connected_again_is_used_at_once_and_its_failures_are_forgotten(
    connected, servers, monkeypatch
):
    server = connected(*servers).servers[0]
    now = [100.0]
    monkeypatch.setattr("chat.llm.remote.failure_rest.time.monotonic", lambda: now[0])
    for _ in range(5):
        server.note_failure()
        now[0] += 60
    server.note_failure()
    assert not server.is_usable()
    server.connect()
    assert server.is_usable()
    server.note_failure()
    now[0] += 2
    assert server.is_usable()


def test_a_restarting_server_is_asked_every_two_seconds_in_the_first_minute_and_less_often_later():
    pauses, now = [1.0], 0.0
    while len(pauses) < 40:
        now += pauses[-1]
        pauses.append(find_next_pause(pauses[-1], now))
    first_minute = [pause for number, pause in enumerate(pauses) if sum(pauses[:number]) < 60]
    assert max(first_minute) == 2
    assert pauses[len(first_minute) :][:5] == [4, 8, 16, 30, 30]


def test_after_a_rolling_update_that_began_with_the_last_server_all_are_used_at_once(servers):
    registry = Registry()
    registry.connect(RemoteProvider(*(parse_address(server.url) for server in servers)))
    try:
        wait_until(lambda: registry.status().state is ModelState.READY and registry.provider().places == 4)
        first, last = registry.provider().servers
        servers[1].paths["/v1/models"] = {"data": [{"id": "new"}]}
        last.needs_reconnect.set()
        wait_until(lambda: is_other_model(last.problem))
        servers[0].paths["/v1/models"] = {"data": [{"id": "new"}]}
        first.needs_reconnect.set()
        wait_until(lambda: registry.provider().places == 4)
        assert registry.status().name == "new"
    finally:
        registry.close()


def test_a_server_with_another_model_is_asked_again_within_half_a_minute(servers, monkeypatch):
    monkeypatch.setattr("chat.llm.remote.health._LONGEST_PAUSE", 0.1)
    servers[1].paths["/v1/models"] = {"data": [{"id": "new"}]}
    registry = Registry()
    registry.connect(RemoteProvider(*(parse_address(server.url) for server in servers)))
    try:
        wait_until(lambda: registry.status().state is ModelState.READY)
        wait_until(lambda: is_other_model(registry.provider().servers[1].problem))
        servers[1].paths["/v1/models"] = MODELS
        wait_until(lambda: registry.provider().places == 4)
    finally:
        registry.close()
