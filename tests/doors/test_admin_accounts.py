"""Accounts in the admin site: the local owner stays usable, no account is deleted, new ones are complete."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from chat.actions import decay, owners
from chat.actions.facts import add_fact
from chat.actions.owners import LOCAL_NAME, local_owner, lock_memory
from chat.admin.people import SettingsForm
from chat.models import App, OwnerSettings

pytestmark = pytest.mark.django_db
User = get_user_model()


def change(client: Client, user, **fields):
    """Send an account's form as the page has it, with other values for some fields."""
    given = {"username": user.username, "is_active": "on", "is_staff": "on", "is_superuser": "on"}
    given |= {"date_joined_0": "2026-01-01", "date_joined_1": "10:00:00", **fields}
    sent = {name: value for name, value in given.items() if value is not None}
    return client.post(reverse("admin:auth_user_change", args=[user.pk]), sent)


class TestLocalOwner:
    def test_the_local_owner_cannot_be_renamed(self, ours, owner):
        add_fact(owner, "I love hiking")
        change(ours, owner, username="somebody", email="me@example.org")
        owner.refresh_from_db()
        assert (owner.username, owner.email) == (LOCAL_NAME, "me@example.org")
        assert local_owner() == owner
        assert User.objects.count() == 1

    @pytest.mark.parametrize("right", ["is_active", "is_staff", "is_superuser"])
    def test_the_local_owner_keeps_access_to_the_admin_site(self, ours, owner, right):
        change(ours, owner, **{right: None})
        owner.refresh_from_db()
        assert getattr(owner, right)
        assert ours.get("/admin/").status_code == 200

    def test_the_local_owner_cannot_be_renamed_in_server_mode(self, server_mode, owner, logged_in):
        change(logged_in(owner), owner, username="somebody")
        owner.refresh_from_db()
        assert owner.username == LOCAL_NAME


class TestDeleting:
    @pytest.fixture(params=[True, False], ids=["with data", "without"])
    def somebody(self, request, other):
        if not request.param:
            return User.objects.create_user("nobody-yet")
        add_fact(other, "I love hiking")
        return other

    def test_no_account_can_be_deleted_alone_or_in_bulk(self, ours, owner, somebody):
        page = ours.post(reverse("admin:auth_user_delete", args=[somebody.pk]), {"post": "yes"})
        assert page.status_code == 403
        chosen = [str(owner.pk), str(somebody.pk)]
        ours.post(
            reverse("admin:auth_user_changelist"),
            {"action": "delete_selected", "_selected_action": chosen, "post": "yes"},
        )
        assert set(User.objects.values_list("pk", flat=True)) >= {owner.pk, somebody.pk}

    def test_on_a_server_rights_are_changed_on_the_page_of_people_only(
        self, server_mode, owner, other, logged_in
    ):
        change(logged_in(owner), other, email="me@example.org", is_active=None, is_staff=None)
        other.refresh_from_db()
        assert (other.email, other.is_active, other.is_staff) == ("me@example.org", True, False)
        assert logged_in(other).get("/").status_code == 200


class TestNewAccounts:
    def test_a_new_account_has_settings_and_an_app(self, ours):
        data = {"username": "new", "usable_password": "true", "password1": "a long-winded one"}
        answer = ours.post(reverse("admin:auth_user_add"), {**data, "password2": data["password1"]})
        assert answer.status_code == 302
        new = User.objects.get(username="new")
        assert OwnerSettings.objects.filter(owner=new).exists()
        assert App.objects.filter(owner=new).exists()

    def test_on_a_server_accounts_are_not_made_in_the_admin_site(self, server_mode, owner, logged_in):
        assert logged_in(owner).get(reverse("admin:auth_user_add")).status_code == 403

    def test_settings_of_an_account_made_outside_the_admin_site_are_created_on_first_use(self):
        new = User.objects.create_user("from-the-command-line")
        lock_memory(new.pk)
        assert OwnerSettings.objects.filter(owner=new).count() == 1


def test_saving_settings_keeps_values_written_in_the_meantime(ours, owner, clock, monkeypatch, make_fact):
    make_fact("User likes tea")
    today = clock(0).date()

    clean = SettingsForm.clean_time_zone

    def decay_and_clean(form):
        """Run the nightly decay between reading and saving the row."""
        decay.apply_decay(owner, today)
        return clean(form)

    monkeypatch.setattr(SettingsForm, "clean_time_zone", decay_and_clean)
    given = {"time_zone": "Europe/Oslo", "language": "", "theme": "", "look_after": 5, "prune_after": 0}
    assert ours.post(reverse("admin:chat_ownersettings_change", args=[owner.pk]), given).status_code == 302
    saved = owners.settings_of(owner.pk)
    assert (saved.time_zone, saved.look_after) == ("Europe/Oslo", 5)
    assert saved.faded_through is not None
