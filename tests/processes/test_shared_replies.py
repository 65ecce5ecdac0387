"""Two servers with one Redis: a page at one of them shows and stops what the other writes."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx2
import pytest
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from tests.search.postgresql import PostgresqlUnavailable, skip_without_server

from .cluster import SLOWLY, Cluster, Server, run_cluster, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sharing(redis: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    try:
        with run_cluster(tmp_path_factory.mktemp("shared")) as cluster:
            cluster.variables["REDIS_URL"] = redis.url
            made = cluster.add_machine("first", JOBS="off"), cluster.add_machine("second", JOBS="off")
            made[0].processes.run("migrate", "-v0")
            cluster.create_user(made[0])
            cluster.choose_model(made[0], "m")
            yield cluster, *made
    except PostgresqlUnavailable as reason:
        skip_without_server(reason)


@pytest.fixture
def servers(sharing: Any, redis: Any) -> Iterator[tuple[Cluster, Server, Server]]:
    cluster, first, second = sharing
    yield cluster, first.serve(), second.serve()
    cluster.kill_all()
    redis.kill()
    redis.start()


class Page:
    """A page's socket; it keeps the reply's blocks as the browser does."""

    def __init__(self, socket: Any) -> None:
        self.socket, self.blocks, self.seq = socket, list[str](), -1
        self.types: list[str] = []
        self.events: list[dict[str, Any]] = []

    @property
    def text(self) -> str:
        return re.sub("<[^>]+>", "", "".join(self.blocks))

    def read(self, until: Callable[[Page], object], seconds: float = 20.0) -> None:
        """Read frames until the condition holds."""
        deadline = time.monotonic() + seconds
        while not until(self):
            left = deadline - time.monotonic()
            assert left > 0, (self.types[-20:], self.text[-80:])
            with suppress(TimeoutError):
                self._apply(json.loads(self.socket.recv(timeout=min(left, 0.2))))

    def send(self, **frame: Any) -> None:
        self.socket.send(json.dumps(frame))

    def _apply(self, frame: dict[str, Any]) -> None:
        self.types.append(frame["type"])
        self.events.append(frame)
        if frame["type"] == "snapshot":
            self.blocks, self.seq = frame["blocks"], frame["seq"]
        elif frame["type"] == "blocks":
            assert frame["seq"] == self.seq + 1
            old = self.blocks[frame["from"]][: frame["keep"]] if frame["from"] < len(self.blocks) else ""
            self.blocks[frame["from"] :] = [old + frame["html"][0], *frame["html"][1:]]
            self.seq = frame["seq"]


@contextmanager
def open_page(server: Server, conversation: str) -> Iterator[Page]:
    address = f"{server.base.replace('http', 'ws')}/ws/?conversation={conversation}"
    headers = {"Authorization": f"Bearer {server.token}"}
    with suppress(WebSocketException), connect(address, additional_headers=headers) as socket:
        yield Page(socket)


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"number (\d+),", text)]


def test_a_page_at_another_server_shows_the_reply_without_a_gap_and_stops_it(servers, redis):
    cluster, a, b = servers
    conversation, reply = a.begin_reply()
    with open_page(b, conversation) as page:
        page.read(lambda page: "number 8," in page.text)
        assert page.types[0] == "snapshot"
        assert numbers(page.text) == list(range(len(numbers(page.text))))
        assert redis.find_text("number 3")
        page.send(type="hello", reply=reply)
        page.read(lambda page: page.types.count("snapshot") == 2)
        assert "done" not in page.types
        page.send(type="stop", reply=reply)
        page.read(lambda page: "done" in page.types, seconds=5)
    state, failure, text = cluster.read_reply(reply)
    assert (state, failure) == ("stopped", "stopped-by-user")
    assert numbers(text) == list(range(len(numbers(text))))
    wait_for(lambda: not redis.find_text("number"), seconds=5)


def test_a_page_that_was_open_before_sees_the_next_reply_begin_and_end(servers):
    _cluster, a, b = servers
    conversation = a.ask("POST", "conversations", {})["id"]
    with open_page(b, conversation) as page:
        sent = a.ask("POST", f"conversations/{conversation}/messages?wait=10", {"content": "Hello."})
        page.read(lambda page: "done" in page.types, seconds=5)
        assert {"type": "done", "reply": sent["reply"]["id"]} in page.events
        # Words that have not been sent to Redis when the reply ends never are: at "done" a page loads the
        # final text from the database.
        assert "Well then.".startswith(page.text.strip())
        final = b.ask("GET", f"messages/{sent['reply']['id']}")
        assert final["content"] == "Well then."


def test_requests_at_another_server_stop_a_reply_and_wait_for_its_end(servers):
    cluster, a, b = servers
    conversation, reply = a.begin_reply()
    wait_for(lambda: cluster.read_reply(reply)[2])
    began = time.monotonic()
    b.ask("POST", f"messages/{reply}/stop")
    assert time.monotonic() - began < 4
    assert cluster.read_reply(reply)[:2] == ("stopped", "stopped-by-user")
    page = b.page.get(f"/c/{conversation}/")
    assert "number 0," in page.text


def test_a_page_drawn_at_another_server_has_the_text_so_far(servers):
    _cluster, a, b = servers
    conversation, _reply = a.begin_reply()
    with open_page(a, conversation) as page:
        page.read(lambda page: "number 5," in page.text)
    assert "number 5," in b.page.get(f"/c/{conversation}/").text


def test_replies_and_pages_survive_a_restart_of_redis(servers, redis):
    cluster, a, b = servers
    conversation, reply = a.begin_reply()
    with open_page(a, conversation) as near, open_page(b, conversation) as far:
        far.read(lambda page: "number 3," in page.text)
        redis.kill()
        near.read(lambda page: "number 25," in page.text)
        assert b.page.get(f"/c/{conversation}/").status_code == 200
        redis.start()
        back = time.monotonic()
        far.read(lambda page: "number 30," in page.text, seconds=10)
        assert time.monotonic() - back < 10
        assert numbers(far.text) == list(range(len(numbers(far.text))))
        far.send(type="stop", reply=reply)
        far.read(lambda page: "done" in page.types, seconds=5)
    assert cluster.read_reply(reply)[0] == "stopped"


def test_a_page_learns_the_end_of_a_reply_that_began_while_redis_was_away(servers, redis):
    cluster, a, b = servers
    conversation, first = a.begin_reply()
    a.ask("POST", f"messages/{first}/stop")
    with open_page(b, conversation) as page:
        time.sleep(1)
        redis.kill()
        sent = a.ask("POST", f"conversations/{conversation}/messages?wait=0", {"content": SLOWLY})
        reply = sent["reply"]["id"]
        page.send(type="resync", reply=reply)
        time.sleep(2)
        assert {"type": "done", "reply": reply} not in page.events
        a.ask("POST", f"messages/{reply}/stop")
        page.read(lambda page: {"type": "done", "reply": reply} in page.events, seconds=10)
        redis.start()
    assert cluster.read_reply(reply)[0] == "stopped"


def test_a_redis_that_refuses_writes_holds_nothing_up_and_pages_follow_again_afterwards(servers, redis):
    _cluster, a, b = servers
    conversation, reply = a.begin_reply()
    with open_page(b, conversation) as page, redis.connect() as client:
        page.read(lambda page: "number 3," in page.text)
        client.config_set("maxmemory", 1)
        time.sleep(2)
        commands = client.info("stats")["total_commands_processed"]
        time.sleep(1)
        assert client.info("stats")["total_commands_processed"] - commands < 200
        client.config_set("maxmemory", 0)
        seen = len(numbers(page.text))
        page.read(lambda page: len(numbers(page.text)) > seen + 10, seconds=10)
        assert numbers(page.text) == list(range(len(numbers(page.text))))
        page.send(type="stop", reply=reply)
        page.read(lambda page: {"type": "done", "reply": reply} in page.events, seconds=5)


def test_without_redis_a_reply_can_be_stopped_at_another_server_and_nothing_hangs(servers, redis):
    cluster, a, b = servers
    conversation, reply = a.begin_reply()
    with open_page(b, conversation) as page:
        page.read(lambda page: "number 3," in page.text)
        redis.signal(signal.SIGSTOP)
        try:
            for path in (f"/c/{conversation}/", "/", "/settings/"):
                began = time.monotonic()
                assert b.page.get(path).status_code == 200
                assert time.monotonic() - began < 4
            page.send(type="stop", reply=reply)
            page.read(lambda page: "done" in page.types, seconds=10)
        finally:
            redis.signal(signal.SIGCONT)
    assert cluster.read_reply(reply)[:2] == ("stopped", "stopped-by-user")


def test_the_page_of_a_reply_whose_server_was_killed_gets_its_end(servers, redis):
    cluster, a, b = servers
    conversation, reply = a.begin_reply()
    with open_page(b, conversation) as page:
        page.read(lambda page: "number 12," in page.text)
        a.process.kill()
        page.read(lambda page: "done" in page.types, seconds=10)
    state, _failure, text = cluster.read_reply(reply)
    assert state == "stopped"
    assert text.startswith("number 0, ")
    wait_for(lambda: not redis.find_text("number"), seconds=20)


def test_the_text_leaves_redis_with_its_chat(servers, redis):
    cluster, a, b = servers
    conversation, reply = a.begin_reply()
    wait_for(lambda: redis.find_text("number 2"))
    assert b.page.post(f"/c/{conversation}/delete/").status_code in (200, 302)
    wait_for(lambda: not redis.find_text("number"), seconds=5)
    assert cluster.read_reply(reply)[0] == "stopped"


def test_an_event_of_one_server_reaches_the_pages_of_another_at_once(servers):
    _cluster, a, b = servers
    conversation = a.ask("POST", "conversations", {})["id"]
    with open_page(b, conversation) as page:
        a.ask("PATCH", f"conversations/{conversation}", {"title": "Renamed"})
        page.read(lambda page: [t for t in page.types if t not in ("snapshot", "model")], seconds=3)


def test_a_repeated_request_at_another_server_follows_the_reply_of_the_first(servers):
    cluster, a, b = servers
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": SLOWLY}]}
    headers = {"Authorization": f"Bearer {a.token}", "Idempotency-Key": "one"}

    def follow(server: Server, until: str) -> str:
        text = ""
        with httpx2.stream(
            "POST", f"{server.base}/v1/chat/completions", json=body, headers=headers, timeout=20
        ) as answer:
            assert answer.status_code == 200
            for line in answer.iter_lines():
                if line.startswith("data: {"):
                    text += json.loads(line[6:])["choices"][0]["delta"].get("content", "")
                if until in text:
                    return text
        return text

    follow(a, "number 5,")
    text = follow(b, "number 60,")
    assert numbers(text) == list(range(len(numbers(text))))
    (row,) = cluster.rows(
        "SELECT count(*), max(state) FROM chat_message WHERE content LIKE 'number 0, %60, %'"
    )
    assert row == (1, "streaming")
