"""An import writes in short steps; killed after any of them, nothing is lost and nothing is there twice."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import importing
from chat.actions.facts import add_fact
from chat.actions.importing import after, chats, going_on, run, storing
from chat.jobs.handlers import finish_import
from chat.models import AppMemory, Conversation, Deletion, Fact, FactEvent, Job, Message, Relationship

from .conftest import as_json, document, wipe
from .worlds import build

pytestmark = pytest.mark.django_db


class Killed(BaseException):
    """What no handler catches."""


@pytest.fixture
def killed(monkeypatch):
    """Returns who lets an import of a file be killed when it calls something for the nth time."""

    def kill(owner, path, module, name, times=1, *, removes=False):
        with monkeypatch.context() as patch:
            real, count = getattr(module, name), iter(range(1, 999))

            def call(*args, **named):
                if next(count) == times:
                    raise Killed
                return real(*args, **named)

            patch.setattr(module, name, call)
            if not removes:
                patch.setattr("chat.actions.importing.staging._remove", lambda batch: None)
            with pytest.raises(Killed):
                importing.carry_out(owner, path)
        Deletion.objects.filter(state="staged").update(expires_at=timezone.now() - timedelta(seconds=1))

    return kill


def memories(count, text="Likes tea number {}"):
    rows = [{"id": f"m{n}", "memory": text.format(n), "user_id": "me"} for n in range(count)]
    return {"results": [row | {"created_at": "2024-05-01T10:00:00+00:00"} for row in rows]}


class TestFacts:
    def test_more_than_memory_holds_go_to_the_archive_and_to_no_model(self, owner, taken, monkeypatch):
        monkeypatch.setattr(storing, "_AT_ONCE", 40)
        assert taken(memories(170)).facts.added == 170
        assert (Fact.objects.live().count(), Fact.objects.archived().count()) == (150, 20)
        assert FactEvent.objects.filter(kind="evict").count() == 20
        assert Job.objects.filter(kind="settle").count() == 150
        assert not Relationship.objects.filter(source_fact__archived_at__isnull=False, valid=True).exists()
        assert taken(memories(170)).facts.there == 170

    @pytest.mark.parametrize("removes", [True, False])
    def test_killed_between_two_portions_none_is_there(self, owner, file, killed, monkeypatch, removes):
        before = document(owner)
        monkeypatch.setattr(storing, "_AT_ONCE", 4)
        path = file(memories(10))
        killed(owner, path, storing, "hold", 3, removes=removes)
        assert Fact.objects.count() == (0 if removes else 8)
        assert document(owner) == before
        assert importing.dry_run(owner, path).facts.added == 10
        assert importing.carry_out(owner, path).facts.added == 10
        assert (Fact.objects.live().count(), Fact.objects.count()) == (10, 10)

    def test_killed_once_they_are_shown_a_job_does_the_rest(self, owner, file, killed):
        path = file(memories(3, "Lives in Town{}"))
        killed(owner, path, after, "finish")
        # Of a kind with one value nobody ever sees two.
        assert (Fact.objects.live().count(), Fact.objects.count()) == (1, 3)
        assert not Relationship.objects.filter(valid=True).exists()
        finish_import(Job.objects.get(kind="finish_import").payload)
        assert Fact.objects.live().count() == 1
        assert Relationship.objects.filter(valid=True).count() == 1
        assert not importing.carry_out(owner, path).changes

    def test_what_was_learned_while_they_were_written_counts(self, owner, file, monkeypatch):
        real = run.hold

        def learn(batch):
            real(batch)
            add_fact(owner, "Likes tea number 7")

        monkeypatch.setattr(run, "hold", learn)
        outcome = importing.carry_out(owner, file(memories(150)))
        assert (outcome.facts.added, outcome.facts.there) == (149, 1)
        assert Fact.objects.filter(text="Likes tea number 7").count() == 1
        assert Fact.objects.live().count() == 150

    def test_nor_are_there_too_many_then(self, owner, file, monkeypatch):
        real = run.hold

        def learn(batch):
            real(batch)
            add_fact(owner, "Likes coffee")

        monkeypatch.setattr(run, "hold", learn)
        outcome = importing.carry_out(owner, file(memories(150)))
        assert outcome.notes == ["There is room for 150 memories: 1 goes to the archive at once."]
        assert (Fact.objects.live().count(), Fact.objects.archived().count()) == (150, 1)

    def test_what_replaced_another_does_so_in_whatever_order_they_are_written(
        self, owner, taken, monkeypatch
    ):
        build(owner, messages=4, facts=2)
        found = as_json(owner)
        chain = dict(Fact.objects.exclude(supersedes=None).values_list("pk", "supersedes"))
        wipe(owner)
        monkeypatch.setattr(storing, "_AT_ONCE", 1)
        for order in (1, -1):
            taken(found | {"facts": found["facts"][::order]})
            assert dict(Fact.objects.exclude(supersedes=None).values_list("pk", "supersedes")) == chain
            wipe(owner)

    def test_those_that_went_on_elsewhere_follow_one_by_one(self, owner, file, killed, monkeypatch):
        build(owner, messages=4, facts=4)
        longer = as_json(owner)
        for event in FactEvent.objects.order_by("-created_at")[:8]:
            event.delete()
        Fact.objects.update(confidence=0.5)
        monkeypatch.setattr(after, "_AT_ONCE", 1)
        path = file(longer)
        wanted = importing.dry_run(owner, path).facts.changed
        killed(owner, path, after, "_change", 3)
        assert importing.dry_run(owner, path).facts.changed == wanted - 2
        importing.carry_out(owner, path)
        assert as_json(owner)["facts"] == longer["facts"]


class TestConversations:
    def test_a_long_one_is_written_a_little_at_a_time(self, owner, file, killed, monkeypatch):
        build(owner, messages=20, in_a_chat=20, facts=0)
        whole = document(owner)
        path = file(whole)
        wipe(owner)
        empty = document(owner)
        monkeypatch.setattr(chats, "_MESSAGES", 3)
        killed(owner, path, chats, "hold", 4)
        assert (Message.objects.count(), document(owner)) == (8, empty)
        importing.carry_out(owner, path)
        assert document(owner) == whole

    @pytest.fixture
    def longer(self, owner):
        """A file of three chats, of which each was half as long here."""
        build(owner, messages=30, in_a_chat=10, facts=0)
        found = as_json(owner)
        Message.objects.filter(seq__gt=5).update(replaced_by=None)
        Message.objects.filter(seq__gt=5).delete()
        AppMemory.objects.all().delete()
        return found

    @pytest.mark.parametrize("step", [(going_on, "hold", 3), (run.Told, "write", 1)])
    def test_killed_in_between_the_same_file_does_the_rest(self, owner, longer, file, killed, step):
        path = file(longer)
        killed(owner, path, *step)
        assert importing.carry_out(owner, path).app_memories.added == 3
        rows = Message.objects.order_by("conversation__created_at", "seq")
        assert [str(m.pk) for m in rows] == [m["id"] for c in longer["conversations"] for m in c["messages"]]
        assert as_json(owner)["apps"] == longer["apps"]
        assert not importing.carry_out(owner, path).changes

    def test_what_was_said_here_and_not_read_yet_still_is(self, owner, spoken, taken):
        chat = spoken("read")
        spoken("not read yet", chat)
        Conversation.objects.update(extracted_through=1)
        spoken("said elsewhere", chat)
        longer = as_json(owner)
        Message.objects.filter(seq__gt=4).delete()
        taken(longer)
        chat.refresh_from_db()
        assert [m.content for m in Message.objects.unread_by_memory(chat)] == ["not read yet"]
        assert [m.content for m in Message.objects.backlog(owner)] == ["not read yet"]
        spoken("said later", chat)
        longest = as_json(owner)
        Message.objects.filter(seq__gt=6).delete()
        taken(longest)
        Conversation.objects.update(extracted_through=3)
        assert not Message.objects.backlog(owner).exists()
        spoken("after all of it", chat)
        assert [m.content for m in Message.objects.backlog(owner)] == ["after all of it"]
