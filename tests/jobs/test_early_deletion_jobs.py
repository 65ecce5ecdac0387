"""A deletion job run from the admin site within the undo window is neither finished early nor lost."""

from __future__ import annotations

import pytest
from django.utils import timezone

from chat.actions import deletions, jobs
from chat.jobs.runner import run_due
from chat.models import Deletion, Fact, Job

pytestmark = pytest.mark.django_db


def test_the_job_is_postponed_to_the_deadline(owner, clock, make_fact):
    clock(0)
    gone = deletions.forget_facts(owner, [make_fact("User likes tea").pk])
    job = Job.objects.get(kind="finish_deletion")
    jobs.run_again([job.pk], timezone.now())
    run_due(["finish_deletion"])
    assert Deletion.objects.get().state == "pending"
    job.refresh_from_db()
    assert job.run_after == gone.expires_at + deletions.UNDO_GRACE
    deletions.undo_deletion(gone)
    assert Fact.objects.live().count() == 1


def test_the_job_finishes_the_deletion_after_the_deadline(owner, clock, make_fact):
    clock(0)
    deletions.forget_facts(owner, [make_fact("User likes tea").pk])
    jobs.run_again(Job.objects.values_list("pk", flat=True), timezone.now())
    run_due(["finish_deletion"])
    clock(5.5)
    run_due(["finish_deletion"])
    assert not Fact.objects.exists()
    assert not Job.objects.filter(kind="finish_deletion").exists()


def test_the_job_of_an_undone_deletion_is_deleted(owner, clock, make_fact):
    clock(0)
    deletions.undo_deletion(deletions.forget_facts(owner, [make_fact("User likes tea").pk]))
    clock(10)
    run_due(["finish_deletion"])
    assert not Job.objects.filter(kind="finish_deletion").exists()
    assert Fact.objects.live().count() == 1
