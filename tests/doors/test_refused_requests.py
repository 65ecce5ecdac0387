"""A refused request is logged on one line: what came, and what is allowed; not more than a few a minute."""

from __future__ import annotations

import io
import logging
import logging.config

import pytest
from django.test import Client

from memoryapp.base import logs, refusals

pytestmark = pytest.mark.django_db
ALLOWED = "https://chat.example.org:8443"


@pytest.fixture
def log(server_mode):
    """The lines that the program's own logging writes."""
    # It configures the logging when it is loaded.
    import memoryapp.asgi  # noqa: F401

    server_mode.ALLOWED_HOSTS = ["chat.example.org", "testserver"]
    server_mode.ALLOWED_ORIGINS = server_mode.CSRF_TRUSTED_ORIGINS = [ALLOWED]
    stream = io.StringIO()
    config = logs.build_logging_config("", "WARNING", server_mode.ALLOWED_HOSTS)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
    bounded = refusals.BoundedRefusals(config["filters"]["refusals"]["allowed_hosts"])
    loggers = [logging.getLogger(name) for name in refusals.LOGGER_NAMES]
    for one in loggers:
        kept = list(one.filters)
        one.filters[:] = [bounded]
        one.kept = kept  # type: ignore[attr-defined]
    logging.getLogger().addHandler(handler)
    yield lambda: stream.getvalue().splitlines()
    logging.getLogger().removeHandler(handler)
    for one in loggers:
        one.filters[:] = one.kept  # type: ignore[attr-defined]


def test_a_page_of_an_allowed_origin_may_send(log, owner):
    client = Client(headers={"origin": ALLOWED})
    client.force_login(owner)
    assert client.post("/memory/add/", {"text": "I love hiking"}).status_code == 302
    assert log() == []


@pytest.mark.parametrize("origin", ["https://chat.example.org", "https://chat.example.org:8444", None])
def test_another_origin_is_refused_and_the_line_says_which_are_allowed(log, origin):
    headers = {} if origin is None else {"origin": origin}
    assert Client(headers=headers).post("/memory/add/").status_code == 403
    (line,) = log()
    came = "missing" if origin is None else repr(origin)
    assert line == f"memoryapp.refusals refused: its Origin is {came}; allowed: http://testserver, {ALLOWED}"


def test_a_page_of_another_origin_that_calls_the_api_is_logged_too(log):
    assert Client(headers={"origin": "https://evil.example"}).get("/api/facts").status_code == 403
    assert "its Origin is 'https://evil.example'" in log()[0]


def test_an_unknown_host_is_one_line_with_the_allowed_ones(log):
    assert Client(headers={"host": "10.0.0.3:8000"}).get("/login/").status_code == 400
    (line,) = log()
    assert "10.0.0.3:8000" in line
    assert line.endswith("Allowed: chat.example.org, testserver")


def test_a_missing_csrf_token_is_one_line(log):
    visitor = Client(enforce_csrf_checks=True, headers={"origin": ALLOWED})
    assert visitor.post("/login/").status_code == 403
    (line,) = log()
    assert "CSRF cookie not set" in line


@pytest.mark.parametrize("text", ["https://a\r\nforged line", "https://\x1b[31mred", "https://" + "x" * 5000])
def test_what_a_stranger_sends_cannot_write_lines_or_fill_the_log(log, text):
    refusals.log_refused("its Origin", text, [])
    (line,) = log()
    assert line.isprintable()
    assert len(line) < 400


def test_not_more_than_a_few_lines_a_minute(log, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(refusals.time, "monotonic", lambda: now[0])
    for _ in range(refusals.MOST_LINES + 30):
        refusals.log_refused("its Origin", "https://evil.example", [])
    assert len(log()) == refusals.MOST_LINES
    now[0] += refusals.MINUTE
    refusals.log_refused("its Origin", "https://evil.example", [])
    assert "(30 lines about refused requests were left out)" in log()[-1]


@pytest.mark.asyncio
@pytest.mark.django_db(transaction=True)
async def test_a_refused_socket_is_logged(log, socket):
    assert await socket(origin="https://evil.example").connect() == 4403
    assert await socket(host="10.0.0.3").connect() == 4403
    lines = log()
    assert "its Origin is 'https://evil.example'" in lines[0]
    assert "the Host of a socket is '10.0.0.3'; allowed: chat.example.org, testserver" in lines[1]


@pytest.mark.asyncio
@pytest.mark.django_db(transaction=True)
async def test_a_socket_of_an_allowed_origin_is_not_refused(log, socket):
    # 4401: nobody is logged in.
    assert await socket(host="chat.example.org", origin=ALLOWED).connect() == 4401
