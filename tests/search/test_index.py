"""The index agrees with the rows after every transaction, and what is forgotten leaves it."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection, transaction
from django.utils import timezone

from chat.actions import deletions, indexing, keeping, rooms, titles
from chat.actions.messages import add_message, checkpoint, finish_reply, send_message, stop_stale_replies
from chat.jobs.runner import run_due
from chat.models import Conversation, Job, Message, MessageState, SearchEntry

from .conftest import texts

pytestmark = pytest.mark.django_db


def agrees() -> None:
    """Have SQLite compare its index with the rows; it raises where they differ."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO chat_searchwords(chat_searchwords, rank) VALUES ('integrity-check', 1)"
            )


@pytest.fixture(autouse=True)
def _agrees_at_the_end(db):
    yield
    agrees()


class TestWhatIsSaid:
    """It is found once it is finished."""

    def test_a_message_at_once_and_a_reply_when_it_ends(self, owner):
        _, reply = send_message(owner, "My boat")
        assert texts(owner, "boat") == ["My [boat]"]
        checkpoint(reply.pk, "A ship")
        assert texts(owner, "ship") == []
        assert SearchEntry.objects.filter(message=reply).count() == 0
        finish_reply(reply, "A ship is larger", MessageState.STOPPED)
        assert texts(owner, "ship") == ["A [ship] is larger"]

    def test_a_reply_that_a_killed_process_left_is_found_after_the_next_start(self, owner):
        _, reply = send_message(owner, "My boat")
        checkpoint(reply.pk, "A ship")
        assert stop_stale_replies() == 1
        assert texts(owner, "ship") == ["A [ship]"]

    def test_a_reply_of_a_chat_that_is_gone_meanwhile_is_no_error(self, owner):
        asked, reply = send_message(owner, "My boat")
        Conversation.objects.filter(pk=asked.conversation_id).delete()
        finish_reply(reply, "A ship", MessageState.COMPLETE)
        assert SearchEntry.objects.count() == 0

    def test_what_programs_exchange(self, owner):
        chat = keeping.begin(owner, title="Sails")
        add_message(chat, "user", "My boat")
        add_message(chat, "assistant", "A ship")
        assert texts(owner, "boat") == ["My [boat]"]
        assert texts(owner, "ship") == ["A [ship]"]
        assert texts(owner, "sails", "conversation") == ["[Sails]"]

    def test_a_message_without_a_word_is_kept_and_not_found(self, owner):
        send_message(owner, "… !!")
        assert texts(owner, "boat") == []

    def test_a_transaction_that_fails_leaves_neither(self, owner):
        def half_way():
            with transaction.atomic():
                send_message(owner, "My boat")
                raise RuntimeError

        with pytest.raises(RuntimeError):
            half_way()
        assert texts(owner, "boat") == []
        agrees()


class TestTitles:
    """A conversation is found by the title that it has now."""

    def test_by_the_first_words_then_the_models_then_the_users(self, owner, say):
        chat = say("My boat")
        assert texts(owner, "boat", "conversation") == ["My [boat]"]
        titles.give_title(chat.pk, "A ship for Norway")
        assert texts(owner, "boat", "conversation") == []
        assert texts(owner, "norway", "conversation") == ["A ship for [Norway]"]
        rooms.rename(chat, "Rafts")
        assert texts(owner, "norway", "conversation") == []
        assert texts(owner, "rafts", "conversation") == ["[Rafts]"]
        assert SearchEntry.objects.filter(message=None).count() == 1


class TestForgetting:
    """What is deleted for good has left the index too."""

    def test_a_conversation_at_its_deadline(self, owner, say, clock):
        clock(0)
        deletion = deletions.delete_conversation(say("My boat"))
        assert SearchEntry.objects.count() == 3
        clock(9.5)
        deletions.finish(deletion.pk, timezone.now())
        assert SearchEntry.objects.count() == 0
        assert Job.objects.filter(kind="tidy_index").exists()

    def test_everything(self, owner, other, say, clock):
        clock(0)
        send_message(other, "Their boat")
        say("My boat")
        deletion = deletions.erase_all(owner)
        clock(9.5)
        deletions.finish(deletion.pk, timezone.now())
        assert not SearchEntry.objects.for_owner(owner).exists()
        assert texts(other, "boat") == ["Their [boat]"]

    def test_a_session_of_a_program(self, owner, say):
        keeping.delete(say("My boat"))
        assert SearchEntry.objects.count() == 0

    def test_an_account(self, other):
        send_message(other, "Their boat")
        Conversation.objects.for_owner(other).delete()
        other.delete()
        assert SearchEntry.objects.count() == 0


class TestFilling:
    """What was there before the index, or came another way, is found once the background has read it."""

    @pytest.fixture
    def planted(self, owner) -> Conversation:
        chat = Conversation.objects.create(owner=owner, app=keeping.default_app(owner), title="Sea")
        rows = [Message(conversation=chat, seq=n, role="user", content=f"boat {n}") for n in range(1, 451)]
        Message.objects.bulk_create(rows)
        return chat

    def test_in_batches_and_once(self, owner, planted, monkeypatch):
        monkeypatch.setattr(indexing, "BATCH", 200)
        batches = []
        put = indexing._put_below

        def watched(rows):
            batches.append(len(rows))
            put(rows)

        monkeypatch.setattr(indexing, "_put_below", watched)
        assert list(indexing.missing()) == [planted]
        assert indexing.fill([planted.pk]) == 450
        assert batches == [200, 200, 50]
        assert list(indexing.missing()) == []
        assert indexing.fill([planted.pk]) == 0
        assert len(texts(owner, "boat 7")) == 1
        assert texts(owner, "sea", "conversation") == ["[Sea]"]

    def test_what_was_said_before_ranks_as_older_than_what_is_indexed_already(self, owner, planted):
        send_message(owner, "a new boat", planted)
        indexing.fill([planted.pk])
        keys = dict(SearchEntry.objects.exclude(message=None).values_list("message__content", "pk"))
        assert keys["a new boat"] > keys["boat 450"] > keys["boat 250"] > keys["boat 1"]

    def test_the_periodic_job_does_it(self, owner, planted):
        from chat.jobs.schedule import plan

        plan(timezone.now())
        run_due({"sweep_index"})
        assert len(texts(owner, "boat 7")) == 1

    def test_a_kill_in_between_leaves_what_is_done_and_the_rest_for_later(self, owner, planted, monkeypatch):
        monkeypatch.setattr(indexing, "BATCH", 200)
        put = indexing._put_below
        monkeypatch.setattr(
            indexing, "_put_below", lambda rows: 1 / 0 if SearchEntry.objects.count() > 1 else put(rows)
        )
        with pytest.raises(ZeroDivisionError):
            indexing.fill([planted.pk])
        agrees()
        monkeypatch.undo()
        assert SearchEntry.objects.count() == 200
        assert indexing.fill([planted.pk]) == 250

    def test_packed_and_temporary_and_unfinished_messages(self, owner):
        send_message(owner, "A secret boat", temporary=True)
        send_message(owner, "Hello")
        SearchEntry.objects.all().delete()
        indexing.fill([chat.pk for chat in indexing.missing()])
        assert texts(owner, "boat") == []
        assert texts(owner, "hello") == ["[Hello]"]
        assert list(indexing.missing()) == []


@pytest.mark.django_db(transaction=True)
def test_after_tidying_the_databases_file_holds_no_word_that_was_deleted(owner, say):
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL's vacuum sees to its own files")
    say("Zanzibar", "zanzibar is far away " * 50)
    for n in range(30):
        say(f"Chat number {n}", "Nothing of the kind.")
    keeping.delete(Conversation.objects.get(title="Zanzibar"))
    assert indexing.tidy() >= 1
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.execute("SELECT count(*) FROM chat_searchwords_data WHERE instr(block, ?) > 0", [b"zanzibar"])
        assert cursor.fetchone() == (0,)
    assert b"zanzibar" not in Path(connection.settings_dict["NAME"]).read_bytes().lower()
