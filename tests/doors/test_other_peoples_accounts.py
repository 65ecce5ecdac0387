"""Deletion of another person's account by an admin, and the limits that an admin sets for one person."""

from __future__ import annotations

import pytest

from chat.actions import accounts, people, quotas
from chat.actions.facts import add_fact
from chat.jobs.runner import run_due
from chat.models import Deletion, Fact, PersonQuota, User

from .test_people import admin as admin
from .test_people import do
from .test_people import page as page

pytestmark = pytest.mark.django_db


class TestDeletion:
    """A deactivated account can be deleted; for a day it can be brought back, then nothing of it is left."""

    @pytest.fixture
    def closed(self, page, other):
        """A deactivated person with a memory."""
        add_fact(other, "I love hiking")
        do(page, other, "deactivate")
        return other

    def test_it_is_gone_with_everything_after_a_day(self, page, closed, clock):
        assert do(page, closed, "delete").status_code == 302
        assert "It will be deleted for good on" in page.get("/people/").content.decode()
        clock(23 * 3600)
        run_due(["finish_deletion"])
        assert User.objects.filter(pk=closed.pk).exists()
        clock(3600 + 2)
        run_due(["finish_deletion"])
        assert not User.objects.filter(pk=closed.pk).exists()
        assert not Fact.objects.filter(owner_id=closed.pk).exists()

    def test_it_can_be_brought_back_and_stays_deactivated(self, page, closed, clock):
        do(page, closed, "delete")
        assert not Fact.objects.for_owner(closed).live().exists()
        clock(3600)
        assert do(page, closed, "restore").status_code == 302
        assert Fact.objects.for_owner(closed).live().count() == 1
        assert not User.objects.get(pk=closed.pk).is_active
        clock(2 * 86400)
        run_due(["finish_deletion"])
        assert User.objects.filter(pk=closed.pk).exists()

    def test_it_cannot_be_reactivated_or_deleted_twice_meanwhile(self, page, closed):
        do(page, closed, "delete")
        for what in ("reactivate", "delete"):
            answer = do(page, closed, what, **{"hx-request": "true"})
            assert answer.status_code == 409
            assert "is being deleted" in answer.content.decode()
        assert Deletion.objects.filter(owner=closed).count() == 1

    def test_an_active_or_a_waiting_account_is_not_deleted(self, page, other):
        waiting = people.sign_up("new", "!")
        for user in (other, waiting):
            assert do(page, user, "delete", **{"hx-request": "true"}).status_code == 409
        assert do(page, other, "restore", **{"hx-request": "true"}).status_code == 409
        assert not Deletion.objects.exists()

    def test_the_own_deletion_of_a_person_is_not_taken_back_by_an_admin(self, page, other):
        accounts.delete_account(other)
        assert do(page, other, "restore", **{"hx-request": "true"}).status_code == 409
        assert Deletion.objects.get().state == "pending"


class TestLimits:
    def test_an_admin_sets_and_removes_the_limits_of_a_person(self, page, other):
        assert do(page, other, "limits").status_code == 302
        assert not PersonQuota.objects.exists()
        page.post(f"/people/{other.pk}/", {"do": "limits", "messages_a_minute": "3", "imports_a_day": "0"})
        row = PersonQuota.objects.get(owner=other)
        assert (row.messages_a_minute, row.model_seconds_a_day, row.imports_a_day) == (3, None, 0)
        assert quotas.find_quota(other).messages_a_minute == 3
        shown = page.get("/people/").content.decode()
        assert 'name="messages_a_minute" min="0" max="1000000" placeholder="20" value="3"' in shown
        do(page, other, "limits")
        assert not PersonQuota.objects.exists()

    @pytest.mark.parametrize("text", ["many", "-1", "1.5", "1000001", "²", "9" * 40])
    def test_what_is_no_limit_is_refused_and_changes_nothing(self, page, other, text):
        page.post(f"/people/{other.pk}/", {"do": "limits", "imports_a_day": "2"})
        form = {"do": "limits", "imports_a_day": text}
        answer = page.post(f"/people/{other.pk}/", form, headers={"hx-request": "true"})
        assert answer.status_code == 422
        assert "A limit is a " in answer.content.decode()
        assert PersonQuota.objects.get(owner=other).imports_a_day == 2
