"""The list of conversations: its content and order, and the actions of its menu."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from chat.actions import apps, conversations, deletions
from chat.actions.messages import finish_reply
from chat.actions.owners import default_app
from chat.errors import Refused
from chat.models import App, AppMemory, Conversation, Deletion

pytestmark = pytest.mark.django_db


@pytest.fixture
def boats(talk):
    """A conversation with one exchange."""
    asked, reply = talk("Boats")
    finish_reply(reply, "All right.", "complete")
    return asked.conversation


@pytest.fixture
def work(owner):
    """A second app."""
    default_app(owner)
    return App.objects.create(owner=owner, slug="work", name="Work")


@pytest.fixture
def fill_app(owner):
    """Return a function that adds ten memories to an app."""

    def make(app: App) -> None:
        rows = [AppMemory(owner=owner, app=app, content=f"The user said {n}.") for n in range(10)]
        AppMemory.objects.bulk_create(rows)

    return make


def list_html(client: Client, page: str = "http://testserver/") -> str:
    answer = client.get("/search/", headers={"hx-request": "true", "hx-current-url": page})
    return " ".join(answer.content.decode().split())


def order_on_page(page: str, *words: str) -> list[str]:
    return sorted((w for w in words if w in page), key=page.index)


class TestList:
    """Each app is a section; pinned conversations come first, then the newest."""

    def test_pinned_conversations_come_first_then_the_newest(self, ours_htmx, boats, talk):
        for title in ("Trains", "Planes"):
            talk(title)
        assert order_on_page(list_html(ours_htmx), "Boats<", "Trains<", "Planes<") == [
            "Planes<",
            "Trains<",
            "Boats<",
        ]
        conversations.pin_conversation(boats, True)
        assert order_on_page(list_html(ours_htmx), "Boats<", "Trains<", "Planes<") == [
            "Boats<",
            "Planes<",
            "Trains<",
        ]

    def test_each_app_is_a_section(self, ours_htmx, boats, work, talk):
        conversations.move_conversation(boats, work)
        talk("Trains")
        assert order_on_page(list_html(ours_htmx), "General<", "Trains<", "Work<", "Boats<") == [
            *("General<", "Trains<", "Work<", "Boats<"),
        ]

    def test_the_list_takes_three_queries_however_long_it_is(
        self, ours_htmx, owner, boats, django_assert_max_num_queries
    ):
        app = default_app(owner)
        Conversation.objects.bulk_create(
            Conversation(owner=owner, app=app, title=f"Number {n}") for n in range(300)
        )
        ours_htmx.get("/")
        # Two queries for the list, one for what leaves it by age, and two for the owner.
        with django_assert_max_num_queries(5):
            assert "Number 299" in list_html(ours_htmx)

    def test_the_open_conversation_gets_its_title_and_is_marked_as_current(self, ours_htmx, boats):
        page = list_html(ours_htmx, f"http://testserver/c/{boats.pk}/")
        assert "<title>Boats · memoryapp</title>" in page
        assert 'id="title" hx-swap-oob="morph"' in page
        assert 'aria-current="page"' in page
        assert "<title>" not in list_html(ours_htmx)

    def test_deleted_and_temporary_conversations_are_not_listed(self, ours, ours_htmx, owner, boats, talk):
        asked, _ = talk("Trains")
        now = asked.created_at
        batch = Deletion.objects.create(owner=owner, pressed_at=now, expires_at=now)
        Conversation.objects.filter(pk=boats.pk).update(deletion=batch)
        Conversation.objects.filter(pk=asked.conversation_id).update(temporary=True)
        page = list_html(ours_htmx)
        assert "Boats" not in page
        assert "Trains" not in page
        assert ours.get(f"/c/{boats.pk}/").status_code == 404


class TestRenaming:
    """A title given by the user is kept."""

    def test_a_title_is_one_line_and_marked_as_given_by_the_user(self, ours_htmx, boats):
        answer = ours_htmx.post(f"/c/{boats.pk}/rename/", {"title": "  Sailing \n in May "})
        assert (answer.status_code, "conversations-changed" in json.loads(answer["HX-Trigger"])) == (
            204,
            True,
        )
        boats.refresh_from_db()
        assert (boats.title, boats.titled_by) == ("Sailing in May", "user")

    def test_a_very_long_title_is_cut(self, boats):
        conversations.rename_conversation(boats, "x" * 500)
        boats.refresh_from_db()
        assert len(boats.title) == conversations.LONGEST_TITLE

    def test_an_empty_title_is_refused_and_changes_nothing(self, ours_htmx, boats):
        answer = ours_htmx.post(f"/c/{boats.pk}/rename/", {"title": " \n"})
        assert (answer.status_code, answer.content.decode()) == (422, "Write a title first.")
        with pytest.raises(Refused):
            conversations.rename_conversation(boats, "\x00")
        boats.refresh_from_db()
        assert (boats.title, boats.titled_by) == ("Boats", "opening")

    def test_renaming_by_form_leads_back_to_the_chat(self, ours, boats):
        answer = ours.post(f"/c/{boats.pk}/rename/", {"title": "Ships"})
        assert answer.url == f"/c/{boats.pk}/"
        assert ours.get(f"/c/{boats.pk}/rename/").url == f"/c/{boats.pk}/menu/"


class TestMoving:
    """A conversation can be moved to another app of the same user."""

    def test_moving_discards_the_prepared_prompt(self, ours, boats, work):
        Conversation.objects.update(memory_block="Old", memory_block_facts={"x": 1}, prepared={"a": 1})
        ours.post(f"/c/{boats.pk}/move/", {"app": work.pk})
        boats.refresh_from_db()
        assert (boats.app, boats.memory_block, boats.memory_block_facts, boats.prepared) == (
            *(work, None, {}, None),
        )

    @pytest.mark.parametrize("named", ["", "work", "00000000-0000-0000-0000-000000000000"])
    def test_moving_to_an_unknown_app_is_not_found(self, ours, boats, named):
        assert ours.post(f"/c/{boats.pk}/move/", {"app": named}).status_code == 404

    def test_moving_to_an_archived_app_is_refused(self, ours, ours_htmx, boats, work):
        apps.archive_app(work)
        sentence = "“Work” has been put away. Bring it back first."
        answer = ours_htmx.post(f"/c/{boats.pk}/move/", {"app": work.pk})
        assert (answer.status_code, sentence in answer.content.decode()) == (422, True)
        page = ours.post(f"/c/{boats.pk}/move/", {"app": work.pk}, follow=True)
        assert sentence in page.content.decode()
        assert Conversation.objects.get().app_id == boats.app_id

    def test_moving_to_an_app_that_is_being_cleared_is_refused(self, ours, owner, boats, work, fill_app):
        AppMemory.objects.create(
            owner=owner, app=boats.app, content="The user has a boat.", source_conversation=boats
        )
        fill_app(work)
        deletions.forget_app_memories(work)
        page = ours.post(f"/c/{boats.pk}/move/", {"app": work.pk}, follow=True)
        assert "This app is forgetting what it remembers." in page.content.decode()
        assert Conversation.objects.get().app_id == boats.app_id

    def test_moving_to_an_app_of_another_user_is_not_found(self, ours, boats, other):
        assert ours.post(f"/c/{boats.pk}/move/", {"app": default_app(other).pk}).status_code == 404

    def test_the_menu_offers_moving_only_if_there_is_another_app(self, ours, boats, work):
        assert f'value="{work.pk}"' in ours.get(f"/c/{boats.pk}/menu/").content.decode()
        work.delete()
        assert "Move to" not in ours.get(f"/c/{boats.pk}/menu/").content.decode()
