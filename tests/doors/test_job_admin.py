"""Jobs in the admin site: looked at, run again, cancelled, without breaking anything."""

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
def some(owner):
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


def test_each_can_be_looked_at(ours, some):
    page = ours.get(reverse(LIST)).content.decode()
    for words in ("running", "given up", "ValueError: no", "conversation c-1"):
        assert words in page
    page = ours.get(reverse("admin:chat_job_change", args=[some["due"].pk])).content.decode()
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
def test_they_can_be_filtered_by_what_they_do(ours, some, state, kinds):
    rows = ours.get(reverse(LIST), {"state": state}).context["cl"].queryset
    assert {row.kind for row in rows} == kinds


def test_what_gave_up_or_waits_runs_again(ours, some):
    act(ours, "run_again", some["failed"], some["later"])
    for name in ("failed", "later"):
        job = Job.objects.get(pk=some[name].pk)
        assert (job.failed_at, job.attempts) == (None, 0)
        assert job.run_after <= timezone.now()


def test_what_runs_now_runs_once_more_after_that_and_not_beside_it(ours, some):
    running = some["running"]
    act(ours, "run_again", running)
    assert jobs.claim(["prepare"], timezone.now()) is None
    jobs.done(running)
    assert jobs.claim(["prepare"], timezone.now()) is not None


def test_what_waits_is_cancelled_and_what_runs_or_was_promised_is_not(ours, some):
    page = act(ours, "cancel", *some.values()).content.decode()
    assert set(Job.objects.values_list("kind", flat=True)) == {"prepare", "finish_deletion"}
    assert "3 cancelled." in page
    assert "2 cannot be cancelled" in page


def test_a_lease_that_ran_out_does_not_keep_a_job_from_being_cancelled(ours, some):
    Job.objects.filter(kind="prepare").update(lease_until=timezone.now() - timedelta(minutes=1))
    act(ours, "cancel", some["running"])
    assert not Job.objects.filter(kind="prepare").exists()


def test_who_may_only_look_is_offered_nothing(some, other, logged_in, server_mode):
    other.is_staff = True
    other.save()
    other.user_permissions.add(Permission.objects.get(codename="view_job"))
    client = logged_in(other)
    assert client.get(reverse(LIST)).status_code == 200
    act(client, "cancel", some["due"])
    act(client, "run_again", some["failed"])
    assert Job.objects.filter(pk=some["due"].pk).exists()
    assert Job.objects.get(pk=some["failed"].pk).failed_at
