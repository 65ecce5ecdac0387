"""The settings page: each choice is saved for the logged-in user, and invalid input changes nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from chat.actions.conversation_jobs import queue_extraction
from chat.actions.owners import ensure_owner, redacts_secrets, settings_of
from chat.models import App, Conversation, Deletion, Job, OwnerSettings

pytestmark = pytest.mark.django_db
ORIGIN = "http://testserver"

GOOD = [
    ("theme", "dark"),
    ("language", "de"),
    ("time_zone", "Asia/Tokyo"),
    ("look_after", "30"),
    ("redact_secrets", "off"),
    ("prune_after", "90"),
]
BAD = [
    ("theme", "pink"),
    ("language", "xx"),
    ("time_zone", "Mars/Olympus"),
    ("time_zone", "../etc/passwd"),
    ("look_after", "1"),
    ("look_after", "601"),
    ("look_after", "-5"),
    ("look_after", "²"),
    ("look_after", "soon"),
    ("look_after", ""),
    ("redact_secrets", "maybe"),
    ("prune_after", "1"),
    ("prune_after", ""),
    ("owner", "1"),
]


def state(*owners):
    rows = [model.objects.order_by("pk") for model in (OwnerSettings, App)]
    return [list((r.filter(owner__in=owners) if owners else r).values()) for r in rows]


def hx_events(answer: Any) -> dict[str, Any]:
    return json.loads(answer.headers["HX-Trigger"])


@pytest.mark.parametrize(("name", "value"), GOOD)
class TestSaving:
    """Each setting has a form that works with and without JavaScript."""

    def test_saving_by_form_leads_back_and_confirms(self, ours, owner, name, value):
        before = state()
        answer = ours.post("/settings/", {name: value}, follow=True)
        assert answer.redirect_chain == [("/settings/", 302)]
        assert ("Gespeichert." if name == "language" else "Saved.") in answer.content.decode()
        assert state() != before

    def test_saving_by_htmx_returns_the_updated_form(self, ours_htmx, owner, name, value):
        before = state()
        answer = ours_htmx.post("/settings/", {name: value})
        assert state() != before
        if name == "language":
            assert answer.headers["HX-Refresh"] == "true"
        else:
            assert hx_events(answer)["toast"] == {"text": "Saved."}
            assert answer.content.decode().count(f'id="set-{name}"') == 1
            assert "<html" not in answer.content.decode()

    def test_in_server_mode_only_the_own_settings_change(
        self, server_mode, owner, other, logged_in, name, value
    ):
        before = state(owner)
        assert logged_in(other).post("/settings/", {name: value}).status_code == 302
        assert state(owner) == before
        assert value in str(state(other)) or not redacts_secrets(other.pk)

    def test_without_login_nothing_changes(self, server_mode, owner, name, value):
        before = state()
        answer = Client(headers={"origin": ORIGIN}).post("/settings/", {name: value})
        assert answer.url.startswith("/login/")
        assert state() == before


@pytest.mark.parametrize(("name", "value"), BAD)
class TestBadInput:
    """Invalid input is refused with a message and changes nothing."""

    def test_by_form_the_next_page_says_what_is_wrong(self, ours, owner, name, value):
        ours.get("/settings/")
        before = state()
        answer = ours.post("/settings/", {name: value}, follow=True)
        assert "data-notice" in answer.content.decode()
        assert "Saved." not in answer.content.decode()
        assert state() == before

    def test_by_htmx_a_toast_says_what_is_wrong_and_the_input_stays(self, ours_htmx, owner, name, value):
        answer = ours_htmx.post("/settings/", {name: value})
        assert answer.status_code == 422
        assert answer.headers["HX-Reswap"] == "none"
        assert hx_events(answer)["toast"]["text"] == answer.content.decode()


class TestEffects:
    """Each setting takes effect."""

    def test_the_theme_is_in_the_html_that_the_server_sends(self, ours):
        assert "data-theme" not in ours.get("/").content.decode()
        ours.post("/settings/", {"theme": "dark"})
        for page in ("/", "/memory/", "/settings/", "/nowhere/"):
            sent = ours.get(page).content.decode()
            assert 'data-theme="dark"' in sent
            assert '<meta id="scheme" name="color-scheme" content="dark">' in sent

    def test_the_sidebar_button_cycles_through_the_themes_and_stays_on_the_page(self, ours, owner):
        for theme in ("light", "dark", ""):
            page = ours.get("/memory/").content.decode()
            assert f'name="theme" value="{theme}"' in page
            here = "http://testserver/memory/"
            answer = ours.post("/settings/", {"theme": theme}, headers={"referer": here})
            assert answer.url == here
            assert settings_of(owner.pk).theme == theme

    def test_a_referer_of_another_site_is_ignored(self, ours, owner):
        answer = ours.post("/settings/", {"theme": "dark"}, headers={"referer": "http://evil.example/"})
        assert answer.url == "/settings/"

    def test_the_page_changes_its_theme_at_once(self, ours, owner):
        headers = {"hx-request": "true", "hx-target": "theme"}
        answer = ours.post("/settings/", {"theme": "light"}, headers=headers)
        assert hx_events(answer)["theme"] == {"value": "light"}
        assert 'id="tint-dark"' in answer.content.decode()
        assert 'media="not all"' in answer.content.decode()

    def test_the_language_is_that_of_the_browser_until_one_is_chosen(self, ours):
        german = {"accept-language": "de-AT,de;q=0.9"}
        assert '<html lang="de"' in ours.get("/", headers=german).content.decode()
        assert '<html lang="en"' in ours.get("/").content.decode()
        ours.post("/settings/", {"language": "en"})
        answer = ours.get("/", headers=german)
        assert '<html lang="en"' in answer.content.decode()
        assert answer.headers["Content-Language"] == "en"

    def test_pages_show_times_in_the_time_zone_of_the_owner(self, ours, talk, time_machine):
        time_machine.move_to("2026-03-01 23:30+00:00")
        asked, _ = talk("Hello")
        ours.post("/settings/", {"time_zone": "Asia/Tokyo"})
        assert "8:30" in ours.get(f"/c/{asked.conversation_id}/").content.decode()
        assert timezone.get_current_timezone_name() == "UTC"

    def test_extraction_starts_after_the_chosen_delay(self, ours, talk, clock):
        now = clock(0)
        ours.post("/settings/", {"look_after": "30"})
        asked, _ = talk("I like chess")
        assert (Job.objects.get(kind="extract").run_after - now).total_seconds() == 30
        queue_extraction(asked.conversation)
        assert (Job.objects.get(kind="extract").run_after - now).total_seconds() == 30

    def test_redaction_can_be_turned_off_and_on(self, ours, owner):
        ours.post("/settings/", {"redact_secrets": "off"})
        assert not redacts_secrets(owner.pk)
        ours.post("/settings/", {"redact_secrets": "on"})
        assert redacts_secrets(owner.pk)

    def test_redaction_disabled_by_the_environment_has_no_switch(self, ours, settings):
        settings.REDACT_SECRETS = False
        page = ours.get("/settings/").content.decode()
        assert 'name="redact_secrets"' not in page
        assert "REDACT_SECRETS=false" in page


class TestSystemInformation:
    """The page shows the model, the data folder and the counts."""

    def test_it_shows_the_model_and_how_to_change_it(self, ours, scripted):
        page = ours.get("/settings/").content.decode()
        for text in ("Scripted", "python3 manage.py start", "MODEL_PATH=", "WINDOW="):
            assert text in page

    def test_without_a_model_it_says_why(self, ours):
        assert "No model is loaded in this process." in ours.get("/settings/").content.decode()

    def test_it_counts_only_data_of_the_owner(self, ours, talk, make_fact, other):
        talk("Hello")
        make_fact("User likes jazz")
        make_fact("User likes tea", owner=other)
        page = " ".join(ours.get("/settings/").content.decode().split())
        for what, count in (("Conversations", 1), ("Messages", 2), ("Memories", 1)):
            assert f"<dt>{what}</dt><dd>{count}</dd>" in page

    def test_on_a_server_only_staff_sees_the_data_folder(self, server_mode, owner, other, logged_in):
        ensure_owner(other.username)
        assert str(server_mode.DATA_DIR) not in logged_in(other).get("/settings/").content.decode()
        assert "python3 manage.py start" not in logged_in(other).get("/settings/").content.decode()
        assert str(server_mode.DATA_DIR) in logged_in(owner).get("/settings/").content.decode()

    def test_the_number_of_queries_is_limited(self, ours, owner, django_assert_max_num_queries):
        ours.get("/settings/")
        with django_assert_max_num_queries(16):
            ours.get("/settings/")


class TestDeletingEverything:
    """Deleting everything needs a typed word and can be undone."""

    @pytest.mark.parametrize("word", ["", "yes", "löschen"])
    def test_without_the_word_nothing_is_deleted(self, ours, ours_htmx, talk, word):
        talk("Hello")
        page = ours.post("/settings/erase/", {"word": word}, follow=True).content.decode()
        assert "Type “delete” to delete everything." in page
        assert ours_htmx.post("/settings/erase/", {"word": word}).status_code == 422
        assert Conversation.objects.not_deleted().exists()

    def test_with_the_word_everything_is_deleted_and_can_be_undone(self, ours, talk, make_fact):
        talk("Hello")
        make_fact("User likes jazz")
        page = ours.post("/settings/erase/", {"word": " Delete "}, follow=True).content.decode()
        assert "Hello. Tell me something about you." in page
        assert "Everything is deleted" in page
        deletion = Deletion.objects.get()
        ours.post(f"/memory/undo/{deletion.pk}/")
        assert Conversation.objects.not_deleted().exists()

    def test_the_word_is_in_the_language_of_the_owner(self, ours, talk):
        talk("Hello")
        ours.post("/settings/", {"language": "de"})
        ours.post("/settings/erase/", {"word": "löschen"})
        assert not Conversation.objects.not_deleted().exists()

    def test_deleting_by_htmx_leads_to_the_first_page(self, ours_htmx, talk):
        talk("Hello")
        answer = ours_htmx.post("/settings/erase/", {"word": "delete"})
        assert answer.headers["HX-Redirect"] == "/"

    def test_on_a_server_only_own_data_is_deleted(self, server_mode, talk, other, logged_in):
        talk("Hello")
        logged_in(other).post("/settings/erase/", {"word": "delete"})
        assert Conversation.objects.not_deleted().exists()

    def test_without_login_nothing_is_deleted(self, server_mode, talk):
        talk("Hello")
        answer = Client(headers={"origin": ORIGIN}).post("/settings/erase/", {"word": "delete"})
        assert answer.url.startswith("/login/")
        assert Conversation.objects.not_deleted().exists()
