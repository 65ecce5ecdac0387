"""Jobs in the admin site can be inspected, run again and cancelled without corrupting the queue."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse
from django.utils import timezone

from chat.actions import jobs
from chat.models import Job

pytestmark = pytest.mark.django_db
LIST = "admin:chat_job_changelist"


@pytest.fixture
def jobs_by_state(owner):
    """A job in each state."""
    now = timezone.now()
    later = now + timedelta(hours=1)
    lease = now + timedelta(minutes=1)
    return {
        "due": Job.objects.create(kind="extract", payload={"conversation": "c-1"}, dedupe_key="extract:c-1"),
        "later": Job.objects.create(kind="title", run_after=later),
        "running": Job.objects.create(kind="prepare", lease_until=lease, attempts=1),
        "failed": Job.objects.create(kind="warm", failed_at=now, attempts=5, last_error="ValueError: no"),
        "promised": Job.objects.create(kind="finish_deletion", run_after=later),
    }


def act(client, action: str, *rows: Job):
    chosen = [str(row.pk) for row in rows]
    return client.post(reverse(LIST), {"action": action, "_selected_action": chosen}, follow=True)


def test_each_job_can_be_inspected(ours, jobs_by_state):
    page = ours.get(reverse(LIST)).content.decode()
    for words in ("running", "given up", "ValueError: no", "conversation c-1"):
        assert words in page
    page = ours.get(reverse("admin:chat_job_change", args=[jobs_by_state["due"].pk])).content.decode()
    assert "&quot;conversation&quot;: &quot;c-1&quot;" in page


@pytest.mark.parametrize(
    ("state", "kinds"),
    [
        ("due", {"extract"}),
        ("later", {"title", "finish_deletion"}),
        ("running", {"prepare"}),
        ("failed", {"warm"}),
    ],
)
def test_jobs_can_be_filtered_by_state(ours, jobs_by_state, state, kinds):
    rows = ours.get(reverse(LIST), {"state": state}).context["cl"].queryset
    assert {row.kind for row in rows} == kinds


def test_failed_and_waiting_jobs_can_be_run_again(ours, jobs_by_state):
    act(ours, "run_again", jobs_by_state["failed"], jobs_by_state["later"])
    for name in ("failed", "later"):
        job = Job.objects.get(pk=jobs_by_state[name].pk)
        assert (job.failed_at, job.attempts) == (None, 0)
        assert job.run_after <= timezone.now()


def test_a_running_job_is_run_again_only_after_it_has_completed(ours, jobs_by_state):
    running = jobs_by_state["running"]
    act(ours, "run_again", running)
    assert jobs.claim(["prepare"], timezone.now()) is None
    jobs.complete(running)
    assert jobs.claim(["prepare"], timezone.now()) is not None


def test_waiting_jobs_are_cancelled_but_not_running_ones_and_pending_deletions(ours, jobs_by_state):
    page = act(ours, "cancel", *jobs_by_state.values()).content.decode()
    assert set(Job.objects.values_list("kind", flat=True)) == {"prepare", "finish_deletion"}
    assert "3 cancelled." in page
    assert "2 cannot be cancelled" in page


def test_a_job_with_an_expired_lease_can_be_cancelled(ours, jobs_by_state):
    Job.objects.filter(kind="prepare").update(lease_until=timezone.now() - timedelta(minutes=1))
    act(ours, "cancel", jobs_by_state["running"])
    assert not Job.objects.filter(kind="prepare").exists()


def test_a_user_with_view_permission_can_neither_cancel_nor_rerun_jobs(
    jobs_by_state, other, logged_in, server_mode
):
    other.is_staff = True
    other.save()
    other.user_permissions.add(Permission.objects.get(codename="view_job"))
    client = logged_in(other)
    assert client.get(reverse(LIST)).status_code == 200
    act(client, "cancel", jobs_by_state["due"])
    act(client, "run_again", jobs_by_state["failed"])
    assert Job.objects.filter(pk=jobs_by_state["due"].pk).exists()
    assert Job.objects.get(pk=jobs_by_state["failed"].pk).failed_at
