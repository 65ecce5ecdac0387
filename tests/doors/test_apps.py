"""Apps and what they remember: pages that make, change, put away and forget, with and without JavaScript."""

from __future__ import annotations

import json

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
    """A second app that remembers two things."""
    app = App.objects.create(owner=owner, slug="work", name="Work")
    for text in ("The user writes reports.", "The user meets on Mondays."):
        AppMemory.objects.create(owner=owner, app=app, content=text)
    return app


@pytest.fixture
def reports(work):
    """One of the two things."""
    return AppMemory.objects.get(content__contains="reports")


def told(answer) -> dict:
    return json.loads(answer.headers["HX-Trigger"])


def at(name: str, thing) -> str:
    return reverse(name, args=[thing.pk])


class TestThePages:
    def test_a_new_app_is_made_and_shown(self, ours):
        answer = ours.post("/apps/", {"name": "Recipes"}, follow=True)
        app = App.objects.get(name="Recipes")
        assert answer.redirect_chain == [(at("app", app), 302)]
        assert "Recipes" in ours.get("/").content.decode()

    def test_a_bad_name_says_so_and_keeps_what_was_typed(self, ours, work):
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
        answer = ours_htmx.post(at("app", work), {name: value})
        assert told(answer)["toast"] == {"text": "Saved."}
        assert answer.content.decode().count(f'id="set-{name}"') == 1
        assert App.objects.filter(pk=work.pk).values().get() != before
        App.objects.filter(pk=work.pk).update(**before)
        answer = ours.post(at("app", work), {name: value}, follow=True)
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
    def test_bad_input_says_what_is_wrong_and_changes_nothing(self, ours, ours_htmx, work, name, value):
        before = App.objects.filter(pk=work.pk).values().get()
        answer = ours_htmx.post(at("app", work), {name: value})
        assert (answer.status_code, answer.headers["HX-Reswap"]) == (422, "none")
        assert "data-notice" in ours.post(at("app", work), {name: value}, follow=True).content.decode()
        assert App.objects.filter(pk=work.pk).values().get() == before

    def test_the_persona_is_used_at_once_and_goes_back_to_the_default(self, ours, talk, owner):
        talk("Hello")
        Conversation.objects.update(prepared={"old": True})
        page = at("app", default_app(owner))
        ours.post(page, {"persona": "  You are a pirate.\r\nAhoy. "})
        fresh = Conversation.objects.select_related("app").get()
        assert persona_of(fresh) == "You are a pirate.\nAhoy."
        assert fresh.prepared is None
        ours.post(page, {"persona": ""})
        assert persona_of(Conversation.objects.select_related("app").get()) == DEFAULT_PERSONA
        ours.post(page, {"persona": DEFAULT_PERSONA})
        assert default_app(owner).persona == ""

    def test_the_strategy_is_that_of_chats_without_their_own(self, ours, talk, owner):
        talk("Hello")
        ours.post(at("app", default_app(owner)), {"strategy": "simple"})
        assert Conversation.objects.select_related("app").get().manner == "simple"

    def test_a_chat_begins_in_the_app_that_was_chosen(self, ours, scripted, work):
        assert f'name="app" value="{work.pk}"' in ours.get(f"/?app={work.pk}").content.decode()
        ours.post("/send/", {"text": "Hello", "app": str(work.pk)})
        assert Conversation.objects.get().app == work

    @pytest.mark.parametrize("temporary", ["", "1"])
    def test_no_chat_begins_in_one_that_was_put_away_meanwhile(self, ours, scripted, work, temporary):
        ours.post(at("app_archive", work))
        before = Conversation.objects.count()
        answer = ours.post("/send/", {"text": "Hello", "app": str(work.pk), "temporary": temporary})
        assert answer.status_code == 422
        page = answer.content.decode()
        assert "“Work” has been put away. Bring it back first." in page
        assert "Hello" in page
        assert Conversation.objects.count() == before
        assert scripted.calls == []

    def test_what_cannot_be_sent_keeps_the_chosen_app(self, ours, scripted, work):
        answer = ours.post("/send/", {"text": " ", "app": str(work.pk)})
        assert f'name="app" value="{work.pk}"' in answer.content.decode()

    def test_it_is_put_away_and_brought_back(self, ours, work):
        answer = ours.post(at("app_archive", work), follow=True)
        assert "“Work” is put away." in answer.content.decode()
        assert "Bring back Work" in answer.content.decode()
        assert AppMemory.objects.live().count() == 2
        ours.post(at("app_back", work))
        assert App.objects.get(pk=work.pk).archived_at is None

    def test_it_forgets_with_it_where_that_was_ticked_and_undo_is_on_the_page(self, ours, work):
        answer = ours.post(at("app_archive", work), {"purge": "1"}, follow=True)
        assert not AppMemory.objects.live().exists()
        deletion = Deletion.objects.get()
        assert at("undo", deletion) in answer.content.decode()
        ours.post(at("undo", deletion))
        assert AppMemory.objects.live().count() == 2

    def test_the_last_app_cannot_be_put_away(self, ours, owner):
        answer = ours.post(at("app_archive", default_app(owner)), follow=True)
        assert "This is your only app." in answer.content.decode()


class TestThePanel:
    def test_a_tab_shows_what_each_app_remembers(self, ours_htmx, work):
        page = ours_htmx.get("/memory/?tab=apps", headers=AT_LIST).content.decode()
        assert "The user writes reports." in page
        assert f'id="told-{work.pk}"' in page
        found = ours_htmx.get("/memory/?tab=apps&q=monday", headers=AT_LIST).content.decode()
        assert "Mondays" in found
        assert "reports" not in found

    def test_without_any_there_is_no_tab(self, ours):
        assert 'id="tab-apps"' not in ours.get("/memory/").content.decode()

    def test_a_card_is_corrected_in_place(self, ours_htmx, reports):
        assert 'class="line"' in ours_htmx.get(at("app_memory_edit", reports)).content.decode()
        answer = ours_htmx.post(at("app_memory_edit", reports), {"text": "Writes reports on Fridays."})
        assert "saved" in answer.content.decode()
        assert "memory-changed" in told(answer)
        reports.refresh_from_db()
        assert (reports.content, reports.edited) == ("Writes reports on Fridays.", True)

    @pytest.mark.parametrize("text", ["", "x" * 201])
    def test_what_cannot_be_kept_is_said_in_the_card(self, ours, ours_htmx, reports, text):
        for client in (ours, ours_htmx):
            answer = client.post(at("app_memory_edit", reports), {"text": text, "full": "1"})
            assert answer.status_code == 422
            assert 'role="alert"' in answer.content.decode()
        reports.refresh_from_db()
        assert reports.content == "The user writes reports."

    def test_forgetting_one_tells_of_it_and_undo_brings_it_back(self, ours, ours_htmx, reports):
        answer = ours_htmx.post(at("app_memory_delete", reports))
        gone = told(answer)["forgot"]
        assert (gone["text"], gone["seconds"]) == ("Forgot “The user writes reports.”", 4)
        assert ours_htmx.get(at("app_memory", reports)).status_code == 404
        assert ours_htmx.post(at("app_memory_edit", reports), {"text": "Else"}).status_code == 409
        assert gone["id"] in ours.get("/memory/").content.decode()
        ours_htmx.post(at("undo", Deletion.objects.get()))
        assert ours_htmx.get(at("app_memory", reports)).status_code == 200

    def test_all_of_an_app_is_cleared_with_eight_seconds(self, ours_htmx, work):
        gone = told(ours_htmx.post(at("app_clear", work)))["forgot"]
        assert (gone["text"], gone["seconds"]) == ("Forgot 2 memories", 8)
        assert ours_htmx.post(at("app_clear", work)).status_code == 409

    def test_without_javascript_it_leads_back_to_the_tab(self, ours, reports, work):
        assert ours.post(at("app_memory_edit", reports), {"text": "Else"}).url == "/memory/?tab=apps"
        assert ours.post(at("app_memory_delete", reports)).url == "/memory/?tab=apps"
        assert ours.post(at("app_clear", work)).url == "/memory/?tab=apps"
