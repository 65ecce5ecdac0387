"""What was forgotten here stays so, also where an older file still tells of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import deletions
from chat.actions.facts import add_fact, edit_fact
from chat.actions.keeping import delete
from chat.models import AppMemory, Conversation, Fact, FactEvent, Message

from .conftest import as_json
from .worlds import SOME_FACT, build

pytestmark = pytest.mark.django_db


def finish(deletion):
    deletions.finish(deletion.pk, timezone.now() + timedelta(minutes=1))


class TestForgotten:
    def test_what_was_forgotten_here_does_not_come_back_by_an_older_file(self, owner, taken):
        fact = add_fact(owner, "I like green tea")
        older = as_json(owner)
        finish(deletions.forget(owner, [fact.pk]))
        outcome = taken(older)
        assert [(r.what, r.why) for r in outcome.refusals] == [
            ("I like green tea", "You have forgotten this here.")
        ]
        assert not Fact.objects.exists()

    def test_unless_the_owner_wants_it_back(self, owner, taken):
        fact = add_fact(owner, "I like green tea")
        older = as_json(owner)
        finish(deletions.forget(owner, [fact.pk]))
        taken(older, forgotten=True)
        assert Fact.objects.get().text == "I like green tea"
        assert not taken(older).changes

    def test_what_was_learned_again_later_comes_in(self, owner, taken, clock):
        fact = add_fact(owner, "I like green tea")
        finish(deletions.forget(owner, [fact.pk]))
        clock(3600)
        fact = add_fact(owner, "I like green tea")
        newer = as_json(owner)
        Fact.objects.all().delete()
        assert taken(newer).facts.added == 1

    def test_what_is_on_its_way_out_does_not_come_back_either(self, owner, taken):
        fact = add_fact(owner, "I like green tea")
        older = as_json(owner)
        deletions.forget(owner, [fact.pk])
        outcome = taken(older)
        assert outcome.facts.refused == 1
        assert not Fact.objects.live().exists()

    def test_notes_and_reports_do_not_tell_it_again(self, owner, taken):
        build(owner)
        fact = add_fact(owner, "User likes tea")
        older = as_json(owner)
        chat = older["conversations"][0]
        chat["messages"][1]["report"]["facts"] = [str(fact.pk), SOME_FACT]
        finish(deletions.forget(owner, [fact.pk]))
        delete(Conversation.objects.get())
        taken(older)
        assert not Message.objects.filter(note__contains="tea").exists()
        assert Message.objects.get(seq=2).report.facts == [SOME_FACT]

    def test_nor_does_the_history_of_another_fact(self, owner, taken):
        fact = add_fact(owner, "I like tea")
        edit_fact(fact, "I like green tea")
        older = as_json(owner)
        Fact.objects.all().delete()
        twin = add_fact(owner, "I like tea")
        finish(deletions.forget(owner, [twin.pk]))
        taken(older)
        assert "text" not in FactEvent.objects.get(kind="add").after

    def test_what_an_app_has_forgotten_of_a_chat_stays_forgotten(self, owner, spoken, taken):
        chat = spoken("one")
        memory = AppMemory.objects.create(
            owner=owner, app=chat.app, content="One.", source_conversation=chat, metadata={"through": 2}
        )
        older = as_json(owner)
        finish(deletions.forget_app_memories(chat.app, [memory.pk]))
        outcome = taken(older)
        assert [r.why for r in outcome.refusals] == ["You have forgotten this here."]
        assert not AppMemory.objects.exists()
