"""The search index agrees with the rows after every transaction, and deleted texts leave it."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection, transaction
from django.utils import timezone

from chat.actions import conversation_titles, conversations, deletions, erasure, indexing
from chat.actions.messages import add_message, finish_reply, save_checkpoint, send_message, stop_stale_replies
from chat.jobs.runner import run_due
from chat.models import Conversation, Job, Message, MessageState, SearchEntry

from .conftest import find_texts

pytestmark = pytest.mark.django_db


def check_integrity() -> None:
    """Let SQLite compare its index with the rows. Raises a database error if they differ."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO chat_searchwords(chat_searchwords, rank) VALUES ('integrity-check', 1)"
            )


@pytest.fixture(autouse=True)
def _check_integrity_after_test(db):
    yield
    check_integrity()


class TestMessages:
    """Messages are found once they are complete."""

    def test_a_message_is_found_immediately_and_a_reply_when_it_ends(self, owner):
        _, reply = send_message(owner, "My boat")
        assert find_texts(owner, "boat") == ["My [boat]"]
        save_checkpoint(reply.pk, "A ship")
        assert find_texts(owner, "ship") == []
        assert SearchEntry.objects.filter(message=reply).count() == 0
        finish_reply(reply, "A ship is larger", MessageState.STOPPED)
        assert find_texts(owner, "ship") == ["A [ship] is larger"]

    def test_a_reply_left_by_a_killed_process_is_found_after_the_next_start(self, owner):
        _, reply = send_message(owner, "My boat")
        save_checkpoint(reply.pk, "A ship")
        assert stop_stale_replies() == 1
        assert find_texts(owner, "ship") == ["A [ship]"]

    def test_a_reply_of_a_deleted_conversation_is_no_error(self, owner):
        asked, reply = send_message(owner, "My boat")
        Conversation.objects.filter(pk=asked.conversation_id).delete()
        finish_reply(reply, "A ship", MessageState.COMPLETE)
        assert SearchEntry.objects.count() == 0

    def test_messages_of_programs_are_found(self, owner):
        chat = conversations.create_conversation(owner, title="Sails")
        add_message(chat, "user", "My boat")
        add_message(chat, "assistant", "A ship")
        assert find_texts(owner, "boat") == ["My [boat]"]
        assert find_texts(owner, "ship") == ["A [ship]"]
        assert find_texts(owner, "sails", "conversation") == ["[Sails]"]

    def test_a_message_without_words_is_stored_and_not_found(self, owner):
        send_message(owner, "… !!")
        assert find_texts(owner, "boat") == []

    def test_a_failed_transaction_leaves_neither_row_nor_entry(self, owner):
        def fail_after_sending():
            with transaction.atomic():
                send_message(owner, "My boat")
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail_after_sending()
        assert find_texts(owner, "boat") == []
        check_integrity()


class TestTitles:
    """A conversation is found by its current title."""

    def test_the_latest_of_first_words_model_title_and_user_title_is_found(self, owner, add_exchange):
        chat = add_exchange("My boat")
        assert find_texts(owner, "boat", "conversation") == ["My [boat]"]
        conversation_titles.set_model_title(chat.pk, "A ship for Norway")
        assert find_texts(owner, "boat", "conversation") == []
        assert find_texts(owner, "norway", "conversation") == ["A ship for [Norway]"]
        conversations.rename_conversation(chat, "Rafts")
        assert find_texts(owner, "norway", "conversation") == []
        assert find_texts(owner, "rafts", "conversation") == ["[Rafts]"]
        assert SearchEntry.objects.filter(message=None).count() == 1


class TestDeletion:
    """Permanently deleted data leaves the index."""

    def test_a_conversation_leaves_the_index_at_its_deadline(self, owner, add_exchange, clock):
        clock(0)
        deletion = deletions.delete_conversation(add_exchange("My boat"))
        assert SearchEntry.objects.count() == 3
        clock(9.5)
        deletions.finish_deletion(deletion.pk, timezone.now())
        assert SearchEntry.objects.count() == 0
        assert Job.objects.filter(kind="tidy_index").exists()

    def test_an_erased_account_leaves_the_index(self, owner, other, add_exchange, clock):
        clock(0)
        send_message(other, "Their boat")
        add_exchange("My boat")
        deletion = deletions.erase_account(owner)
        clock(9.5)
        deletions.finish_deletion(deletion.pk, timezone.now())
        assert not SearchEntry.objects.for_owner(owner).exists()
        assert find_texts(other, "boat") == ["Their [boat]"]

    def test_a_purged_conversation_leaves_the_index(self, owner, add_exchange):
        erasure.purge_conversation(add_exchange("My boat"))
        assert SearchEntry.objects.count() == 0

    def test_a_deleted_user_leaves_the_index(self, other):
        send_message(other, "Their boat")
        Conversation.objects.for_owner(other).delete()
        other.delete()
        assert SearchEntry.objects.count() == 0


class TestFilling:
    """Messages stored without index entries are indexed by a background job."""

    @pytest.fixture
    def unindexed_conversation(self, owner) -> Conversation:
        chat = Conversation.objects.create(owner=owner, app=conversations.default_app(owner), title="Sea")
        rows = [Message(conversation=chat, seq=n, role="user", content=f"boat {n}") for n in range(1, 451)]
        Message.objects.bulk_create(rows)
        return chat

    def test_messages_are_indexed_once_in_batches(self, owner, unindexed_conversation, monkeypatch):
        monkeypatch.setattr(indexing, "BATCH", 200)
        batches = []
        insert_below = indexing._insert_below

        def record_and_insert(rows):
            batches.append(len(rows))
            insert_below(rows)

        monkeypatch.setattr(indexing, "_insert_below", record_and_insert)
        assert list(indexing.find_unindexed_conversations()) == [unindexed_conversation]
        assert indexing.fill_index([unindexed_conversation.pk]) == 450
        assert batches == [200, 200, 50]
        assert list(indexing.find_unindexed_conversations()) == []
        assert indexing.fill_index([unindexed_conversation.pk]) == 0
        assert len(find_texts(owner, "boat 7")) == 1
        assert find_texts(owner, "sea", "conversation") == ["[Sea]"]

    def test_older_messages_get_lower_keys_than_indexed_ones(self, owner, unindexed_conversation):
        send_message(owner, "a new boat", unindexed_conversation)
        indexing.fill_index([unindexed_conversation.pk])
        keys = dict(SearchEntry.objects.exclude(message=None).values_list("message__content", "pk"))
        assert keys["a new boat"] > keys["boat 450"] > keys["boat 250"] > keys["boat 1"]

    def test_the_periodic_job_fills_the_index(self, owner, unindexed_conversation):
        from chat.jobs.schedule import enqueue_all

        enqueue_all(timezone.now())
        run_due({"sweep_index"})
        assert len(find_texts(owner, "boat 7")) == 1

    def test_filling_continues_after_a_kill_between_batches(self, owner, unindexed_conversation, monkeypatch):
        monkeypatch.setattr(indexing, "BATCH", 200)
        insert_below = indexing._insert_below
        monkeypatch.setattr(
            indexing,
            "_insert_below",
            lambda rows: 1 / 0 if SearchEntry.objects.count() > 1 else insert_below(rows),
        )
        with pytest.raises(ZeroDivisionError):
            indexing.fill_index([unindexed_conversation.pk])
        check_integrity()
        monkeypatch.undo()
        assert SearchEntry.objects.count() == 200
        assert indexing.fill_index([unindexed_conversation.pk]) == 250

    def test_temporary_and_unfinished_messages_are_not_indexed(self, owner):
        send_message(owner, "A secret boat", temporary=True)
        send_message(owner, "Hello")
        SearchEntry.objects.all().delete()
        indexing.fill_index([chat.pk for chat in indexing.find_unindexed_conversations()])
        assert find_texts(owner, "boat") == []
        assert find_texts(owner, "hello") == ["[Hello]"]
        assert list(indexing.find_unindexed_conversations()) == []


@pytest.mark.django_db(transaction=True)
def test_after_merging_the_index_the_database_file_has_no_deleted_word(owner, add_exchange):
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL's vacuum sees to its own files")
    add_exchange("Zanzibar", "zanzibar is far away " * 50)
    for n in range(30):
        add_exchange(f"Chat number {n}", "Nothing of the kind.")
    erasure.purge_conversation(Conversation.objects.get(title="Zanzibar"))
    assert indexing.merge_index() >= 1
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("SELECT count(*) FROM chat_searchwords_data WHERE instr(block, ?) > 0", [b"zanzibar"])
        assert cursor.fetchone() == (0,)
    assert b"zanzibar" not in Path(connection.settings_dict["NAME"]).read_bytes().lower()
