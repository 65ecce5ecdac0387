"""What many behaviours need: an owner, a scripted model, and a client that is our own page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone, translation

from chat.actions.messages import send_message
from chat.actions.owners import ensure_owner, local_owner
from chat.generation import run as generation
from chat.generation.hub import hub
from chat.llm import meter
from chat.llm.registry import registry
from chat.llm.scripted import ScriptedProvider
from chat.llm.state import ModelState, Status
from chat.models import Conversation, Fact, Message

ORIGIN = "http://testserver"


@pytest.fixture(autouse=True)
def _no_model_left_behind() -> Iterator[None]:
    """Each test begins and ends without a model and without a reply in the making."""
    registry._set(Status(ModelState.MISSING, sentence="No model is loaded in this process."))
    meter.background.take()
    yield
    generation.drain()
    hub.__init__()  # type: ignore[misc]


@pytest.fixture(autouse=True)
def _no_language_left_behind() -> Iterator[None]:
    """A request leaves its language active in the thread that made it."""
    yield
    translation.deactivate()


@pytest.fixture
def scripted() -> ScriptedProvider:
    """A model that says what the test wrote down, and remembers what it was asked."""
    provider = ScriptedProvider()
    registry.use(provider, label="Scripted")
    return provider


@pytest.fixture
def owner(db: None) -> Any:
    """This machine's one owner."""
    return local_owner()


@pytest.fixture
def other(db: None) -> Any:
    """Another person with an account, who owns none of the owner's things."""
    user = ensure_owner("someone-else")
    user.is_staff = user.is_superuser = False
    user.save()
    return user


@pytest.fixture
def ours() -> Client:
    """Our own page in local mode: every request carries its Origin."""
    return Client(headers={"origin": ORIGIN})


@pytest.fixture
def ours_htmx() -> Client:
    """Our own page asking through htmx."""
    return Client(headers={"origin": ORIGIN, "hx-request": "true"})


@pytest.fixture
def server_mode(settings: Any) -> Any:
    """A server with logins instead of one machine with one owner."""
    settings.MODE = "server"
    settings.SECURE_SSL_REDIRECT = False
    return settings


@pytest.fixture
def logged_in() -> Callable[[Any], Client]:
    """Returns a client that is logged in as the given user, speaking from our own page."""

    def client_of(user: Any) -> Client:
        client = Client(headers={"origin": ORIGIN})
        client.force_login(user)
        return client

    return client_of


@pytest.fixture
def make_fact(owner: Any) -> Callable[..., Fact]:
    """Returns a maker of facts that are simply there, without history."""

    def make(text: str, **fields: Any) -> Fact:
        defaults = {"owner": owner, "category": "preference", "kind": "likes", "confidence": 0.75}
        return Fact.objects.create(**{**defaults, "text": text, **fields})

    return make


@pytest.fixture
def talk(owner: Any) -> Callable[..., tuple[Message, Message]]:
    """Returns a sender of messages as the owner; the reply's row is made, nobody writes it yet."""

    def say(text: str, conversation: Conversation | None = None) -> tuple[Message, Message]:
        return send_message(owner, text, conversation)

    return say


@pytest.fixture
def users() -> Any:
    """The user model's manager."""
    return get_user_model().objects


@pytest.fixture
def clock(time_machine: Any) -> Callable[[float], datetime]:
    """A clock that stands still until the test moves it on by some seconds; returns what it shows then."""
    time_machine.move_to("2026-03-01 12:00+00:00", tick=False)

    def move_on(seconds: float) -> datetime:
        time_machine.shift(timedelta(seconds=seconds))
        return timezone.now()

    return move_on
