"""Pages of apps and of their memories: create, change, archive and forget, with and without JavaScript."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.urls import reverse

from chat.actions.owners import default_app
from chat.context.prompt import DEFAULT_PERSONA, persona_of
from chat.models import App, AppMemory, Conversation, Deletion

pytestmark = pytest.mark.django_db
TOO_LONG = "x" * 4001
AT_LIST = {"hx-target": "memory-list"}


@pytest.fixture
def work(owner):
    """A second app with two memories."""
    app = App.objects.create(owner=owner, slug="work", name="Work")
    for text in ("The user writes reports.", "The user meets on Mondays."):
        AppMemory.objects.create(owner=owner, app=app, content=text)
    return app


@pytest.fixture
def reports(work):
    """One of the two memories."""
    return AppMemory.objects.get(content__contains="reports")


def hx_events(answer: Any) -> dict[str, Any]:
    return json.loads(answer.headers["HX-Trigger"])


def address_of(name: str, thing) -> str:
    return reverse(name, args=[thing.pk])


class TestAppPages:
    def test_a_new_app_is_created_and_shown(self, ours):
        answer = ours.post("/apps/", {"name": "Recipes"}, follow=True)
        app = App.objects.get(name="Recipes")
        assert answer.redirect_chain == [(address_of("app", app), 302)]
        assert "Recipes" in ours.get("/").content.decode()

    def test_a_bad_name_is_refused_and_stays_in_the_field(self, ours, work):
        answer = ours.post("/apps/", {"name": "work"})
        assert answer.status_code == 422
        assert "There is an app with this name already." in answer.content.decode()
        assert 'value="work"' in answer.content.decode()
        assert App.objects.count() == 2

    @pytest.mark.parametrize(
        ("name", "value"), [("name", "Job"), ("persona", "You are a pirate."), ("strategy", "topics")]
    )
    def test_each_choice_is_saved_with_and_without_htmx(self, ours, ours_htmx, work, name, value):
        before = App.objects.filter(pk=work.pk).values().get()
        answer = ours_htmx.post(address_of("app", work), {name: value})
        assert hx_events(answer)["toast"] == {"text": "Saved."}
        assert answer.content.decode().count(f'id="set-{name}"') == 1
        assert App.objects.filter(pk=work.pk).values().get() != before
        App.objects.filter(pk=work.pk).update(**before)
        answer = ours.post(address_of("app", work), {name: value}, follow=True)
        assert "Saved." in answer.content.decode()
        assert App.objects.filter(pk=work.pk).values().get() != before

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("name", ""),
            ("name", "General"),
            ("persona", TOO_LONG),
            ("strategy", ""),
            ("strategy", "none"),
            ("owner", "1"),
        ],
    )
    def test_invalid_input_is_refused_with_a_message_and_changes_nothing(
        self, ours, ours_htmx, work, name, value
    ):
        before = App.objects.filter(pk=work.pk).values().get()
        answer = ours_htmx.post(address_of("app", work), {name: value})
        assert (answer.status_code, answer.headers["HX-Reswap"]) == (422, "none")
        assert (
            "data-notice" in ours.post(address_of("app", work), {name: value}, follow=True).content.decode()
        )
        assert App.objects.filter(pk=work.pk).values().get() == before

    def test_the_persona_is_used_at_once_and_can_be_reset_to_the_default(self, ours, talk, owner):
        talk("Hello")
        Conversation.objects.update(prepared={"old": True})
        page = address_of("app", default_app(owner))
        ours.post(page, {"persona": "  You are a pirate.\r\nAhoy. "})
        fresh = Conversation.objects.select_related("app").get()
        assert persona_of(fresh) == "You are a pirate.\nAhoy."
        assert fresh.prepared is None
        ours.post(page, {"persona": ""})
        assert persona_of(Conversation.objects.select_related("app").get()) == DEFAULT_PERSONA
        ours.post(page, {"persona": DEFAULT_PERSONA})
        assert default_app(owner).persona == ""

    def test_chats_without_a_strategy_use_the_strategy_of_their_app(self, ours, talk, owner):
        talk("Hello")
        ours.post(address_of("app", default_app(owner)), {"strategy": "simple"})
        assert Conversation.objects.select_related("app").get().effective_strategy == "simple"

    def test_a_new_chat_starts_in_the_chosen_app(self, ours, scripted, work):
        assert f'name="app" value="{work.pk}"' in ours.get(f"/?app={work.pk}").content.decode()
        ours.post("/send/", {"text": "Hello", "app": str(work.pk)})
        assert Conversation.objects.get().app == work

    @pytest.mark.parametrize("temporary", ["", "1"])
    def test_no_chat_starts_in_an_app_that_was_archived_in_the_meantime(
        self, ours, scripted, work, temporary
    ):
        ours.post(address_of("app_archive", work))
        before = Conversation.objects.count()
        answer = ours.post("/send/", {"text": "Hello", "app": str(work.pk), "temporary": temporary})
        assert answer.status_code == 422
        page = answer.content.decode()
        assert "“Work” has been put away. Bring it back first." in page
        assert "Hello" in page
        assert Conversation.objects.count() == before
        assert scripted.calls == []

    def test_a_refused_message_keeps_the_chosen_app(self, ours, scripted, work):
        answer = ours.post("/send/", {"text": " ", "app": str(work.pk)})
        assert f'name="app" value="{work.pk}"' in answer.content.decode()

    def test_an_app_is_archived_and_restored(self, ours, work):
        answer = ours.post(address_of("app_archive", work), follow=True)
        assert "“Work” is archived." in answer.content.decode()
        assert "Bring back Work" in answer.content.decode()
        assert AppMemory.objects.live().count() == 2
        ours.post(address_of("app_restore", work))
        assert App.objects.get(pk=work.pk).archived_at is None

    def test_archiving_with_purge_forgets_the_memories_and_offers_undo(self, ours, work):
        answer = ours.post(address_of("app_archive", work), {"purge": "1"}, follow=True)
        assert not AppMemory.objects.live().exists()
        deletion = Deletion.objects.get()
        assert address_of("deletion_undo", deletion) in answer.content.decode()
        ours.post(address_of("deletion_undo", deletion))
        assert AppMemory.objects.live().count() == 2

    def test_the_last_app_cannot_be_archived(self, ours, owner):
        answer = ours.post(address_of("app_archive", default_app(owner)), follow=True)
        assert "This is your only app." in answer.content.decode()


class TestAppMemoryPanel:
    def test_a_tab_of_the_panel_shows_the_memories_of_each_app(self, ours_htmx, work):
        page = ours_htmx.get("/memory/?tab=apps", headers=AT_LIST).content.decode()
        assert "The user writes reports." in page
        assert f'id="app-memories-{work.pk}"' in page
        found = ours_htmx.get("/memory/?tab=apps&q=monday", headers=AT_LIST).content.decode()
        assert "Mondays" in found
        assert "reports" not in found

    def test_without_app_memories_there_is_no_tab(self, ours):
        assert 'id="tab-apps"' not in ours.get("/memory/").content.decode()

    def test_an_app_memory_is_edited_in_place(self, ours_htmx, reports):
        assert 'class="line"' in ours_htmx.get(address_of("app_memory_edit", reports)).content.decode()
        answer = ours_htmx.post(
            address_of("app_memory_edit", reports), {"text": "Writes reports on Fridays."}
        )
        assert "saved" in answer.content.decode()
        assert "memory-changed" in hx_events(answer)
        reports.refresh_from_db()
        assert (reports.content, reports.edited) == ("Writes reports on Fridays.", True)

    @pytest.mark.parametrize("text", ["", "x" * 201])
    def test_invalid_text_is_refused_on_the_card(self, ours, ours_htmx, reports, text):
        for client in (ours, ours_htmx):
            answer = client.post(address_of("app_memory_edit", reports), {"text": text, "full": "1"})
            assert answer.status_code == 422
            assert 'role="alert"' in answer.content.decode()
        reports.refresh_from_db()
        assert reports.content == "The user writes reports."

    def test_forgetting_an_app_memory_can_be_undone(self, ours, ours_htmx, reports):
        answer = ours_htmx.post(address_of("app_memory_delete", reports))
        gone = hx_events(answer)["forgot"]
        assert (gone["text"], gone["seconds"]) == ("Forgot “The user writes reports.”", 4)
        assert ours_htmx.get(address_of("app_memory", reports)).status_code == 404
        assert ours_htmx.post(address_of("app_memory_edit", reports), {"text": "Else"}).status_code == 409
        assert gone["id"] in ours.get("/memory/").content.decode()
        ours_htmx.post(address_of("deletion_undo", Deletion.objects.get()))
        assert ours_htmx.get(address_of("app_memory", reports)).status_code == 200

    def test_clearing_the_memories_of_an_app_can_be_undone_for_eight_seconds(self, ours_htmx, work):
        gone = hx_events(ours_htmx.post(address_of("app_memories_clear", work)))["forgot"]
        assert (gone["text"], gone["seconds"]) == ("Forgot 2 memories", 8)
        assert ours_htmx.post(address_of("app_memories_clear", work)).status_code == 409

    def test_without_javascript_forms_lead_back_to_the_tab(self, ours, reports, work):
        assert ours.post(address_of("app_memory_edit", reports), {"text": "Else"}).url == "/memory/?tab=apps"
        assert ours.post(address_of("app_memory_delete", reports)).url == "/memory/?tab=apps"
        assert ours.post(address_of("app_memories_clear", work)).url == "/memory/?tab=apps"
