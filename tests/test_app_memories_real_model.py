"""App memories with a small real model; tests/jobs has the other cases, with a scripted model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from chat.actions import app_memories, apps, conversations, deletions
from chat.actions.messages import add_message
from chat.actions.owners import default_app
from chat.context.prompt import build_prompt
from chat.jobs.runner import run_due
from chat.llm.llama import LlamaProvider
from chat.llm.registry import registry
from chat.models import App, AppMemory, Conversation, Job, Message
from tests.small_model import load_small_model

pytestmark = [pytest.mark.django_db, pytest.mark.model]

CASES = Path(__file__).parent / "memory" / "data" / "app_memories.jsonl"
# Conversations that even the small model summarises correctly.
EASY_CASES = ("bread", "recipe", "move")


@pytest.fixture(scope="module")
def small() -> Iterator[LlamaProvider]:
    """SmolLM2-135M, loaded in this process."""
    with load_small_model(2048) as provider:
        yield provider


@pytest.fixture
def model(small: LlamaProvider, monkeypatch: pytest.MonkeyPatch) -> LlamaProvider:
    """The small model, registered for the application; app memories are due immediately."""
    registry.use(small, label="SmolLM2")
    monkeypatch.setattr(app_memories, "_AFTER_END", timedelta())
    return small


@pytest.fixture
def end_case(owner: Any, model: LlamaProvider) -> Any:
    """Return a function that creates a labelled conversation, ends it and returns its app memory, or None."""
    cases = {case["id"]: case for case in map(json.loads, CASES.read_text().splitlines())}

    def create_and_end(case: str, app: App) -> AppMemory | None:
        conversation = Conversation.objects.create(owner=owner, app=app)
        for message in cases[case]["messages"]:
            add_message(conversation, message["role"], message["content"])
        conversation.refresh_from_db()
        conversations.end_conversation(conversation)
        Job.objects.filter(kind="extract").delete()
        run_due({"app_memory"})
        return AppMemory.objects.filter(source_conversation=conversation).first()

    return create_and_end


def build_system_prompt(app: App, owner: Any, model: LlamaProvider) -> str:
    """Return the system turn of the prompt of a new conversation in an app."""
    conversation = Conversation.objects.create(owner=owner, app=app)
    asked = add_message(conversation, "user", "What was it again that we talked about?")
    return build_prompt(Conversation.objects.get(pk=conversation.pk), asked, model).turns[0].content


def test_app_memories_are_written_when_conversations_end(end_case, owner):
    made = [end_case(case, default_app(owner)) for case in EASY_CASES]
    # The small model is not reliable, so two of three memories are enough.
    assert sum(memory is not None for memory in made) >= 2
    for memory in filter(None, made):
        assert memory.content.startswith("The user")
        assert len(memory.content) <= 200


def test_app_memories_are_in_prompts_of_their_app_only(end_case, owner, model):
    home, work = default_app(owner), apps.create_app(owner, "Work")
    memories = [memory for case in EASY_CASES[:2] if (memory := end_case(case, home))]
    assert memories
    head = build_system_prompt(home, owner, model)
    assert all(memory.content in head for memory in memories)
    assert not any(memory.content in build_system_prompt(work, owner, model) for memory in memories)


def test_an_eleventh_memory_keeps_the_limit_of_ten(end_case, owner):
    home = default_app(owner)
    for n in range(10):
        AppMemory.objects.create(
            owner=owner,
            app=home,
            content=f"The user asked for the opening hours of shop number {n}. It was closed.",
            updated_at=timezone.now() - timedelta(days=20 - n),
        )
    assert any(end_case(case, home) for case in EASY_CASES)
    assert AppMemory.objects.live().count() == 10


def test_memories_outlive_archiving_the_app_and_are_deleted_on_request(end_case, owner):
    work = apps.create_app(owner, "Work")
    assert any(end_case(case, work) for case in EASY_CASES)
    count = AppMemory.objects.live().count()
    apps.archive_app(work)
    assert AppMemory.objects.live().count() == count
    deletion = deletions.forget_app_memories(work)
    assert deletions.finish_deletion(deletion.pk, deletion.expires_at + deletions.UNDO_GRACE)
    assert not AppMemory.objects.exists()
    assert Message.objects.exists()
