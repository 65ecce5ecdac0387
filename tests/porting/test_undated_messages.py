"""Messages without a date count as older than any deletion, so they cannot restore deleted facts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from chat.actions import deletions
from chat.actions.facts import add_fact
from chat.actions.importing.tombstone_filter import is_barred
from chat.actions.tombstones import RelearningGuard
from chat.memory.candidates import FactCandidate
from chat.models import Conversation, Deletion, Fact, Message, Tombstone
from chat.porting.common import ParsedMessage, fill_in_dates

from .conftest import SAMPLES, document, wipe

moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
EARLY = datetime(2024, 1, 1, tzinfo=UTC)


@given(pressed_at=st.none() | moments, said_at=st.none() | moments, earlier=st.timedeltas(timedelta(0)))
def test_a_deletion_bars_earlier_and_undated_messages(pressed_at, said_at, earlier):
    barred = is_barred(pressed_at, said_at)
    assert is_barred(pressed_at, None) == (pressed_at is not None)
    if said_at is not None:
        assert barred == (pressed_at is not None and pressed_at >= said_at)
        if barred and said_at - EARLY > earlier:
            assert is_barred(pressed_at, said_at - earlier)


@given(data=st.data(), count=st.integers(1, 12), begun_known=st.booleans())
def test_a_filled_in_date_is_never_later_than_the_true_date(data, count, begun_known):
    """Remove random dates from a generated conversation and fill them in again."""
    true: list[Any] = []
    rows: list[Any] = []
    for number in range(count):
        parent = data.draw(st.integers(-1, number - 1))
        after = data.draw(st.integers(0, 100))
        true.append((EARLY if parent < 0 else true[parent]) + timedelta(seconds=after))
        known = data.draw(st.booleans())
        rows.append(ParsedMessage(str(number), None, {"created_at": true[number] if known else None}))
        if parent >= 0:
            rows[parent].children.append(rows[number])
        else:
            rows[number].parent = "root"
    fill_in_dates([row for row in rows if row.parent], EARLY if begun_known else None, timezone.now())
    for row, at in zip(rows, true, strict=True):
        assert row.fields["created_at"] is not None
        assert row.fields.get("undated") or row.fields["created_at"] <= at
        assert not (begun_known and row.fields.get("undated"))


def undated_chatgpt():
    chats = json.loads((SAMPLES / "chatgpt.json").read_bytes())
    for chat in chats:
        for name in ("create_time", "update_time"):
            chat.pop(name, None)
        for node in chat["mapping"].values():
            (node.get("message") or {}).pop("create_time", None)
    return chats


def finish_yesterday(deletion):
    """Finish a deletion as if it had been requested a day ago; return that time."""
    deletions.finish_deletion(deletion.pk, timezone.now() + timedelta(minutes=1))
    pressed_at = timezone.now() - timedelta(days=1)
    for model in (Deletion, Tombstone):
        model.objects.update(pressed_at=pressed_at)
    return pressed_at


@pytest.mark.django_db
class TestMem0:
    ROW = {"id": "1", "memory": "Likes green tea"}

    def test_an_undated_memory_that_was_deleted_is_refused(self, owner, import_document):
        fact = add_fact(owner, "Likes green tea")
        finish_yesterday(deletions.forget_facts(owner, [fact.pk]))
        outcome = import_document([self.ROW])
        assert [r.why for r in outcome.refusals] == ["You have deleted this memory here."]
        assert import_document([self.ROW], forgotten=True).facts.added == 1

    def test_a_memory_with_only_an_update_time_gets_that_time(self, owner, import_document):
        import_document([self.ROW | {"updated_at": "2024-05-01T10:00:00+00:00"}])
        assert Fact.objects.get().last_seen == datetime(2024, 5, 1, 10, tzinfo=UTC)

    def test_a_deleted_fact_with_a_redacted_secret_is_not_imported_again(self, owner, import_document):
        row = {"id": "2", "memory": "The password is hunter2-Tango", "created_at": "2024-05-01T10:00:00Z"}
        import_document([row])
        fact = Fact.objects.get()
        assert "hunter2" not in fact.text
        finish_yesterday(deletions.forget_facts(owner, [fact.pk]))
        assert import_document([row]).forgotten == 1


@pytest.mark.django_db
class TestChats:
    def test_undated_messages_are_not_extracted_after_a_clear_all(self, owner, import_document):
        add_fact(owner, "Likes something")
        pressed_at = finish_yesterday(deletions.clear_memory(owner))
        import_document(undated_chatgpt(), learn=True)
        messages = Message.objects.all()
        assert messages.count() == 6
        assert not any(deletions.is_extraction_allowed(owner, message.created_at) for message in messages)
        assert not messages.filter(created_at__gte=pressed_at).exists()
        # The conversation counts as new, so pruning does not delete it as the oldest.
        assert not Conversation.objects.filter(updated_at__lt=pressed_at).exists()

    def test_undated_messages_do_not_restore_a_deleted_fact(self, owner, import_document):
        fact = add_fact(owner, "User likes chess")
        finish_yesterday(deletions.forget_facts(owner, [fact.pk]))
        import_document(undated_chatgpt(), learn=True)
        said = FactCandidate("User likes chess", "likes", "preference", "", hedged=False, quote="chess")
        for message in Message.objects.all():
            assert RelearningGuard(message).find_objection(said, None, "")

    def test_without_deletions_undated_messages_get_the_current_time(self, owner, import_document):
        before = timezone.now()
        import_document(undated_chatgpt(), learn=True)
        assert Message.objects.filter(created_at__gte=before.replace(microsecond=0)).count() == 6

    def test_only_messages_with_a_date_of_their_own_have_a_known_date(self, owner, import_document):
        chats = json.loads((SAMPLES / "claude.json").read_bytes())
        del chats[0]["chat_messages"][1]["created_at"]
        import_document(chats)
        inferred = Message.objects.filter(date_inferred=True)
        assert [str(message.pk) for message in inferred] == [chats[0]["chat_messages"][1]["uuid"]]

    def test_an_undated_message_stays_undated_in_an_export(self, owner, import_document):
        import_document(undated_chatgpt())
        exported = document(owner)
        assert Message.objects.filter(date_inferred=True).count() == 6
        wipe(owner)
        import_document(json.loads(exported), forgotten=True)
        assert Message.objects.filter(date_inferred=True).count() == 6

    def test_an_undated_reply_gets_the_time_of_its_question(self, owner, import_document):
        chats = json.loads((SAMPLES / "claude.json").read_bytes())
        said = chats[0]["chat_messages"]
        first = datetime.fromisoformat(said[0]["created_at"])
        del said[1]["created_at"]
        import_document(chats)
        answer = Message.objects.get(pk=said[1]["uuid"])
        assert answer.created_at == first
