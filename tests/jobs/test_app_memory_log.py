"""Log lines at INFO name each app memory that is created, merged, deleted or used: ids, counts, no texts."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from chat.context.prompt import build_prompt
from chat.errors import ProviderError
from chat.models import AppMemory, Message

from .app_memory_samples import TENT_MEMORY, TENT_MESSAGE

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("immediate_app_memories"),
]


@pytest.fixture
def lines(caplog):
    """Return a function that returns the records about app memories at INFO since the test began."""
    caplog.set_level(logging.INFO)

    def found() -> list[Any]:
        return [r for r in caplog.records if r.message.startswith("app memor") and r.levelname == "INFO"]

    return found


def test_a_created_memory_is_logged_with_its_app_and_conversation(write_app_memory, lines):
    chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
    [line] = lines()
    memory = AppMemory.objects.get()
    assert line.message == "app memory created"
    assert (line.app, line.app_memory, line.conversation) == (
        str(chat.app_id),
        str(memory.pk),
        str(chat.pk),
    )


def test_a_rewritten_memory_is_logged(write_app_memory, lines):
    chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
    write_app_memory("And a bag for minus five degrees, which ought to weigh little.", TENT_MEMORY, chat)
    assert [line.message for line in lines()] == ["app memory created", "app memory written anew"]


@pytest.mark.parametrize("answer", ["delete 4", ProviderError("verbatim", sentence="no")])
def test_a_compaction_that_deletes_is_logged_with_the_deleted_memory(
    ten_memories, write_app_memory, scripted, lines, answer
):
    scripted.app_choices.append(answer)
    write_app_memory(TENT_MESSAGE, TENT_MEMORY)
    gone = ten_memories[3 if answer == "delete 4" else 0]
    found = {line.message: line for line in lines()}
    assert found["app memories compacted: one deleted"].app_memory == str(gone.pk)
    assert "app memory created" in found


def test_a_compaction_that_merges_is_logged_with_the_changed_memory(
    ten_memories, write_app_memory, scripted, lines
):
    text = "The user plans nine days in the fells with Tom. They like maps."
    AppMemory.objects.filter(pk=ten_memories[2].pk).update(content=text)
    scripted.app_choices.append("edit 3")
    write_app_memory(TENT_MESSAGE, TENT_MEMORY)
    [line] = lines()
    assert line.message == "app memories compacted: one absorbed the new one"
    assert line.app_memory == str(ten_memories[2].pk)


def test_retrieval_for_a_prompt_is_logged_with_the_count(write_app_memory, add_exchange, scripted, lines):
    write_app_memory(TENT_MESSAGE, TENT_MEMORY)
    chat = add_exchange("What else should we take along?")
    build_prompt(chat, Message.objects.get(conversation=chat, role="user"), scripted)
    line = lines()[-1]
    assert line.message == "app memories retrieved for a prompt"
    assert (line.count, line.app, line.conversation) == (1, str(chat.app_id), str(chat.pk))


def test_no_line_holds_words_of_the_user(ten_memories, write_app_memory, add_exchange, scripted, caplog):
    caplog.set_level(logging.DEBUG)
    scripted.app_choices.append("delete 4")
    write_app_memory(TENT_MESSAGE, TENT_MEMORY)
    chat = add_exchange("What else should we take along?")
    build_prompt(chat, Message.objects.get(conversation=chat, role="user"), scripted)
    logged = str([vars(record) for record in caplog.records])
    assert "fells" not in logged
    assert "subject3" not in logged
