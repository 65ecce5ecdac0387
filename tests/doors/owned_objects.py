"""Creates one object of each kind for a user."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

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
