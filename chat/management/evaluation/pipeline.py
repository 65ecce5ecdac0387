"""Runs cases through the product's own code, in a database that is thrown away."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection

from chat.actions.owners import default_app
from chat.context.prompt import build
from chat.jobs import handlers
from chat.llm.registry import Registry
from chat.memory import confidence
from chat.memory.classify import classify
from chat.models import Conversation, ExtractionRun, Fact, Message, Origin, Role

from .cases import Case, ExtractionCase, RecallCase, UpdateCase, WordingsCase
from .scoring import Known, Outcome


@contextlib.contextmanager
def throwaway_database() -> Iterator[None]:
    """Put an empty, migrated database in the place of the configured one, and remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="memoryapp-evaluate-") as folder:
        if connection.vendor == "sqlite":
            connection.settings_dict["TEST"]["NAME"] = str(Path(folder) / "evaluate.sqlite3")
        real = connection.settings_dict["NAME"]
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
        try:
            yield
        finally:
            connection.creation.destroy_test_db(real, verbosity=0)


class Pipeline:
    """Each case has an owner of its own, so that no case knows what another said."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def run(self, case: Case) -> Outcome:
        """Return what is known, or what the prompt says, after a case, inside a throw-away database."""
        owner = get_user_model().objects.create_user(username=f"case-{get_user_model().objects.count()}")
        conversation = Conversation.objects.create(owner=owner, app=default_app(owner), title=case.id[:120])
        if isinstance(case, ExtractionCase):
            said = [(message.role, message.content) for message in case.messages]
            return self._listen(owner, conversation, said)
        if isinstance(case, WordingsCase):
            rounds = zip_longest(*case.facts)
            return self._listen(owner, conversation, [("user", w) for r in rounds for w in r if w])
        for text in case.facts:
            self._know(owner, text.removeprefix("*"), pinned=text.startswith("*"))
        if isinstance(case, UpdateCase):
            return self._listen(owner, conversation, [("user", case.message)])
        return self._recall(conversation, case)

    def _listen(self, owner: Any, conversation: Conversation, said: Sequence[tuple[str, str]]) -> Outcome:
        Message.objects.bulk_create(
            Message(conversation=conversation, seq=seq, role=Role(role), content=content)
            for seq, (role, content) in enumerate(said, 1)
        )
        handlers.extract_conversation({"conversation": str(conversation.pk)})
        runs = list(ExtractionRun.objects.for_owner(owner).order_by("message__seq"))
        return Outcome(
            facts=[
                Known(f.text, f.category, f.kind, f.mention_count)
                for f in Fact.objects.for_owner(owner).live().order_by("first_seen", "id")
            ],
            seconds=[run.seconds for run in runs if run.read],
            refused=[f"{r['text']} ({r['reason']})" for run in runs for r in run.refused],
            errors=[run.error for run in runs if run.error],
        )

    def _recall(self, conversation: Conversation, case: RecallCase) -> Outcome:
        message = Message.objects.create(
            conversation=conversation, seq=1, role=Role.USER, content=case.message
        )
        prompt = build(conversation, message, self.registry.provider())
        return Outcome(prompt=f"{prompt.block.text}\n{prompt.note}".strip())

    def _know(self, owner: Any, text: str, *, pinned: bool) -> None:
        """Store a fact, classified as one that was added by hand, past consolidation."""
        kind, category, subject = classify(self.registry.provider(), text)
        embedder = self.registry.embedder()
        Fact.objects.create(
            owner=owner,
            text=text,
            kind=kind,
            category=category,
            subject=subject,
            confidence=confidence.baseline(Origin.MANUAL),
            origin=Origin.MANUAL,
            pinned=pinned,
            embedding=embedder.embed([text])[0].tobytes() if embedder else None,
            embedder=embedder.name if embedder else "",
        )
