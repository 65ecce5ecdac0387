"""What nobody knows when was said was said before anything that was forgotten."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from chat.actions import deletions
from chat.actions.facts import add_fact
from chat.actions.importing.forgotten import bars
from chat.actions.tombstones import Gate
from chat.memory.extract import Candidate
from chat.models import Conversation, Deletion, Fact, Message, Tombstone
from chat.porting.said import Said, date

from .conftest import SAMPLES

moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
EARLY = datetime(2024, 1, 1, tzinfo=UTC)


@given(pressed_at=st.none() | moments, said_at=st.none() | moments, earlier=st.timedeltas(timedelta(0)))
def test_a_press_bars_what_was_said_before_it_and_what_has_no_date(pressed_at, said_at, earlier):
    barred = bars(pressed_at, said_at)
    assert bars(pressed_at, None) == (pressed_at is not None)
    if said_at is not None:
        assert barred == (pressed_at is not None and pressed_at >= said_at)
        if barred and said_at - EARLY > earlier:
            assert bars(pressed_at, said_at - earlier)


@given(data=st.data(), count=st.integers(1, 12), begun_known=st.booleans())
def test_without_its_date_a_message_is_never_taken_to_be_later_than_it_was(data, count, begun_known):
    """Loses dates of a true conversation and puts what can be known of them back."""
    true, rows = [], []
    for number in range(count):
        parent = data.draw(st.integers(-1, number - 1))
        after = data.draw(st.integers(0, 100))
        true.append((EARLY if parent < 0 else true[parent]) + timedelta(seconds=after))
        known = data.draw(st.booleans())
        rows.append(Said(str(number), None, {"created_at": true[number] if known else None}))
        if parent >= 0:
            rows[parent].children.append(rows[number])
        else:
            rows[number].parent = "root"
    date([row for row in rows if row.parent], EARLY if begun_known else None, timezone.now())
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
    """Let a batch have been forgotten for good a day ago."""
    deletions.finish(deletion.pk, timezone.now() + timedelta(minutes=1))
    pressed_at = timezone.now() - timedelta(days=1)
    for model in (Deletion, Tombstone):
        model.objects.update(pressed_at=pressed_at)
    return pressed_at


@pytest.mark.django_db
class TestMem0:
    ROW = {"id": "1", "memory": "Likes green tea"}

    def test_an_undated_memory_stays_forgotten(self, owner, taken):
        fact = add_fact(owner, "Likes green tea")
        finish_yesterday(deletions.forget(owner, [fact.pk]))
        outcome = taken([self.ROW])
        assert [r.why for r in outcome.refusals] == ["You have forgotten this here."]
        assert taken([self.ROW], forgotten=True).facts.added == 1

    def test_one_that_only_says_when_it_changed_is_of_that_time(self, owner, taken):
        taken([self.ROW | {"updated_at": "2024-05-01T10:00:00+00:00"}])
        assert Fact.objects.get().last_seen == datetime(2024, 5, 1, 10, tzinfo=UTC)

    def test_a_secret_that_was_kept_without_itself_stays_forgotten(self, owner, taken):
        row = {"id": "2", "memory": "The password is hunter2-Tango", "created_at": "2024-05-01T10:00:00Z"}
        taken([row])
        fact = Fact.objects.get()
        assert "hunter2" not in fact.text
        finish_yesterday(deletions.forget(owner, [fact.pk]))
        assert taken([row]).forgotten == 1


@pytest.mark.django_db
class TestChats:
    def test_memory_does_not_read_undated_messages_after_all_was_forgotten(self, owner, taken):
        add_fact(owner, "Likes something")
        pressed_at = finish_yesterday(deletions.clear_all(owner))
        taken(undated_chatgpt(), learn=True)
        messages = Message.objects.all()
        assert messages.count() == 6
        assert not any(deletions.may_read(owner, message.created_at) for message in messages)
        assert not messages.filter(created_at__gte=pressed_at).exists()
        # The chat itself is new here, and not the first to be deleted by age.
        assert not Conversation.objects.filter(updated_at__lt=pressed_at).exists()

    def test_nor_learns_from_them_what_was_forgotten_alone(self, owner, taken):
        fact = add_fact(owner, "User likes chess")
        finish_yesterday(deletions.forget(owner, [fact.pk]))
        taken(undated_chatgpt(), learn=True)
        said = Candidate("User likes chess", "likes", "preference", "", hedged=False, quote="chess")
        for message in Message.objects.all():
            assert Gate(message).against(said, None, "")

    def test_where_nothing_was_ever_forgotten_they_are_of_now(self, owner, taken):
        before = timezone.now()
        taken(undated_chatgpt(), learn=True)
        assert Message.objects.filter(created_at__gte=before.replace(microsecond=0)).count() == 6

    def test_an_undated_answer_is_of_the_time_of_what_it_answers(self, owner, taken):
        chats = json.loads((SAMPLES / "claude.json").read_bytes())
        said = chats[0]["chat_messages"]
        first = datetime.fromisoformat(said[0]["created_at"])
        del said[1]["created_at"]
        taken(chats)
        answer = Message.objects.get(pk=said[1]["uuid"])
        assert answer.created_at == first
