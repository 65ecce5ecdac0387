"""The list of conversations: what stands in it in which order, and what its menu does."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from chat.actions import apps, deletions, rooms
from chat.actions.messages import Refused, finish_reply
from chat.actions.owners import default_app
from chat.models import App, AppMemory, Conversation, Deletion

pytestmark = pytest.mark.django_db


@pytest.fixture
def boats(talk):
    """A conversation that was answered."""
    asked, reply = talk("Boats")
    finish_reply(reply, "All right.", "complete")
    return asked.conversation


@pytest.fixture
def work(owner):
    """A second app."""
    default_app(owner)
    return App.objects.create(owner=owner, slug="work", name="Work")


@pytest.fixture
def full_of(owner):
    """Returns a maker of as many memories as an app has room for."""

    def make(app: App) -> None:
        rows = [AppMemory(owner=owner, app=app, content=f"The user said {n}.") for n in range(10)]
        AppMemory.objects.bulk_create(rows)

    return make


def shown(client: Client, page: str = "http://testserver/") -> str:
    answer = client.get("/search/", headers={"hx-request": "true", "hx-current-url": page})
    return " ".join(answer.content.decode().split())


def order(page: str, *words: str) -> list[str]:
    return sorted((w for w in words if w in page), key=page.index)


class TestTheList:
    """Apps as sections, the newest first, pinned ones above them."""

    def test_pinned_ones_stand_first_then_the_newest(self, ours_htmx, boats, talk):
        for title in ("Trains", "Planes"):
            talk(title)
        assert order(shown(ours_htmx), "Boats<", "Trains<", "Planes<") == ["Planes<", "Trains<", "Boats<"]
        rooms.set_pinned(boats, True)
        assert order(shown(ours_htmx), "Boats<", "Trains<", "Planes<") == ["Boats<", "Planes<", "Trains<"]

    def test_each_app_is_a_section(self, ours_htmx, boats, work, talk):
        rooms.move(boats, work)
        talk("Trains")
        assert order(shown(ours_htmx), "General<", "Trains<", "Work<", "Boats<") == [
            *("General<", "Trains<", "Work<", "Boats<"),
        ]

    def test_it_is_two_queries_however_many_there_are(
        self, ours_htmx, owner, boats, django_assert_max_num_queries
    ):
        app = default_app(owner)
        Conversation.objects.bulk_create(
            Conversation(owner=owner, app=app, title=f"Number {n}") for n in range(300)
        )
        ours_htmx.get("/")
        # Two for the owner and none for who asks.
        with django_assert_max_num_queries(4):
            assert "Number 299" in shown(ours_htmx)

    def test_the_page_that_asks_gets_its_title_and_its_mark(self, ours_htmx, boats):
        page = shown(ours_htmx, f"http://testserver/c/{boats.pk}/")
        assert "<title>Boats · memoryapp</title>" in page
        assert 'id="title" hx-swap-oob="morph"' in page
        assert 'aria-current="page"' in page
        assert "<title>" not in shown(ours_htmx)

    def test_what_is_on_its_way_out_or_temporary_is_not_there(self, ours, ours_htmx, owner, boats, talk):
        asked, _ = talk("Trains")
        now = asked.created_at
        batch = Deletion.objects.create(owner=owner, pressed_at=now, expires_at=now)
        Conversation.objects.filter(pk=boats.pk).update(deletion=batch)
        Conversation.objects.filter(pk=asked.conversation_id).update(temporary=True)
        page = shown(ours_htmx)
        assert "Boats" not in page
        assert "Trains" not in page
        assert ours.get(f"/c/{boats.pk}/").status_code == 404


class TestRenaming:
    """What the user calls it stays."""

    def test_the_title_is_one_line_and_the_users(self, ours_htmx, boats):
        answer = ours_htmx.post(f"/c/{boats.pk}/rename/", {"title": "  Sailing \n in May "})
        assert (answer.status_code, "rooms-changed" in json.loads(answer["HX-Trigger"])) == (204, True)
        boats.refresh_from_db()
        assert (boats.title, boats.titled_by) == ("Sailing in May", "user")

    def test_a_very_long_one_is_cut(self, boats):
        rooms.rename(boats, "x" * 500)
        boats.refresh_from_db()
        assert len(boats.title) == rooms.LONGEST_TITLE

    def test_none_is_refused_and_nothing_changes(self, ours_htmx, boats):
        answer = ours_htmx.post(f"/c/{boats.pk}/rename/", {"title": " \n"})
        assert (answer.status_code, answer.content.decode()) == (422, "Write a title first.")
        with pytest.raises(Refused):
            rooms.rename(boats, "\x00")
        boats.refresh_from_db()
        assert (boats.title, boats.titled_by) == ("Boats", "opening")

    def test_a_plain_form_leads_back_to_the_chat(self, ours, boats):
        answer = ours.post(f"/c/{boats.pk}/rename/", {"title": "Ships"})
        assert answer.url == f"/c/{boats.pk}/"
        assert ours.get(f"/c/{boats.pk}/rename/").url == f"/c/{boats.pk}/menu/"


class TestMoving:
    """A conversation goes to another app of the same person."""

    def test_its_prompt_is_built_anew(self, ours, boats, work):
        Conversation.objects.update(memory_block="Old", memory_block_facts={"x": 1}, prepared={"a": 1})
        ours.post(f"/c/{boats.pk}/move/", {"app": work.pk})
        boats.refresh_from_db()
        assert (boats.app, boats.memory_block, boats.memory_block_facts, boats.prepared) == (
            *(work, None, {}, None),
        )

    @pytest.mark.parametrize("named", ["", "work", "00000000-0000-0000-0000-000000000000"])
    def test_an_app_that_is_not_there_is_none(self, ours, boats, named):
        assert ours.post(f"/c/{boats.pk}/move/", {"app": named}).status_code == 404

    def test_an_app_that_was_put_away_meanwhile_is_refused(self, ours, ours_htmx, boats, work):
        apps.archive(work)
        sentence = "“Work” has been put away. Bring it back first."
        answer = ours_htmx.post(f"/c/{boats.pk}/move/", {"app": work.pk})
        assert (answer.status_code, sentence in answer.content.decode()) == (422, True)
        page = ours.post(f"/c/{boats.pk}/move/", {"app": work.pk}, follow=True)
        assert sentence in page.content.decode()
        assert Conversation.objects.get().app_id == boats.app_id

    def test_an_app_that_is_forgetting_all_it_remembers_is_refused(self, ours, owner, boats, work, full_of):
        AppMemory.objects.create(
            owner=owner, app=boats.app, content="The user has a boat.", source_conversation=boats
        )
        full_of(work)
        deletions.forget_app_memories(work)
        page = ours.post(f"/c/{boats.pk}/move/", {"app": work.pk}, follow=True)
        assert "This app is forgetting what it remembers." in page.content.decode()
        assert Conversation.objects.get().app_id == boats.app_id

    def test_another_persons_app_is_none(self, ours, boats, other):
        assert ours.post(f"/c/{boats.pk}/move/", {"app": default_app(other).pk}).status_code == 404

    def test_the_menu_offers_it_where_there_is_another_app(self, ours, boats, work):
        assert f'value="{work.pk}"' in ours.get(f"/c/{boats.pk}/menu/").content.decode()
        work.delete()
        assert "Move to" not in ours.get(f"/c/{boats.pk}/menu/").content.decode()
