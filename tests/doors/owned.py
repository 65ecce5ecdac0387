"""What each person owns, one of each kind, and every address that takes one of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chat.actions import deletions
from chat.actions.facts import add_fact
from chat.actions.importing import uploads
from chat.actions.messages import finish_reply, send_message
from chat.actions.tokens import create_token
from chat.actions.topics import assign
from chat.models import ApiToken, App, AppMemory, Conversation, Deletion, Fact, Message, PromptReport, Topic

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

# These begin a reply, whose thread sees only what has been committed.
BEGINNING = {"send", "retry", "message_edit"}


@dataclass(frozen=True)
class Case:
    """One way to ask at one address."""

    name: str
    method: str
    address: Address
    data: dict[str, str]
    htmx: bool

    def __str__(self) -> str:
        return f"{self.name}-{self.method}{'-htmx' if self.htmx else ''} {self.data or ''}"

    @property
    def begins_a_reply(self) -> bool:
        """Whether a thread goes to work for it."""
        return self.name in BEGINNING and self.method == "POST"

    def ask(self, client: Client, things: Things) -> Any:
        """Return what a client is answered."""
        keys = {
            "conversation": things.conversation.pk,
            "app": things.app.pk,
            "fact": things.fact.pk,
            "reply": things.reply.pk,
        }
        filled = {k: v.format(**keys) for k, v in self.data.items()}
        headers = {"origin": ORIGIN, **({"hx-request": "true"} if self.htmx else {})}
        if self.method == "GET":
            return client.get(self.address(things), headers=headers)
        return client.post(self.address(things), filled, headers=headers)


CASES = [
    Case(name, method, address, data, htmx)
    for name, ways in OF_AN_OBJECT.items()
    for method, address, data in ways
    for htmx in (False, True)
]


def each_by_itself(cases: list[Case], things: Things) -> Iterator[Case]:
    """Yield each case in a transaction of its own, which is rolled back: the next finds all as it was."""
    Deletion.objects.update(expires_at=timezone.now() + timedelta(days=1))
    sent = uploads.path_of(things.conversation.owner, things.upload)
    assert sent is not None
    text = sent.read_bytes()
    for case in cases:
        with transaction.atomic():
            yield case
            transaction.set_rollback(True)
        sent.write_bytes(text)


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
