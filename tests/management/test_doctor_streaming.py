"""`manage.py doctor` finds a proxy that holds streamed replies back."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from chat.actions.api_tokens import create_token
from chat.api.openai import event_stream
from chat.management.health import streaming
from chat.management.health.streaming import check_streaming, judge_arrivals
from tests.llm.remote.fake_server import run_fake_server
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db
HELLO = {"messages": [{"role": "user", "content": "Hello"}], "stream": True}
GZIP = "proxy_http_version 1.1; gzip on; gzip_types *; gzip_proxied any; gzip_min_length 0;"
# What differs between two responses, and matters to no buffer: a reply to a token reads no session cookie.
OF_ONE_RESPONSE = {"date", "vary", "x-memoryapp-conversation"}


@pytest.fixture(scope="module")
def nginx_program() -> str:
    found = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin:/opt/homebrew/bin")
    if found is None:
        pytest.skip("nginx is not installed")
    return found


@pytest.fixture
def start_nginx(nginx_program: str, address: str, tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Return a function that starts nginx with further lines in its location, and returns its URL."""
    running: list[subprocess.Popen[bytes]] = []

    def start(lines: str) -> str:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        folders = "".join(
            f"{name}_temp_path {tmp_path}/{name};\n"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (tmp_path / "nginx.conf").write_text(
            f"daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/log;\n"
            f"events {{}}\nhttp {{ access_log off; {folders}\n"
            f"server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass {address};\n{lines}\n}} }} }}\n"
        )
        command = [nginx_program, "-p", str(tmp_path), "-e", str(tmp_path / "log"), "-c", "nginx.conf"]
        running.append(subprocess.Popen(command))
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: answers(url), 20)
        return url

    yield start
    for one in running:
        one.terminate()
        one.wait(10)


def answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/live").status_code < 500
    except httpx2.HTTPError:
        return False


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ("", "ok"),
        ("proxy_buffering off; proxy_ignore_headers X-Accel-Buffering;", "ok"),
        ("proxy_ignore_headers X-Accel-Buffering;", "broken"),
        # nginx passes on the chunks of HTTP/1.1 as they come, also where it buffers.
        ("proxy_http_version 1.1; proxy_ignore_headers X-Accel-Buffering;", "ok"),
        (GZIP, "ok"),
        (f"proxy_ignore_headers X-Accel-Buffering; {GZIP}", "broken"),
        (f"proxy_buffering off; proxy_ignore_headers X-Accel-Buffering; {GZIP}", "ok"),
    ],
)
def test_nginx_is_judged_by_whether_it_passes_each_line_on(start_nginx, server_mode, lines, state):
    finding = check_streaming(start_nginx(lines))
    assert finding.state.value == state, finding.text
    assert ("proxy_buffering off" in finding.text) == (state == "broken")


def test_without_a_proxy_the_lines_come_one_by_one(address, server_mode):
    assert check_streaming(address).state.value == "ok"


def test_the_check_has_the_headers_of_a_streamed_reply(address, server_mode, owner):
    token = {"Authorization": f"Bearer {create_token(owner, 'program')}"}
    reply = read_headers("POST", f"{address}/v1/chat/completions", json=HELLO, headers=token)
    check = read_headers("GET", f"{address}/v1/stream-check")
    assert check["content-type"].startswith("text/event-stream")
    assert check == reply


def read_headers(method: str, address: str, **more: Any) -> dict[str, str]:
    with httpx2.stream(method, address, **more) as answer:
        assert answer.status_code == 200
        answer.read()
        return {name: value for name, value in answer.headers.items() if name not in OF_ONE_RESPONSE}


def test_lines_that_arrive_late_once_are_asked_for_again(server_mode, monkeypatch, address):
    clock = iter([0.0] * event_stream.CHECK_LINES + [0.0, 0.25, 0.5, 0.75, 1.0])
    monkeypatch.setattr(streaming, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert check_streaming(address).state.value == "ok"


def test_a_stream_that_is_cut_off_is_told():
    finding = judge_arrivals([0.0, 0.25])
    assert (finding.state.value, finding.text[:6]) == ("broken", "2 of 5")


def test_an_address_that_answers_something_else_is_not_judged(server_mode):
    with run_fake_server() as other:
        finding = check_streaming(other.url.removesuffix("/v1"))
    assert (finding.state.value, "answers 404" in finding.text) == ("note", True)


def test_only_a_few_are_sent_at_a_time_and_a_client_that_leaves_makes_room(address, server_mode, monkeypatch):
    monkeypatch.setattr(event_stream, "CHECK_PAUSE_SECONDS", 30.0)
    url = f"{address}/v1/stream-check"
    clients = [httpx2.Client() for _ in range(event_stream.MAX_CHECKS)]
    for client in clients:
        client.send(client.build_request("GET", url), stream=True)
    wait_until(lambda: event_stream.stream_check._running == event_stream.MAX_CHECKS)
    assert httpx2.get(url).text == event_stream.BUSY_LINE
    finding = check_streaming(address)
    assert (finding.state.value, "too many" in finding.text) == ("note", True)
    for client in clients:
        client.close()
    wait_until(lambda: event_stream.stream_check._running == 0)


def test_it_holds_no_thread_and_asks_no_database(address, server_mode, monkeypatch):
    from memoryapp import shared_threads

    monkeypatch.setattr(event_stream, "CHECK_PAUSE_SECONDS", 30.0)
    with httpx2.stream("GET", f"{address}/v1/stream-check") as answer:
        assert next(answer.iter_lines()) == "data: 1"
        wait_until(lambda: shared_threads._reading.calls == 0)
        began = time.monotonic()
        assert httpx2.get(f"{address}/live").status_code == 200
        assert time.monotonic() - began < 10
    wait_until(lambda: event_stream.stream_check._running == 0)


def test_local_mode_has_no_such_address_and_only_get_is_answered(client, server_mode):
    assert client.post("/v1/stream-check").status_code in (403, 405)
    server_mode.MODE = "local"
    assert client.get("/v1/stream-check").status_code == 404
