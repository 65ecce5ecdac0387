"""Server mode: everybody sees their own things, a stranger nothing, at every address and at the socket."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.urls import URLPattern, URLResolver, reverse
from django.utils import timezone

from chat.actions import deletions
from chat.actions.facts import add_fact
from chat.actions.importing import uploads
from chat.actions.messages import finish_reply, send_message
from chat.actions.tokens import create_token
from chat.actions.topics import assign
from chat.models import ApiToken, App, AppMemory, Conversation, Fact, Message, PromptReport, Topic
from memoryapp.urls import urlpatterns

ORIGIN = "http://testserver"


@dataclass
class Things:
    """What one person owns, one of each kind."""

    conversation: Conversation
    asked: Message
    reply: Message
    fact: Fact
    deletion: Any
    put_away: Fact
    topic: Topic
    app: App
    told: AppMemory
    upload: Any
    token: ApiToken

    @classmethod
    def of(cls, user: Any, mark: str) -> Things:
        """Make one of each, recognisable by a mark in its text."""
        asked, reply = send_message(user, f"Message {mark}")
        topic = assign(asked, None, "")
        finish_reply(reply, f"Reply {mark}", "complete")
        PromptReport.objects.create(reply=reply, window=2048)
        gone = add_fact(user, f"Forgotten {mark}")
        fact = add_fact(user, f"Fact {mark}")
        away = add_fact(user, f"Faded {mark}")
        Fact.objects.filter(pk=away.pk).update(archived_at=timezone.now())
        app = App.objects.create(owner=user, slug=f"app-{user.pk}", name=f"App {mark}")
        told = AppMemory.objects.create(owner=user, app=app, content=f"Told {mark}")
        deletion = deletions.forget(user, [gone.pk])
        sent = json.dumps([{"id": mark, "memory": f"Sent {mark}"}]).encode()
        upload = uploads.keep(user, [sent], len(sent))
        create_token(user, f"Token {mark}")
        token = ApiToken.objects.get(owner=user, name=f"Token {mark}")
        return cls(asked.conversation, asked, reply, fact, deletion, away, topic, app, told, upload, token)


Address = Callable[[Things], str]

# Every address that takes an object: method, address, what is posted.
OF_AN_OBJECT: dict[str, list[tuple[str, Address, dict[str, str]]]] = {
    "conversation": [("GET", lambda t: reverse("conversation", args=[t.conversation.pk]), {})],
    "messages_after": [("GET", lambda t: reverse("messages_after", args=[t.conversation.pk, 0]), {})],
    "message": [("GET", lambda t: reverse("message", args=[t.reply.pk]), {})],
    "stop": [("POST", lambda t: reverse("stop", args=[t.reply.pk]), {})],
    "retry": [("POST", lambda t: reverse("retry", args=[t.reply.pk]), {})],
    "message_flag": [("POST", lambda t: reverse("message_flag", args=[t.reply.pk]), {"flagged": "1"})],
    "message_edit": [
        ("GET", lambda t: reverse("message_edit", args=[t.asked.pk]), {}),
        ("POST", lambda t: reverse("message_edit", args=[t.asked.pk]), {"text": "In other words"}),
    ],
    "report": [("GET", lambda t: reverse("report", args=[t.reply.pk]), {})],
    "strategy": [("POST", lambda t: reverse("strategy", args=[t.conversation.pk]), {"strategy": "simple"})],
    "used": [("GET", lambda t: reverse("used", args=[t.reply.pk]), {})],
    "undo": [("POST", lambda t: reverse("undo", args=[t.deletion.pk]), {})],
    "fact": [("GET", lambda t: reverse("fact", args=[t.fact.pk]), {})],
    "fact_edit": [
        ("GET", lambda t: reverse("fact_edit", args=[t.fact.pk]), {}),
        ("POST", lambda t: reverse("fact_edit", args=[t.fact.pk]), {"text": "Something else"}),
    ],
    "fact_pin": [("POST", lambda t: reverse("fact_pin", args=[t.fact.pk]), {})],
    "highlight": [("POST", lambda t: reverse("highlight"), {"message": "{reply}", "text": "Reply of the"})],
    "fact_batch": [("POST", lambda t: reverse("fact_batch"), {"do": "delete", "fact": "{fact}"})],
    "fact_delete": [("POST", lambda t: reverse("fact_delete", args=[t.fact.pk]), {})],
    "flush": [("POST", lambda t: reverse("flush", args=[t.conversation.pk]), {})],
    "room": [("GET", lambda t: reverse("room", args=[t.conversation.pk]), {})],
    "rename": [
        ("GET", lambda t: reverse("rename", args=[t.conversation.pk]), {}),
        ("POST", lambda t: reverse("rename", args=[t.conversation.pk]), {"title": "Renamed"}),
    ],
    "room_pin": [("POST", lambda t: reverse("room_pin", args=[t.conversation.pk]), {})],
    "delete": [("POST", lambda t: reverse("delete", args=[t.conversation.pk]), {"memories": "1"})],
    "move": [("POST", lambda t: reverse("move", args=[t.conversation.pk]), {"app": "{app}"})],
    "care": [("GET", lambda t: reverse("care", args=[t.conversation.pk]), {})],
    "end": [("POST", lambda t: reverse("end", args=[t.conversation.pk]), {})],
    "memory_mode": [("POST", lambda t: reverse("memory_mode", args=[t.conversation.pk]), {"mode": "off"})],
    "topics": [("GET", lambda t: reverse("topics", args=[t.conversation.pk]), {})],
    "topic_importance": [
        ("POST", lambda t: reverse("topic_importance", args=[t.topic.pk]), {"importance": "0.25"})
    ],
    "origin": [("GET", lambda t: reverse("origin", args=[t.fact.pk]), {})],
    "restore": [("POST", lambda t: reverse("restore", args=[t.fact.pk, t.fact.events.first().pk]), {})],
    "bring_back": [("POST", lambda t: reverse("bring_back", args=[t.put_away.pk]), {})],
    "app": [
        ("GET", lambda t: reverse("app", args=[t.app.pk]), {}),
        ("POST", lambda t: reverse("app", args=[t.app.pk]), {"persona": "You are somebody else."}),
    ],
    "app_archive": [("POST", lambda t: reverse("app_archive", args=[t.app.pk]), {"purge": "1"})],
    "app_back": [("POST", lambda t: reverse("app_back", args=[t.app.pk]), {})],
    "app_clear": [("POST", lambda t: reverse("app_clear", args=[t.app.pk]), {})],
    "app_memory": [("GET", lambda t: reverse("app_memory", args=[t.told.pk]), {})],
    "app_memory_edit": [
        ("GET", lambda t: reverse("app_memory_edit", args=[t.told.pk]), {}),
        ("POST", lambda t: reverse("app_memory_edit", args=[t.told.pk]), {"text": "Something else"}),
    ],
    "app_memory_delete": [("POST", lambda t: reverse("app_memory_delete", args=[t.told.pk]), {})],
    "import": [
        ("GET", lambda t: reverse("import", args=[t.upload]), {}),
        ("POST", lambda t: reverse("import", args=[t.upload]), {"do": "import"}),
        ("POST", lambda t: reverse("import", args=[t.upload]), {"do": "cancel"}),
    ],
    "token_revoke": [("POST", lambda t: reverse("token_revoke", args=[t.token.pk]), {})],
    "send": [
        ("POST", lambda t: reverse("send"), {"text": "Hello", "conversation": "{conversation}"}),
        ("POST", lambda t: reverse("send"), {"text": "Hello", "app": "{app}"}),
    ],
}
# Addresses that show or make only what belongs to whoever asks.
OF_WHOEVER_ASKS = {"home", "memory", "memory_pill", "memory_health", "memory_graph", "archive", "clear"}
OF_WHOEVER_ASKS |= {
    "export",
    "upload",
    "token_create",
    "fact_add",
    "settings",
    "erase",
    "model",
    "search",
    "statistics",
    "energy",
    "apps",
}
# These say nothing by a plain GET of what they hold.
SILENT = {
    "token_create",
    "fact_add",
    "erase",
    "model",
    "search",
    "memory_health",
    "memory_graph",
    "archive",
    "clear",
}
SILENT |= {"statistics", "energy", "export", "upload"}
# Addresses with a door of their own.
OTHERWISE_GUARDED = {"openai", "login", "logout", "admin", "metrics", "rest"}
# The owner of the machine alone, and no object of anybody: test_choosing_a_server.
OTHERWISE_GUARDED |= {"provider"}

CASES = [
    pytest.param(method, address, data, htmx, id=f"{name}-{method}{'-htmx' if htmx else ''}")
    for name, ways in OF_AN_OBJECT.items()
    for method, address, data in ways
    for htmx in (False, True)
]
every_address = pytest.mark.parametrize(("method", "address", "data", "htmx"), CASES)


@pytest.fixture
def things(server_mode, owner, scripted):
    """What the owner owns."""
    return Things.of(owner, "of the owner")


def ask(client: Client, method: str, address: Address, data: dict[str, str], htmx: bool, things: Things):
    keys = {
        "conversation": things.conversation.pk,
        "app": things.app.pk,
        "fact": things.fact.pk,
        "reply": things.reply.pk,
    }
    filled = {k: v.format(**keys) for k, v in data.items()}
    headers = {"origin": ORIGIN, **({"hx-request": "true"} if htmx else {})}
    if method == "GET":
        return client.get(address(things), headers=headers)
    return client.post(address(things), filled, headers=headers)


def state() -> list[Any]:
    """Return all that a request could have changed."""
    return [
        list(Message.objects.order_by("pk").values()),
        list(Fact.objects.order_by("pk").values()),
        list(Conversation.objects.order_by("pk").values()),
        list(Topic.objects.order_by("pk").values()),
        list(App.objects.order_by("pk").values()),
        list(AppMemory.objects.order_by("pk").values()),
        list(ApiToken.objects.order_by("pk").values("name", "revoked_at")),
    ]


@pytest.mark.django_db(transaction=True)
@every_address
def test_the_owner_is_let_in(things, owner, logged_in, method, address, data, htmx):
    answer = ask(logged_in(owner), method, address, data, htmx, things)
    assert answer.status_code in (200, 204, 302)
    assert "/login/" not in answer.headers.get("Location", "")


@pytest.mark.django_db
@every_address
def test_for_another_user_it_does_not_exist_and_nothing_changes(
    things, other, logged_in, method, address, data, htmx
):
    before = state()
    answer = ask(logged_in(other), method, address, data, htmx, things)
    assert answer.status_code == 404
    assert "of the owner" not in answer.content.decode()
    assert state() == before


@pytest.mark.django_db
@every_address
def test_a_stranger_is_sent_to_the_login_and_nothing_changes(things, method, address, data, htmx):
    before = state()
    answer = ask(Client(), method, address, data, htmx, things)
    assert answer.status_code == (200 if htmx else 302)
    assert answer.url.startswith("/login/?next=")
    assert ("HX-Redirect" in answer.headers) == htmx
    assert "of the owner" not in answer.content.decode()
    assert state() == before


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(OF_WHOEVER_ASKS - SILENT))
def test_pages_show_only_what_belongs_to_whoever_asks(things, owner, other, logged_in, name):
    Things.of(other, "of somebody else")
    page = logged_in(other).get(reverse(name)).content.decode()
    assert "of the owner" not in page
    mine = logged_in(owner).get(reverse(name)).content.decode()
    assert "of somebody else" not in mine
    if name != "memory_pill":
        assert "of the owner" in mine


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(OF_WHOEVER_ASKS))
def test_a_stranger_sees_no_page_but_the_login(things, name):
    answer = Client().get(reverse(name))
    assert answer.status_code == 302
    assert answer.url.startswith("/login/")


@pytest.mark.django_db
def test_what_a_user_adds_is_theirs(things, owner, other, logged_in):
    logged_in(other).post(reverse("fact_add"), {"text": "I am somebody else"}, headers={"origin": ORIGIN})
    assert Fact.objects.for_owner(other).get().text == "I am somebody else"


@pytest.mark.django_db
def test_the_admin_site_is_closed_to_users_who_are_not_staff(server_mode, other, logged_in):
    assert logged_in(other).get("/admin/chat/fact/").status_code == 302


@pytest.mark.django_db
def test_where_the_files_lie_is_shown_to_staff_alone(server_mode, other, logged_in, settings):
    client = logged_in(other)
    assert str(settings.DATA_DIR) not in client.get("/").content.decode()
    other.is_staff = True
    other.save()
    assert str(settings.DATA_DIR) in client.get("/").content.decode()


@pytest.mark.django_db
def test_logging_in_and_out_works_in_server_mode(server_mode, other):
    other.set_password("correct horse battery")
    other.save()
    client = Client(headers={"origin": ORIGIN})
    answer = client.post("/login/", {"username": other.username, "password": "correct horse battery"})
    assert answer.status_code == 302
    assert client.get("/memory/").status_code == 200
    assert client.post("/logout/").status_code == 302
    assert client.get("/memory/").status_code == 302


def names(patterns: list[URLPattern | URLResolver]) -> set[str]:
    return {p.name or "" if isinstance(p, URLPattern) else str(p.app_name) for p in patterns}


def test_every_address_is_in_one_of_the_tables():
    assert names(urlpatterns) == OF_AN_OBJECT.keys() | OF_WHOEVER_ASKS | OTHERWISE_GUARDED


def test_every_address_that_takes_an_object_is_tested_with_one():
    taking = {p.name for p in urlpatterns if isinstance(p, URLPattern) and p.pattern.converters}
    assert taking <= OF_AN_OBJECT.keys()


@pytest.mark.asyncio
@pytest.mark.django_db(transaction=True)
class TestSocket:
    """The same at the socket."""

    async def test_the_owner_may_listen(self, socket, things, owner, logged_in):
        client = await sync_to_async(logged_in)(owner)
        page = socket(things.conversation.pk, session=client.cookies["sessionid"].value)
        assert await page.opened() is True

    async def test_for_another_user_there_is_no_such_conversation(self, socket, things, other, logged_in):
        client = await sync_to_async(logged_in)(other)
        page = socket(things.conversation.pk, session=client.cookies["sessionid"].value)
        assert await page.opened() == 4404

    @pytest.mark.parametrize("session", ["", "forged"])
    async def test_a_stranger_hears_nothing(self, socket, things, session):
        assert await socket(things.conversation.pk, session=session).opened() == 4401
        assert await socket(session=session).opened() == 4401
