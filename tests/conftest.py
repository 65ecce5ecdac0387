"""Fixtures for all tests: owners, clients, a scripted model, a frozen clock, a clean state per test."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.test import Client
from django.utils import timezone, translation
from hypothesis import settings as hypothesis_settings
from xdist.scheduler import LoadFileScheduling

from chat.actions.messages import finish_reply, send_message
from chat.actions.owners import ensure_owner, local_owner
from chat.errors import Reason
from chat.generation import run as generation
from chat.generation.hub import hub
from chat.llm import meter
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry
from chat.llm.scripted import ScriptedProvider
from chat.models import Conversation, Fact, Message
from chat.past_chats.vector_search import bit_cache
from tests.live_server import run_server
from tests.redis_server import RedisServer, RedisUnavailable, run_redis
from tests.search.postgresql import skip_without_server
from tests.servers import start_servers, stop_servers

ORIGIN = "http://testserver"

# A busy machine may take longer than the default of 200 ms for one example.
hypothesis_settings.register_profile("without-deadline", deadline=None)
hypothesis_settings.load_profile("without-deadline")


def pytest_configure(config: pytest.Config) -> None:
    """Start the servers that all test processes share, before these processes are started."""
    start_servers(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop these servers."""
    stop_servers(config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Begin with the files that take longest: those with a model, then those with slow tests.

    At the end one process would work on such a file while the others wait.
    """
    yield
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    model = {item.path for item in items if item.get_closest_marker("model")}
    items.sort(key=lambda item: (item.path not in model, item.path not in slow))


class ModelFilesTogether(LoadFileScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """Keeps the tests of a file in one process, and all files with a model in one: two engines at once slow
    each other down out of proportion.
    """

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        files = Path(__file__).parent.rglob("test_*.py")
        self.model_files = {
            file.relative_to(config.rootpath).as_posix()
            for file in files
            if "mark.model" in file.read_text(encoding="utf-8")
        }

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return "model" if file in self.model_files else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Distribute tests by `ModelFilesTogether` where `--dist=loadfile` is asked for."""
    return ModelFilesTogether(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Beside other test processes, give a test with a model one core, and so its engine one thread: two
    threads wait for each other at every step while another process uses the second core.
    """
    beside_others = "PYTEST_XDIST_WORKER" in os.environ and hasattr(os, "sched_setaffinity")
    if not beside_others or item.get_closest_marker("model") is None:
        return (yield)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        return (yield)
    finally:
        os.sched_setaffinity(0, cores)


@pytest.fixture(autouse=True)
def _reset_model_and_replies() -> Iterator[None]:
    """Remove the model and the embedder before each test. After it, stop its replies and empty the hub."""
    registry.set_status(ModelStatus(ModelState.MISSING, reason=Reason("no-model")))
    # The counts of attempts to log in.
    cache.clear()
    registry._embedder = None
    # The keys of another test's rows may be the same.
    bit_cache.clear()
    meter.background.take()
    yield
    generation.stop_all()
    hub.clear()


@pytest.fixture(autouse=True)
def _reset_language() -> Iterator[None]:
    """Deactivate the language at the end of each test: a request leaves its own active in the thread."""
    yield
    translation.deactivate()


@pytest.fixture(autouse=True)
def _leave_machine_alone(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for no model servers on the machine of the tests, and compile and fetch nothing."""
    settings.FIND_MODEL_SERVERS = False
    monkeypatch.setattr("chat.actions.provider.is_set_up", lambda: True)
    monkeypatch.setattr("chat.actions.provider._must_prepare", lambda: False)


@pytest.fixture
def scripted() -> ScriptedProvider:
    """The registered model: it replies with texts that the test queues, and records its prompts."""
    provider = ScriptedProvider()
    registry.use(provider, label="Scripted")
    return provider


@pytest.fixture
def gate(scripted: ScriptedProvider) -> Iterator[threading.Semaphore]:
    """Holds back every word of a reply; each release of the semaphore lets one word through."""
    scripted.gate = threading.Semaphore(0)
    yield scripted.gate
    scripted.gate.release(10_000)


@pytest.fixture
def address(transactional_db: None, scripted: ScriptedProvider) -> Iterator[str]:
    """The URL of a running server with the test's database and the scripted model."""
    with run_server() as url:
        yield url


@pytest.fixture(scope="session")
def redis() -> Iterator[RedisServer]:
    """A Redis server for all tests of this process; a test that kills it starts it again."""
    try:
        with run_redis() as server:
            yield server
    except RedisUnavailable as reason:
        skip_without_server(reason)


@pytest.fixture
def owner(db: None) -> Any:
    """The single owner in local mode."""
    return local_owner()


@pytest.fixture
def other(db: None) -> Any:
    """A second user without staff rights and without data."""
    user = ensure_owner("someone-else")
    user.is_staff = user.is_superuser = False
    user.save()
    return user


@pytest.fixture
def ours() -> Client:
    """A client that sends the Origin of the application's own pages, as a browser does in local mode."""
    return Client(headers={"origin": ORIGIN})


@pytest.fixture
def ours_htmx() -> Client:
    """A client that sends the application's own Origin and the header of htmx."""
    return Client(headers={"origin": ORIGIN, "hx-request": "true"})


@pytest.fixture
def server_mode(settings: Any) -> Any:
    """Switch to server mode: users log in. Returns the settings."""
    settings.MODE = "server"
    settings.SECURE_SSL_REDIRECT = False
    return settings


@pytest.fixture
def logged_in() -> Callable[[Any], Client]:
    """Return a function that creates a logged-in client that sends the application's own Origin."""

    def client_of(user: Any) -> Client:
        client = Client(headers={"origin": ORIGIN})
        client.force_login(user)
        return client

    return client_of


@pytest.fixture
def make_fact(owner: Any) -> Callable[..., Fact]:
    """Return a function that creates a fact of the owner without events."""

    def make(text: str, **fields: Any) -> Fact:
        defaults = {"owner": owner, "category": "preference", "kind": "likes", "confidence": 0.75}
        return Fact.objects.create(**{**defaults, "text": text, **fields})

    return make


@pytest.fixture
def talk(owner: Any) -> Callable[..., tuple[Message, Message]]:
    """Return a function that saves a message of the owner and an empty reply; it returns both.

    No thread generates the reply.
    """

    def say(text: str, conversation: Conversation | None = None) -> tuple[Message, Message]:
        return send_message(owner, text, conversation)

    return say


@pytest.fixture
def users() -> Any:
    """The user model's manager."""
    return get_user_model().objects


@pytest.fixture
def add_exchange(talk: Any) -> Callable[..., Conversation]:
    """Return a function that adds a message with a complete reply, by default to a new conversation."""

    def exchange(
        text: str, conversation: Conversation | None = None, *, answer: str = "All right."
    ) -> Conversation:
        asked, reply = talk(text, conversation)
        finish_reply(reply, answer, "complete")
        return Conversation.objects.get(pk=asked.conversation_id)

    return exchange


@pytest.fixture
def clock(time_machine: Any) -> Callable[[float], datetime]:
    """Freeze the wall clock; return a function that advances it by some seconds and returns the new time."""
    time_machine.move_to("2026-03-01 12:00+00:00", tick=False)

    def move_on(seconds: float) -> datetime:
        time_machine.shift(timedelta(seconds=seconds))
        return timezone.now()

    return move_on
