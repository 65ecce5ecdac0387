"""Records that nothing reads any more are deleted at night; what may still be read stays."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from chat.actions import deletions
from chat.actions.facts import add_fact
from chat.actions.old_records import delete_old_records
from chat.actions.usage import record_call
from chat.llm.types import Lane, Usage
from chat.models import Deletion, UsageRecord

pytestmark = pytest.mark.django_db
YEARS = timedelta(days=800)


def test_old_usage_and_ended_login_sessions_are_deleted(owner):
    now = timezone.now()
    record_call(owner.pk, "reply", Lane.CHAT, Usage(), "stop")
    record_call(owner.pk, "title", Lane.CHAT, Usage(), "stop")
    UsageRecord.objects.filter(purpose="title").update(created_at=now - YEARS)
    Session.objects.create(session_key="old", session_data="", expire_date=now - timedelta(days=1))
    Session.objects.create(session_key="new", session_data="", expire_date=now + timedelta(days=1))
    delete_old_records(now)
    assert [row.purpose for row in UsageRecord.objects.all()] == ["reply"]
    assert [row.session_key for row in Session.objects.all()] == ["new"]


def test_records_of_finished_deletions_go_and_those_that_are_read_stay(owner):
    done = deletions.forget_facts(owner, [add_fact(owner, "I love tea").pk])
    deletions.finish_deletion(done.pk, done.expires_at + deletions.UNDO_GRACE)
    undone = deletions.forget_facts(owner, [add_fact(owner, "I love coffee").pk])
    deletions.undo_deletion(undone)
    cleared = deletions.clear_memory(owner)
    deletions.finish_deletion(cleared.pk, cleared.expires_at + deletions.UNDO_GRACE)
    add_fact(owner, "I love cocoa")
    pending = deletions.forget_facts(owner, [add_fact(owner, "I love milk").pk])
    delete_old_records(timezone.now())
    assert Deletion.objects.count() == 4
    delete_old_records(timezone.now() + timedelta(days=100))
    assert set(Deletion.objects.values_list("pk", flat=True)) == {cleared.pk, pending.pk}
