"""Actions of the admin site: purge the memories of an app, export an owner's data, change settings."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from chat.actions import deletions
from chat.actions.facts import add_fact
from chat.actions.messages import finish_reply, send_message
from chat.actions.owners import default_app
from chat.models import App, AppMemory, Deletion, OwnerSettings

pytestmark = pytest.mark.django_db
ORIGIN = "http://testserver"


def act(client, model: str, action: str, *keys, follow=True):
    data = {"action": action, "_selected_action": [str(key) for key in keys]}
    return client.post(reverse(f"admin:chat_{model}_changelist"), data, follow=follow)


@pytest.fixture
def staff(other, server_mode, logged_in):
    """Return a function that makes a client whose user may enter the admin site and has these permissions."""

    def make(*permissions: str):
        other.is_staff = True
        other.save()
        other.user_permissions.set(Permission.objects.filter(codename__in=permissions))
        return logged_in(other)

    return make


@pytest.fixture
def work_with_memories(owner):
    """Two apps, each with a memory."""
    work = App.objects.create(owner=owner, slug="work", name="Work")
    for app in (default_app(owner), work):
        AppMemory.objects.create(owner=owner, app=app, content=f"Of {app.slug}.")
    return work


class TestPurging:
    """Purging an app forgets its memories and can be undone, as on the app's own page."""

    def test_only_the_memories_of_the_chosen_app_are_purged(self, ours, owner, work_with_memories):
        page = act(ours, "app", "purge", work_with_memories.pk).content.decode()
        assert "Memories of 1 forgotten." in page
        assert [m.content for m in AppMemory.objects.live()] == ["Of general."]

    def test_the_owner_can_undo_a_purge(self, ours, owner, work_with_memories):
        act(ours, "app", "purge", work_with_memories.pk)
        ours.post(reverse("deletion_undo", args=[Deletion.objects.get().pk]))
        assert AppMemory.objects.live().count() == 2

    def test_purged_memories_are_deleted_after_the_undo_deadline(self, ours, owner, work_with_memories):
        act(ours, "app", "purge", work_with_memories.pk)
        gone = Deletion.objects.get()
        assert deletions.finish_deletion(gone.pk, gone.expires_at + deletions.UNDO_GRACE)
        assert [m.content for m in AppMemory.objects.all()] == ["Of general."]

    def test_purging_an_app_without_memories_says_that_it_had_none(self, ours, owner):
        page = act(ours, "app", "purge", default_app(owner).pk).content.decode()
        assert "1 had none." in page
        assert not Deletion.objects.exists()

    def test_purging_needs_the_permission_to_delete_memories(self, staff, work_with_memories, settings):
        settings.ADMIN_READS_CHATS = True
        act(staff("view_app", "view_appmemory"), "app", "purge", work_with_memories.pk)
        assert AppMemory.objects.live().count() == 2
        act(staff("view_app", "delete_appmemory"), "app", "purge", work_with_memories.pk)
        assert AppMemory.objects.live().count() == 1


class TestExport:
    """The data of one owner is exported as a JSON file."""

    @pytest.fixture
    def owner_with_data(self, owner):
        _asked, reply = send_message(owner, "I love fjords")
        finish_reply(reply, "Nice.", "complete")
        add_fact(owner, "I love hiking")

    def test_the_export_is_a_file_with_all_data_of_the_owner(self, ours, owner, owner_with_data):
        answer = act(ours, "ownersettings", "export", owner.pk)
        assert answer.headers["Content-Disposition"] == 'attachment; filename="memoryapp-owner.json"'
        assert answer.headers["Content-Type"] == "application/json"
        found = json.loads(b"".join(answer.streaming_content))
        assert [m["content"] for m in found["conversations"][0]["messages"]] == ["I love fjords", "Nice."]
        assert [fact["text"] for fact in found["facts"]] == ["I love hiking"]

    def test_exporting_more_than_one_owner_is_refused(self, ours, owner, other):
        page = act(ours, "ownersettings", "export", owner.pk, other.pk).content.decode()
        assert "Choose one owner." in page

    def test_exporting_needs_the_permission_to_read_messages(self, staff, owner, owner_with_data, settings):
        settings.ADMIN_READS_CHATS = True
        answer = act(staff("view_ownersettings", "view_fact"), "ownersettings", "export", owner.pk)
        assert not answer.streaming
        answer = act(
            staff("view_ownersettings", "view_fact", "view_message"), "ownersettings", "export", owner.pk
        )
        assert answer.streaming


@pytest.mark.asyncio
@pytest.mark.django_db(transaction=True)
async def test_the_export_is_streamed_by_the_asgi_server(async_client, monkeypatch, recwarn):
    from asgiref.sync import sync_to_async

    from chat.actions.owners import local_owner
    from chat.views import responses

    owner = await sync_to_async(local_owner)()
    await sync_to_async(add_fact)(owner, "I love hiking")
    monkeypatch.setattr(responses, "_CHUNK_BYTES", 50)
    answer = await async_client.post(
        reverse("admin:chat_ownersettings_changelist"),
        {"action": "export", "_selected_action": [str(owner.pk)]},
        headers={"origin": ORIGIN},
    )
    assert answer.is_async
    pieces = [piece async for piece in answer.streaming_content]
    assert len(pieces) > 2
    assert json.loads(b"".join(pieces))["facts"][0]["text"] == "I love hiking"


class TestSettings:
    """The settings form accepts the same values as the settings page."""

    def change(self, client, whose, **fields):
        given = {"time_zone": "", "language": "", "theme": "", "look_after": 5, "prune_after": 0, **fields}
        return client.post(reverse("admin:chat_ownersettings_change", args=[whose.pk]), given)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"time_zone": "Europe/Nowhere"},
            {"language": "xx"},
            {"theme": "pink"},
            {"look_after": 1},
            {"look_after": 601},
            {"prune_after": -1},
            {"prune_after": 7},
        ],
        ids=str,
    )
    def test_an_invalid_value_is_refused(self, ours, owner, wrong):
        before = OwnerSettings.objects.values().get()
        assert self.change(ours, owner, **wrong).status_code == 200
        assert OwnerSettings.objects.values().get() == before

    def test_a_valid_value_is_saved(self, ours, owner):
        assert self.change(ours, owner, time_zone="Europe/Oslo", prune_after=90).status_code == 302
        assert OwnerSettings.objects.get().prune_after == 90

    def test_settings_cannot_change_their_owner_or_be_added_or_deleted(self, ours, owner, other):
        self.change(ours, owner, owner=other.pk)
        assert set(OwnerSettings.objects.values_list("owner", flat=True)) == {owner.pk, other.pk}
        assert ours.get(reverse("admin:chat_ownersettings_add")).status_code == 403
        gone = reverse("admin:chat_ownersettings_delete", args=[owner.pk])
        assert ours.post(gone, {"post": "yes"}).status_code == 403
