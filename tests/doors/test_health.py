"""`/live` and `/ready`: for health checks, which have no login and ask by an address."""

from __future__ import annotations

import logging
import threading

import pytest
from django.db import OperationalError
from django.test import Client

from chat.actions import readiness as checks
from chat.actions.readiness import NotReady, readiness
from chat.llm.model_status import ModelState
from chat.llm.registry import Registry
from chat.llm.remote.address import parse_address
from chat.llm.remote.provider import RemoteProvider
from chat.models import Installation
from tests.llm.remote.fake_server import run_fake_server
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh():
    readiness.forget()
    yield
    readiness.forget()
    readiness._reason = None


@pytest.fixture
def probe(server_mode):
    """A health check in a container: an address as the host, plain HTTP, no cookies."""
    server_mode.ALLOWED_HOSTS = ["chat.example.org"]
    server_mode.SECURE_SSL_REDIRECT = True
    return Client(headers={"host": "10.1.2.3:8000"})


@pytest.mark.parametrize("path", ["/live", "/ready"])
def test_a_health_check_needs_no_login_no_https_and_no_known_host(probe, path):
    answer = probe.get(path)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    assert not answer.cookies


def test_every_other_address_still_compares_the_host_and_requires_https(probe):
    for path in ("/login/", "/live/", "/ready/x"):
        assert probe.get(path).status_code == 400
        assert probe.get(path, headers={"host": "chat.example.org"}).status_code == 301


@pytest.mark.parametrize("path", ["/live", "/ready"])
def test_only_reading_is_answered(probe, path):
    assert probe.post(path).status_code == 405
    assert probe.head(path).content == b""


def test_live_needs_no_database(probe, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert probe.get("/live").json() == {"live": True}


def test_ready_says_the_state_of_the_model(probe, scripted):
    assert probe.get("/ready").json() == {"ready": True, "model": "ready"}


def test_a_missing_model_does_not_make_it_unready(probe):
    assert probe.get("/ready").json() == {"ready": True, "model": "missing"}


@pytest.fixture
def connecting(monkeypatch):
    """A process that begins to connect to a server which does not answer yet."""
    answers = threading.Event()
    with run_fake_server(v1__models=lambda body: answers.wait(10) and (401, {})) as server:
        started = Registry()
        monkeypatch.setattr(checks, "registry", started)
        started.connect(RemoteProvider(parse_address(server.url)))
        yield started
        answers.set()
        started.close()


def test_ready_is_503_while_the_model_is_connected_after_the_start(probe, connecting, monkeypatch):
    assert probe.get("/ready").status_code == 503
    monkeypatch.setattr(checks, "CONNECTING_SECONDS", 0.0)
    readiness.forget()
    assert probe.get("/ready").status_code == 200


def test_a_model_that_is_chosen_later_does_not_make_it_unready(probe, connecting):
    connecting._first_connect_monotonic -= 31
    connecting.connect(RemoteProvider(parse_address("http://127.0.0.1:9")))
    assert probe.get("/ready").status_code == 200


def test_a_server_that_does_not_answer_does_not_keep_it_unready(probe, connecting):
    connecting.connect(RemoteProvider(parse_address("http://127.0.0.1:9")))
    wait_until(lambda: connecting.status().state is ModelState.AWAY)
    assert probe.get("/ready").status_code == 200


def test_in_local_mode_a_model_that_is_connected_does_not_count(connecting):
    assert Client(headers={"host": "127.0.0.1:8000"}).get("/ready").status_code == 200


def test_ready_is_503_with_another_secret_key(probe):
    Installation.objects.update_or_create(pk=1, defaults={"key_fingerprint": "of another key"})
    answer = probe.get("/ready")
    assert (answer.status_code, answer.json()["ready"]) == (503, False)


def test_ready_is_503_where_migrations_are_missing(probe, monkeypatch):
    monkeypatch.setattr(checks.MigrationExecutor, "migration_plan", lambda *_: [("chat", "0999_later")])
    assert probe.get("/ready").status_code == 503


def test_why_it_is_not_ready_is_logged_once_and_told_to_nobody(probe, monkeypatch, caplog):
    def fail():
        raise NotReady("the secret detail")

    monkeypatch.setattr(checks, "CHECKS", [fail])
    monkeypatch.setattr(checks, "FRESH_SECONDS", 0.0)
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            answer = probe.get("/ready")
            assert answer.status_code == 503
            assert "detail" not in answer.text
    assert [record.getMessage() for record in caplog.records] == ["not ready: the secret detail"]


def test_a_database_that_fails_is_503_and_not_an_error(probe, monkeypatch):
    def fail():
        raise OperationalError("connection refused")

    monkeypatch.setattr(checks, "CHECKS", [fail])
    assert probe.get("/ready").status_code == 503


def test_many_requests_cost_one_check(probe, monkeypatch):
    counted = []
    monkeypatch.setattr(checks, "CHECKS", [lambda: counted.append(1)])
    for _ in range(5):
        probe.get("/ready")
    assert len(counted) == 1


@pytest.mark.parametrize("path", ["/live", "/ready"])
def test_local_mode_compares_the_host_and_refuses_proxies(path):
    assert Client(headers={"host": "127.0.0.1:8000"}).get(path).status_code == 200
    assert Client(headers={"host": "evil.example"}).get(path).status_code == 400
    assert (
        Client(headers={"host": "127.0.0.1:8000", "x-forwarded-for": "1.2.3.4"}).get(path).status_code == 403
    )
