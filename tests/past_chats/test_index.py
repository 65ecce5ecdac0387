"""Messages are indexed by meaning in the background, once each, and leave the index with their message."""

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import message_windows
from chat.actions.messages import finish_reply
from chat.generation import run as generation
from chat.jobs import prompts
from chat.jobs.embeddings import index_windows
from chat.jobs.registry import Postpone
from chat.llm.registry import registry
from chat.models import Conversation, Job, Message, MessageState, MessageWindow, Role
from chat.past_chats.vector_search import bit_cache, unpack_vectors

TALK = ("I need a name for my sourdough course.", "How about Rise Together, Crumb School or Slow Dough?")


def list_windows():
    rows = MessageWindow.objects.select_related("message").order_by("pk")
    return [row.message.content[row.start : row.end] for row in rows]


def test_each_message_is_indexed_once(remember, index_all, embedder):
    remember(*TALK)
    index_all(embedder)
    assert list_windows() == list(TALK)


def test_the_stored_vector_has_the_direction_of_the_text(remember, embedder):
    remember(TALK[0])
    [row] = MessageWindow.objects.all()
    assert len(row.vector) == 512
    assert row.embedder == embedder.name
    assert float(unpack_vectors([bytes(row.vector)])[0] @ embedder.embed([TALK[0]])[0]) > 0.999


def test_windows_are_deleted_with_their_message(remember):
    chat = remember(*TALK)
    Message.objects.filter(conversation=chat, seq=1).delete()
    assert list_windows() == [TALK[1]]
    chat.delete()
    assert not MessageWindow.objects.exists()


def test_a_new_embedder_indexes_everything_again(remember, index_all, embedder):
    remember(*TALK)
    MessageWindow.objects.update(embedder="another", vector=b"")
    message_windows.drop_outdated_windows(embedder.name)
    assert not MessageWindow.objects.exists()
    index_all(embedder)
    assert {row.embedder for row in MessageWindow.objects.all()} == {embedder.name}


def test_without_an_embedder_the_windows_have_no_vector(store_chat, index_all):
    store_chat(*TALK)
    index_all(None)
    assert [bytes(row.vector) for row in MessageWindow.objects.all()] == [b"", b""]


def test_a_temporary_conversation_is_not_indexed(remember):
    remember(*TALK, temporary=True)
    assert list_windows() == []


def test_what_the_user_asked_not_to_save_is_not_indexed(remember):
    remember("Off the record: I'm negotiating with Halvorsen.", "All right, nothing about Halvorsen is kept.")
    assert list_windows() == []


def test_a_message_that_is_kept_out_by_the_one_before_is_not_indexed(remember):
    remember("Off the record.", "Fine, I will not.", "I'm negotiating with Halvorsen now.")
    assert not any("Halvorsen" in text for text in list_windows())


def test_a_reply_that_is_being_written_waits(store_chat, index_all, embedder):
    chat = store_chat(*TALK)
    Message.objects.filter(seq=2).update(state=MessageState.STREAMING)
    index_all(embedder)
    assert list_windows() == [TALK[0]]
    finish_reply(Message.objects.select_related("conversation").get(seq=2), TALK[1], MessageState.COMPLETE)
    index_all(embedder)
    assert list_windows() == list(TALK)
    assert Conversation.objects.get(pk=chat.pk).windows_through == 2


def test_the_end_of_a_reply_requests_the_indexing(talk):
    _, reply = talk("Which name did we choose?")
    Job.objects.filter(kind="index_windows").delete()
    finish_reply(reply, "Slow Dough.", MessageState.COMPLETE)
    assert Job.objects.filter(kind="index_windows").exists()


def test_a_conversation_that_is_deleted_meanwhile_gets_no_windows(store_chat, embedder, monkeypatch):
    chat = store_chat(*TALK)
    build = message_windows._build_windows

    def delete_first(*args):
        chat.delete()
        return build(*args)

    monkeypatch.setattr(message_windows, "_build_windows", delete_first)
    assert message_windows.index_portion(chat.pk, embedder) == 0
    assert not MessageWindow.objects.exists()


def test_the_job_indexes_what_is_missing(store_chat, embedder):
    store_chat(*TALK)
    index_windows({})
    assert list_windows() == list(TALK)


def test_the_job_waits_for_a_reply(store_chat, embedder, monkeypatch):
    store_chat(*TALK)
    monkeypatch.setattr(generation, "count_running", lambda: 1)
    with pytest.raises(Postpone) as postponed:
        index_windows({})
    assert postponed.value.until - timezone.now() < timedelta(seconds=5)
    assert list_windows() == []


def test_tools_and_instructions_are_not_indexed(store_chat, index_all, embedder):
    chat = store_chat(*TALK)
    for seq, role in ((3, Role.SYSTEM), (4, Role.TOOL)):
        Message.objects.create(
            conversation=chat, seq=seq, role=role, content="The weather in Bergen is rainy today."
        )
    index_all(embedder)
    assert list_windows() == list(TALK)


def test_the_index_of_the_last_writer_is_loaded_at_the_start(remember, owner, embedder, monkeypatch):
    monkeypatch.setattr(registry, "wait_ready", lambda seconds: False)
    remember("The workshop costs 64 euros.", "Noted.")
    bit_cache.clear()
    prompts.warm_fixed_prompts()
    assert (owner.pk, embedder.name) in bit_cache._known
