"""Apps are created, renamed, archived and unarchived; archiving can delete an app's memories, with undo."""

from __future__ import annotations

import pytest

from chat.actions import apps, deletions
from chat.actions.messages import send_message
from chat.actions.owners import default_app
from chat.errors import Refused
from chat.models import App, AppMemory, Conversation
from chat.views.context import load_sidebar

pytestmark = pytest.mark.django_db


@pytest.fixture
def work(owner):
    """A second app with two app memories."""
    app = apps.create_app(owner, "Work")
    for text in ("The user writes reports.", "The user meets on Mondays."):
        AppMemory.objects.create(owner=owner, app=app, content=text)
    return app


def test_each_app_gets_a_unique_slug(owner):
    assert apps.create_app(owner, "  My   Recipes ").slug == "my-recipes"
    assert apps.create_app(owner, "My  recipes!").slug == "my-recipes-2"
    assert apps.create_app(owner, "食谱").slug == "app"
    assert [str(app) for app in App.objects.for_owner(owner)] == [
        "General",
        "My Recipes",
        "My recipes!",
        "食谱",
    ]


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "work", "GENERAL"])
def test_an_invalid_or_duplicate_name_is_refused(owner, work, name):
    with pytest.raises(Refused):
        apps.create_app(owner, name)
    with pytest.raises(Refused):
        apps.rename_app(App.objects.create(owner=owner, slug="other", name="Other"), name)
    assert App.objects.for_owner(owner).count() == 3


def test_another_person_may_use_the_same_name(owner, other, work):
    assert apps.create_app(other, "Work").slug == "work"


def test_a_renamed_app_keeps_its_slug(work):
    apps.rename_app(work, "Job")
    work.refresh_from_db()
    assert (str(work), work.slug) == ("Job", "work")
    apps.rename_app(work, "job")


def test_an_archived_app_leaves_the_list_and_keeps_its_data(owner, work):
    asked, _ = send_message(owner, "Hello", app=work)
    assert apps.archive_app(work) is None
    assert [str(app) for app, _ in load_sidebar(owner)] == ["General"]
    assert AppMemory.objects.filter(app=work).live().count() == 2
    assert Conversation.objects.filter(pk=asked.conversation_id).exists()
    apps.unarchive_app(work)
    assert [str(app) for app, _ in load_sidebar(owner)] == ["General", "Work"]
    assert [c.pk for c in load_sidebar(owner)[1][1]] == [asked.conversation_id]


def test_archiving_can_delete_the_apps_memories_with_undo(owner, work):
    deletion = apps.archive_app(work, purge=True)
    assert not AppMemory.objects.filter(app=work).live().exists()
    deletions.undo_deletion(deletion)
    assert AppMemory.objects.filter(app=work).live().count() == 2
    again = deletions.forget_app_memories(work)
    deletions.finish_deletion(again.pk, again.expires_at + deletions.UNDO_GRACE)
    assert not AppMemory.objects.exists()


def test_archiving_an_app_without_memories_accepts_purge(owner):
    assert apps.archive_app(apps.create_app(owner, "Empty"), purge=True) is None


def test_the_last_active_app_cannot_be_archived(owner, work):
    apps.archive_app(work)
    with pytest.raises(Refused):
        apps.archive_app(default_app(owner))
    assert App.objects.for_owner(owner).active().count() == 1


def test_new_conversations_start_in_the_first_active_app(owner, work):
    apps.archive_app(default_app(owner))
    asked, _ = send_message(owner, "Hello")
    assert asked.conversation.app == work


def test_app_memories_survive_archiving_the_app(owner, work):
    apps.archive_app(work)
    assert AppMemory.objects.for_owner(owner).live().count() == 2


def test_erasing_the_account_unarchives_the_default_app(owner, work):
    apps.archive_app(default_app(owner))
    deletion = deletions.erase_account(owner)
    deletions.finish_deletion(deletion.pk, deletion.expires_at + deletions.UNDO_GRACE)
    assert [(str(app), app.archived_at) for app in App.objects.for_owner(owner)] == [("General", None)]
