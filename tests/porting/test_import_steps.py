"""An import writes in short steps; when it is killed after one, no row is lost or duplicated."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import importing
from chat.actions.facts import add_fact
from chat.actions.importing import append, chats, fact_writer, run
from chat.jobs.maintenance import finish_import
from chat.models import AppMemory, Conversation, Deletion, Fact, FactEvent, Job, Message, Relationship

from .conftest import as_json, document, wipe
from .sample_data import create_sample_data

pytestmark = pytest.mark.django_db


class Killed(BaseException):
    """An exception that no handler in the import catches."""


@pytest.fixture
def kill_import(monkeypatch):
    """Return a function that imports a file and kills the import at the nth call of a given function."""

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
                importing.import_file(owner, path)
        Deletion.objects.filter(state="staged").update(expires_at=timezone.now() - timedelta(seconds=1))

    return kill


def make_mem0_export(count, text="Likes tea number {}"):
    rows = [{"id": f"m{n}", "memory": text.format(n), "user_id": "me"} for n in range(count)]
    return {"results": [row | {"created_at": "2024-05-01T10:00:00+00:00"} for row in rows]}


class TestFacts:
    def test_facts_over_the_cap_are_archived_without_classification(
        self, owner, import_document, monkeypatch
    ):
        monkeypatch.setattr(fact_writer, "_FACTS_AT_ONCE", 40)
        assert import_document(make_mem0_export(170)).facts.added == 170
        assert (Fact.objects.live().count(), Fact.objects.archived().count()) == (150, 20)
        assert FactEvent.objects.filter(kind="evict").count() == 20
        assert Job.objects.filter(kind="settle").count() == 150
        assert not Relationship.objects.filter(source_fact__archived_at__isnull=False, valid=True).exists()
        assert import_document(make_mem0_export(170)).facts.there == 170

    @pytest.mark.parametrize("removes", [True, False])
    def test_an_import_killed_between_two_steps_shows_no_facts(
        self, owner, file, kill_import, monkeypatch, removes
    ):
        before = document(owner)
        monkeypatch.setattr(fact_writer, "_FACTS_AT_ONCE", 4)
        path = file(make_mem0_export(10))
        kill_import(owner, path, fact_writer, "keep_batch_alive", 3, removes=removes)
        assert Fact.objects.count() == (0 if removes else 8)
        assert document(owner) == before
        assert importing.dry_run(owner, path).facts.added == 10
        assert importing.import_file(owner, path).facts.added == 10
        assert (Fact.objects.live().count(), Fact.objects.count()) == (10, 10)

    def test_a_job_finishes_an_import_killed_after_publishing(self, owner, file, kill_import):
        path = file(make_mem0_export(3, "Lives in Town{}"))
        kill_import(owner, path, fact_writer, "finish_import")
        # Even before the job has run, a single-valued kind has only one live fact.
        assert (Fact.objects.live().count(), Fact.objects.count()) == (1, 3)
        assert not Relationship.objects.filter(valid=True).exists()
        finish_import(Job.objects.get(kind="finish_import").payload)
        assert Fact.objects.live().count() == 1
        assert Relationship.objects.filter(valid=True).count() == 1
        assert not importing.import_file(owner, path).changes

    def test_a_fact_added_during_the_import_is_not_duplicated(self, owner, file, monkeypatch):
        real = run.keep_batch_alive

        def add_fact_meanwhile(batch):
            real(batch)
            add_fact(owner, "Likes tea number 7")

        monkeypatch.setattr(run, "keep_batch_alive", add_fact_meanwhile)
        outcome = importing.import_file(owner, file(make_mem0_export(150)))
        assert (outcome.facts.added, outcome.facts.there) == (149, 1)
        assert Fact.objects.filter(text="Likes tea number 7").count() == 1
        assert Fact.objects.live().count() == 150

    def test_a_fact_added_during_the_import_keeps_the_cap(self, owner, file, monkeypatch):
        real = run.keep_batch_alive

        def add_fact_meanwhile(batch):
            real(batch)
            add_fact(owner, "Likes coffee")

        monkeypatch.setattr(run, "keep_batch_alive", add_fact_meanwhile)
        outcome = importing.import_file(owner, file(make_mem0_export(150)))
        assert outcome.notes == ["There is room for 150 memories: 1 goes to the archive at once."]
        assert (Fact.objects.live().count(), Fact.objects.archived().count()) == (150, 1)

    def test_supersession_is_imported_in_any_order_of_facts(self, owner, import_document, monkeypatch):
        create_sample_data(owner, messages=4, facts=2)
        found = as_json(owner)
        chain = dict(Fact.objects.exclude(supersedes=None).values_list("pk", "supersedes"))
        wipe(owner)
        monkeypatch.setattr(fact_writer, "_FACTS_AT_ONCE", 1)
        for order in (1, -1):
            import_document(found | {"facts": found["facts"][::order]})
            assert dict(Fact.objects.exclude(supersedes=None).values_list("pk", "supersedes")) == chain
            wipe(owner)

    def test_changed_facts_are_imported_one_by_one(self, owner, file, kill_import, monkeypatch):
        create_sample_data(owner, messages=4, facts=4)
        longer_export = as_json(owner)
        for event in FactEvent.objects.order_by("-created_at")[:8]:
            event.delete()
        Fact.objects.update(confidence=0.5)
        monkeypatch.setattr(fact_writer, "_CHANGES_AT_ONCE", 1)
        path = file(longer_export)
        wanted = importing.dry_run(owner, path).facts.changed
        kill_import(owner, path, fact_writer, "_update_portion", 3)
        assert importing.dry_run(owner, path).facts.changed == wanted - 2
        importing.import_file(owner, path)
        assert as_json(owner)["facts"] == longer_export["facts"]


class TestConversations:
    def test_a_long_conversation_is_written_in_steps(self, owner, file, kill_import, monkeypatch):
        create_sample_data(owner, messages=20, in_a_chat=20, facts=0)
        whole = document(owner)
        path = file(whole)
        wipe(owner)
        empty = document(owner)
        monkeypatch.setattr(chats, "_MESSAGES", 3)
        kill_import(owner, path, chats, "keep_batch_alive", 4)
        assert (Message.objects.count(), document(owner)) == (8, empty)
        importing.import_file(owner, path)
        assert document(owner) == whole

    @pytest.fixture
    def longer_export(self, owner):
        """An export of three conversations of which the database has only the first five messages each."""
        create_sample_data(owner, messages=30, in_a_chat=10, facts=0)
        found = as_json(owner)
        Message.objects.filter(seq__gt=5).update(replaced_by=None)
        Message.objects.filter(seq__gt=5).delete()
        AppMemory.objects.all().delete()
        return found

    @pytest.mark.parametrize("step", [(append, "keep_batch_alive", 3), (run.AppMemoryPlan, "write", 1)])
    def test_importing_the_file_again_completes_a_killed_import(
        self, owner, longer_export, file, kill_import, step
    ):
        path = file(longer_export)
        kill_import(owner, path, *step)
        assert importing.import_file(owner, path).app_memories.added == 3
        rows = Message.objects.order_by("conversation__created_at", "seq")
        assert [str(m.pk) for m in rows] == [
            m["id"] for c in longer_export["conversations"] for m in c["messages"]
        ]
        assert as_json(owner)["apps"] == longer_export["apps"]
        assert not importing.import_file(owner, path).changes

    def test_unextracted_messages_stay_unextracted_after_an_import(
        self, owner, add_exchange, import_document
    ):
        chat = add_exchange("read")
        add_exchange("not read yet", chat)
        Conversation.objects.update(extracted_through=1)
        add_exchange("said elsewhere", chat)
        longer_export = as_json(owner)
        Message.objects.filter(seq__gt=4).delete()
        import_document(longer_export)
        chat.refresh_from_db()
        assert [m.content for m in Message.objects.not_extracted(chat)] == ["not read yet"]
        assert [m.content for m in Message.objects.backlog(owner)] == ["not read yet"]
        add_exchange("said later", chat)
        longest = as_json(owner)
        Message.objects.filter(seq__gt=6).delete()
        import_document(longest)
        Conversation.objects.update(extracted_through=3)
        assert not Message.objects.backlog(owner).exists()
        add_exchange("after all of it", chat)
        assert [m.content for m in Message.objects.backlog(owner)] == ["after all of it"]
