"""Creates one object of each kind for a user, and lists every URL that takes such an object."""

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
from chat.actions.api_tokens import create_token
from chat.actions.facts import add_fact
from chat.actions.importing import uploads
from chat.actions.messages import finish_reply, send_message
from chat.actions.topics import assign_topic
from chat.models import (
    ApiToken,
    App,
    AppMemory,
    Conversation,
    Deletion,
    Fact,
    Message,
    PromptReport,
    Quotation,
    RequestOutcome,
    Topic,
)

ORIGIN = "http://testserver"


@dataclass
class OwnedObjects:
    """One object of each kind, all of one user."""

    conversation: Conversation
    asked: Message
    reply: Message
    fact: Fact
    deletion: Any
    archived_fact: Fact
    topic: Topic
    app: App
    app_memory: AppMemory
    upload: Any
    token: ApiToken
    question: RequestOutcome
    quotation: Quotation

    @classmethod
    def of(cls, user: Any, mark: str) -> OwnedObjects:
        """Create the objects for `user`; all their texts contain `mark`."""
        asked, reply = send_message(user, f"Message {mark}")
        topic = assign_topic(asked, None, "")
        finish_reply(reply, f"Reply {mark}", "complete")
        PromptReport.objects.create(reply=reply, window=2048)
        gone = add_fact(user, f"Forgotten {mark}")
        fact = add_fact(user, f"Fact {mark}")
        away = add_fact(user, f"Faded {mark}")
        Fact.objects.filter(pk=away.pk).update(archived_at=timezone.now())
        app = App.objects.create(owner=user, slug=f"app-{user.pk}", name=f"App {mark}")
        app_memory = AppMemory.objects.create(owner=user, app=app, content=f"Told {mark}")
        deletion = deletions.forget_facts(user, [gone.pk])
        sent = json.dumps([{"id": mark, "memory": f"Sent {mark}"}]).encode()
        upload = uploads.store_upload(user, [sent], len(sent))
        create_token(user, f"Token {mark}")
        token = ApiToken.objects.get(owner=user, name=f"Token {mark}")
        question = RequestOutcome.objects.create(owner=user, message=asked, kind="unclear")
        question.candidates.add(fact)
        earlier, _ = send_message(user, f"Earlier {mark}")
        quotation = Quotation.objects.create(message=asked, source=earlier, start=0, end=7, place=0)
        return cls(
            *(asked.conversation, asked, reply, fact, deletion, away, topic, app, app_memory, upload, token),
            *(question, quotation),
        )


Address = Callable[[OwnedObjects], str]

# Every URL that takes an object, by the name of its URL pattern: method, URL, posted data.
OBJECT_URLS: dict[str, list[tuple[str, Address, dict[str, str]]]] = {
    "conversation": [("GET", lambda t: reverse("conversation", args=[t.conversation.pk]), {})],
    "messages_after": [("GET", lambda t: reverse("messages_after", args=[t.conversation.pk, 0]), {})],
    "message": [("GET", lambda t: reverse("message", args=[t.reply.pk]), {})],
    "reply_stop": [("POST", lambda t: reverse("reply_stop", args=[t.reply.pk]), {})],
    "reply_retry": [("POST", lambda t: reverse("reply_retry", args=[t.reply.pk]), {})],
    "message_flag": [("POST", lambda t: reverse("message_flag", args=[t.reply.pk]), {"flagged": "1"})],
    "message_edit": [
        ("GET", lambda t: reverse("message_edit", args=[t.asked.pk]), {}),
        ("POST", lambda t: reverse("message_edit", args=[t.asked.pk]), {"text": "In other words"}),
    ],
    "prompt_report": [("GET", lambda t: reverse("prompt_report", args=[t.reply.pk]), {})],
    "conversation_strategy": [
        ("POST", lambda t: reverse("conversation_strategy", args=[t.conversation.pk]), {"strategy": "simple"})
    ],
    "quotation_relevance": [
        ("POST", lambda t: reverse("quotation_relevance", args=[t.quotation.pk]), {"relevant": "no"})
    ],
    "reply_quotations": [("GET", lambda t: reverse("reply_quotations", args=[t.reply.pk]), {})],
    "reply_memories": [("GET", lambda t: reverse("reply_memories", args=[t.reply.pk]), {})],
    "request_answer": [
        ("POST", lambda t: reverse("request_answer", args=[t.question.pk]), {"fact": "{fact}"}),
        ("POST", lambda t: reverse("request_answer", args=[t.question.pk]), {"all": "1"}),
    ],
    "deletion_undo": [("POST", lambda t: reverse("deletion_undo", args=[t.deletion.pk]), {})],
    "fact": [("GET", lambda t: reverse("fact", args=[t.fact.pk]), {})],
    "fact_edit": [
        ("GET", lambda t: reverse("fact_edit", args=[t.fact.pk]), {}),
        ("POST", lambda t: reverse("fact_edit", args=[t.fact.pk]), {"text": "Something else"}),
    ],
    "fact_pin": [("POST", lambda t: reverse("fact_pin", args=[t.fact.pk]), {})],
    "fact_add_highlight": [
        ("POST", lambda t: reverse("fact_add_highlight"), {"message": "{reply}", "text": "Reply of the"})
    ],
    "fact_batch": [("POST", lambda t: reverse("fact_batch"), {"do": "delete", "fact": "{fact}"})],
    "fact_delete": [("POST", lambda t: reverse("fact_delete", args=[t.fact.pk]), {})],
    "conversation_extract": [
        ("POST", lambda t: reverse("conversation_extract", args=[t.conversation.pk]), {})
    ],
    "conversation_menu": [("GET", lambda t: reverse("conversation_menu", args=[t.conversation.pk]), {})],
    "conversation_rename": [
        ("GET", lambda t: reverse("conversation_rename", args=[t.conversation.pk]), {}),
        ("POST", lambda t: reverse("conversation_rename", args=[t.conversation.pk]), {"title": "Renamed"}),
    ],
    "conversation_pin": [("POST", lambda t: reverse("conversation_pin", args=[t.conversation.pk]), {})],
    "conversation_delete": [
        ("POST", lambda t: reverse("conversation_delete", args=[t.conversation.pk]), {"memories": "1"})
    ],
    "conversation_move": [
        ("POST", lambda t: reverse("conversation_move", args=[t.conversation.pk]), {"app": "{app}"})
    ],
    "conversation_header_menu": [
        ("GET", lambda t: reverse("conversation_header_menu", args=[t.conversation.pk]), {})
    ],
    "conversation_end": [("POST", lambda t: reverse("conversation_end", args=[t.conversation.pk]), {})],
    "conversation_memory_mode": [
        ("POST", lambda t: reverse("conversation_memory_mode", args=[t.conversation.pk]), {"mode": "off"})
    ],
    "conversation_past_chats": [
        (
            "POST",
            lambda t: reverse("conversation_past_chats", args=[t.conversation.pk]),
            {"past_chats": "off"},
        )
    ],
    "conversation_topics": [("GET", lambda t: reverse("conversation_topics", args=[t.conversation.pk]), {})],
    "topic_importance": [
        ("POST", lambda t: reverse("topic_importance", args=[t.topic.pk]), {"importance": "0.25"})
    ],
    "fact_history": [("GET", lambda t: reverse("fact_history", args=[t.fact.pk]), {})],
    "fact_restore": [
        ("POST", lambda t: reverse("fact_restore", args=[t.fact.pk, t.fact.events.first().pk]), {})
    ],
    "fact_unarchive": [("POST", lambda t: reverse("fact_unarchive", args=[t.archived_fact.pk]), {})],
    "app": [
        ("GET", lambda t: reverse("app", args=[t.app.pk]), {}),
        ("POST", lambda t: reverse("app", args=[t.app.pk]), {"persona": "You are somebody else."}),
    ],
    "app_archive": [("POST", lambda t: reverse("app_archive", args=[t.app.pk]), {"purge": "1"})],
    "app_restore": [("POST", lambda t: reverse("app_restore", args=[t.app.pk]), {})],
    "app_memories_clear": [("POST", lambda t: reverse("app_memories_clear", args=[t.app.pk]), {})],
    "app_memory": [("GET", lambda t: reverse("app_memory", args=[t.app_memory.pk]), {})],
    "app_memory_edit": [
        ("GET", lambda t: reverse("app_memory_edit", args=[t.app_memory.pk]), {}),
        ("POST", lambda t: reverse("app_memory_edit", args=[t.app_memory.pk]), {"text": "Something else"}),
    ],
    "app_memory_delete": [("POST", lambda t: reverse("app_memory_delete", args=[t.app_memory.pk]), {})],
    "import_file": [
        ("GET", lambda t: reverse("import_file", args=[t.upload]), {}),
        ("POST", lambda t: reverse("import_file", args=[t.upload]), {"do": "import"}),
        ("POST", lambda t: reverse("import_file", args=[t.upload]), {"do": "cancel"}),
    ],
    "token_narrow": [
        ("POST", lambda t: reverse("token_narrow", args=[t.token.pk]), {"scope": "memory:read"})
    ],
    "token_revoke": [("POST", lambda t: reverse("token_revoke", args=[t.token.pk]), {})],
    "message_send": [
        ("POST", lambda t: reverse("message_send"), {"text": "Hello", "conversation": "{conversation}"}),
        ("POST", lambda t: reverse("message_send"), {"text": "Hello", "app": "{app}"}),
    ],
}
# URLs that take no object and show or create objects of the current user only.
OWN_DATA_URLS = {
    "home",
    "memory",
    "memory_pill",
    "memory_health",
    "memory_graph",
    "memory_archive",
    "memory_heard_once",
    "memory_clear",
}
OWN_DATA_URLS |= {
    "export",
    "import_upload",
    "token_create",
    "fact_add",
    "settings",
    "account_erase",
    "old_chats_keep",
    "model_state",
    "search",
    "statistics",
    "energy_gauge",
    "apps",
}
# URLs whose plain GET shows no data of the user.
URLS_WITHOUT_CONTENT = {
    "token_create",
    "fact_add",
    "account_erase",
    "old_chats_keep",
    "model_state",
    "search",
    "memory_health",
    "memory_graph",
    "memory_archive",
    "memory_heard_once",
    "memory_clear",
}
URLS_WITHOUT_CONTENT |= {"statistics", "energy_gauge", "export", "import_upload"}
# URLs with access rules of their own, which other tests cover.
URLS_TESTED_ELSEWHERE = {"openai", "login", "account_login", "logout", "admin", "metrics", "rest"}
# For the owner of the machine only: test_model_server_choice.
URLS_TESTED_ELSEWHERE |= {"provider_choose"}

# These start a reply, whose thread sees only committed rows.
STARTS_REPLY = {"message_send", "reply_retry", "message_edit"}


@dataclass(frozen=True)
class OwnershipCase:
    """One request to one URL."""

    name: str
    method: str
    address: Address
    data: dict[str, str]
    htmx: bool

    def __str__(self) -> str:
        return f"{self.name}-{self.method}{'-htmx' if self.htmx else ''} {self.data or ''}"

    @property
    def begins_a_reply(self) -> bool:
        """Return True if the request starts the thread of a reply."""
        return self.name in STARTS_REPLY and self.method == "POST"

    def ask(self, client: Client, things: OwnedObjects) -> Any:
        """Send the request with this client and return the response."""
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


OWNERSHIP_CASES = [
    OwnershipCase(name, method, address, data, htmx)
    for name, ways in OBJECT_URLS.items()
    for method, address, data in ways
    for htmx in (False, True)
]


def each_in_rolled_back_transaction(
    cases: list[OwnershipCase], things: OwnedObjects
) -> Iterator[OwnershipCase]:
    """Yield each case in a transaction that is rolled back, so that the cases do not affect each other."""
    Deletion.objects.update(expires_at=timezone.now() + timedelta(days=1))
    sent = uploads.find_upload(things.conversation.owner, things.upload)
    assert sent is not None
    text = sent.read_bytes()
    for case in cases:
        with transaction.atomic():
            yield case
            transaction.set_rollback(True)
        sent.write_bytes(text)


def database_state() -> list[Any]:
    """Return all rows that a request could change."""
    return [
        list(Message.objects.order_by("pk").values()),
        list(Fact.objects.order_by("pk").values()),
        list(Conversation.objects.order_by("pk").values()),
        list(Topic.objects.order_by("pk").values()),
        list(App.objects.order_by("pk").values()),
        list(AppMemory.objects.order_by("pk").values()),
        list(ApiToken.objects.order_by("pk").values("name", "scopes", "revoked_at")),
    ]
