"""Runs cases through the product's own code, in a temporary database."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import zip_longest
from pathlib import Path

from django.contrib.auth import get_user_model
from django.db import connection
from django.utils import timezone

from chat.actions import graph, indexing, message_windows, prompts
from chat.actions.owners import default_app
from chat.context import past_chats
from chat.context.prompt import Prompt, build_prompt
from chat.jobs import extract
from chat.llm.registry import Registry
from chat.llm.types import GenerationOptions
from chat.memory import confidence
from chat.memory.classify import classify_fact
from chat.models import Conversation, ExtractionRun, Fact, Message, Origin, Role, User

from .cases import Case, CaseMessage, ExtractionCase, RecallCase, ReplyCase, UpdateCase, WordingsCase
from .scores import CaseOutcome, KnownFact

# In tokens; what is wrong with a reply shows by then.
_LONGEST_REPLY = 320


@contextlib.contextmanager
def throwaway_database() -> Iterator[None]:
    """Replace the configured database by an empty, migrated one until the block ends."""
    with tempfile.TemporaryDirectory(prefix="memoryapp-evaluate-") as folder:
        if connection.vendor == "sqlite":
            connection.settings_dict["TEST"]["NAME"] = str(Path(folder) / "evaluate.sqlite3")
        real = connection.settings_dict["NAME"]
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
        try:
            yield
        finally:
            connection.creation.destroy_test_db(real, verbosity=0)


def _next_message(conversation: Conversation) -> Message | None:
    """Return the oldest user message that was not extracted; the watermark is read again."""
    conversation.refresh_from_db(fields=["extracted_through"])
    return Message.objects.not_extracted(conversation).select_related("conversation__owner").first()


class Pipeline:
    """Runs cases; each has its own owner, so that cases do not share facts."""

    def __init__(self, registry: Registry, samples: int = 1) -> None:
        self.registry = registry
        # How many replies are sampled for a case of replies.
        self.samples = samples

    def run(self, case: Case) -> CaseOutcome:
        """Run a case and return the known facts or the prompt. Call it inside `throwaway_database`."""
        owner = get_user_model().objects.create_user(username=f"case-{get_user_model().objects.count()}")
        conversation = Conversation.objects.create(owner=owner, app=default_app(owner), title=case.id[:120])
        if isinstance(case, ExtractionCase):
            said = [(message.role, message.content) for message in case.messages]
            return self._extract(owner, conversation, said)
        if isinstance(case, WordingsCase):
            rounds = zip_longest(*case.facts)
            return self._extract(owner, conversation, [("user", w) for r in rounds for w in r if w])
        for text in case.facts:
            self._store_fact(owner, text.removeprefix("*"), pinned=text.startswith("*"))
        if isinstance(case, UpdateCase):
            return self._extract(owner, conversation, [("user", case.message)])
        if isinstance(case, ReplyCase):
            return self._reply(conversation, case)
        return self._recall(conversation, case)

    def _extract(
        self, owner: User, conversation: Conversation, said: Sequence[tuple[str, str]]
    ) -> CaseOutcome:
        Message.objects.bulk_create(
            Message(conversation=conversation, seq=seq, role=Role(role), content=content)
            for seq, (role, content) in enumerate(said, 1)
        )
        # Not by the job `extract`, which waits while the energy budget is used up.
        while (message := _next_message(conversation)) is not None:
            extract.extract_message(message)
        runs = list(ExtractionRun.objects.for_owner(owner).order_by("message__seq"))
        return CaseOutcome(
            facts=[
                KnownFact(f.text, f.category, f.kind, f.mention_count)
                for f in Fact.objects.for_owner(owner).live().order_by("first_seen", "id")
            ],
            seconds=[run.seconds for run in runs if run.read],
            refused=[f"{r['text']} ({r['reason']})" for run in runs for r in run.refused],
            errors=[run.error for run in runs if run.error],
        )

    def _recall(self, conversation: Conversation, case: RecallCase) -> CaseOutcome:
        self._read_chats(conversation, case)
        said: list[str] = []
        for message in [*case.before, CaseMessage(role="user", content=case.message)]:
            if message.role == "user":
                prompt = self._build_prompt(conversation, message.content)
                said += [prompt.note, past_chats.render(prompt.quotations)]
            else:
                Message.objects.filter(conversation=conversation, content="").update(content=message.content)
        return CaseOutcome(prompt="\n".join(filter(None, [prompt.block.text, *said])))

    def _reply(self, conversation: Conversation, case: ReplyCase) -> CaseOutcome:
        """Return several replies to the case's message, with the options of a reply in a chat."""
        prompt = self._build_prompt(conversation, case.message)
        options = GenerationOptions.for_reply(
            f"evaluate-{conversation.pk}", max_tokens=min(prompt.max_tokens, _LONGEST_REPLY)
        )
        provider = self.registry.provider()
        replies = ["".join(provider.stream(prompt.turns, options)) for _ in range(self.samples)]
        return CaseOutcome(prompt=f"{prompt.block.text}\n{prompt.note}".strip(), replies=replies)

    def _build_prompt(self, conversation: Conversation, text: str) -> Prompt:
        """Add a user's message and an empty reply to a conversation, and return its prompt."""
        conversation.refresh_from_db()
        seq = Message.objects.filter(conversation=conversation).count() + 1
        asked = Message.objects.create(conversation=conversation, seq=seq, role=Role.USER, content=text)
        provider = self.registry.provider()
        prompt = build_prompt(conversation, asked, provider)
        reply = Message.objects.create(conversation=conversation, seq=seq + 1, role=Role.ASSISTANT)
        prompts.record_prompt(conversation, asked, reply, prompt, provider.context_window)
        return prompt

    def _read_chats(self, conversation: Conversation, case: RecallCase) -> None:
        """Store the case's earlier conversations, extract their facts and index them."""
        for days_ago, said in zip(range(len(case.chats), 0, -1), case.chats, strict=True):
            day = timezone.now() - timedelta(days=days_ago)
            chat = Conversation.objects.create(
                owner=conversation.owner, app=conversation.app, title=f"{case.id} {days_ago}", created_at=day
            )
            rows = [
                Message(conversation=chat, seq=seq, role=Role(m.role), content=m.content, created_at=day)
                for seq, m in enumerate(said, 1)
            ]
            Message.objects.bulk_create(rows)
            indexing.index_messages(rows)
            while (message := _next_message(chat)) is not None:
                extract.extract_message(message)
            while message_windows.index_portion(chat.pk, self.registry.embedder()):
                pass

    def _store_fact(self, owner: User, text: str, *, pinned: bool) -> None:
        """Store a fact, classified like one that was added by hand, without comparing it with others."""
        kind, category, subject = classify_fact(self.registry.provider(), text)
        embedder = self.registry.embedder()
        fact = Fact.objects.create(
            owner=owner,
            text=text,
            kind=kind,
            category=category,
            subject=subject,
            confidence=confidence.get_initial_confidence(Origin.MANUAL),
            origin=Origin.MANUAL,
            pinned=pinned,
            embedding=embedder.embed([text])[0].tobytes() if embedder else None,
            embedder=embedder.name if embedder else "",
        )
        graph.sync_fact(fact)
