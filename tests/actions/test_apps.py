"""Apps are made, renamed, put away and brought back; what they remember is kept or forgotten with undo."""

from __future__ import annotations

import pytest

from chat.actions import apps, deletions
from chat.actions.messages import Refused, send_message
from chat.actions.owners import default_app
from chat.models import App, AppMemory, Conversation
from chat.views.context import sidebar

pytestmark = pytest.mark.django_db


@pytest.fixture
def work(owner):
    """A second app that remembers two things."""
    app = apps.create(owner, "Work")
    for text in ("The user writes reports.", "The user meets on Mondays."):
        AppMemory.objects.create(owner=owner, app=app, content=text)
    return app


def test_an_app_has_a_name_and_a_slug_of_its_own(owner):
    assert apps.create(owner, "  My   Recipes ").slug == "my-recipes"
    assert apps.create(owner, "My  recipes!").slug == "my-recipes-2"
    assert apps.create(owner, "食谱").slug == "app"
    assert [str(app) for app in App.objects.for_owner(owner)] == [
        "General",
        "My Recipes",
        "My recipes!",
        "食谱",
    ]


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "work", "GENERAL"])
def test_a_name_that_cannot_be_used_is_refused(owner, work, name):
    with pytest.raises(Refused):
        apps.create(owner, name)
    with pytest.raises(Refused):
        apps.rename(App.objects.create(owner=owner, slug="other", name="Other"), name)
    assert App.objects.for_owner(owner).count() == 3


def test_another_person_may_use_the_same_name(owner, other, work):
    assert apps.create(other, "Work").slug == "work"


def test_a_renamed_app_keeps_its_slug(work):
    apps.rename(work, "Job")
    work.refresh_from_db()
    assert (str(work), work.slug) == ("Job", "work")
    apps.rename(work, "job")


def test_an_app_that_is_put_away_leaves_the_list_and_keeps_all(owner, work):
    asked, _ = send_message(owner, "Hello", app=work)
    assert apps.archive(work) is None
    assert [str(app) for app, _ in sidebar(owner)] == ["General"]
    assert AppMemory.objects.filter(app=work).live().count() == 2
    assert Conversation.objects.filter(pk=asked.conversation_id).exists()
    apps.bring_back(work)
    assert [str(app) for app, _ in sidebar(owner)] == ["General", "Work"]
    assert [c.pk for c in sidebar(owner)[1][1]] == [asked.conversation_id]


def test_putting_away_can_forget_what_it_remembers_with_undo(owner, work):
    deletion = apps.archive(work, purge=True)
    assert not AppMemory.objects.filter(app=work).live().exists()
    deletions.undo(deletion)
    assert AppMemory.objects.filter(app=work).live().count() == 2
    again = deletions.forget_app_memories(work)
    deletions.finish(again.pk, again.expires_at + deletions.GRACE)
    assert not AppMemory.objects.exists()


def test_an_app_without_memories_is_put_away_with_purge_too(owner):
    assert apps.archive(apps.create(owner, "Empty"), purge=True) is None


def test_the_last_app_stays(owner, work):
    apps.archive(work)
    with pytest.raises(Refused):
        apps.archive(default_app(owner))
    assert App.objects.for_owner(owner).active().count() == 1


def test_new_chats_begin_in_the_first_app_that_is_in_use(owner, work):
    apps.archive(default_app(owner))
    asked, _ = send_message(owner, "Hello")
    assert asked.conversation.app == work


def test_what_an_app_remembers_survives_its_chats_and_a_restart_of_the_model(owner, work):
    apps.archive(work)
    assert AppMemory.objects.for_owner(owner).live().count() == 2


def test_deleting_everything_brings_the_first_app_back(owner, work):
    apps.archive(default_app(owner))
    deletion = deletions.erase_all(owner)
    deletions.finish(deletion.pk, deletion.expires_at + deletions.GRACE)
    assert [(str(app), app.archived_at) for app in App.objects.for_owner(owner)] == [("General", None)]
