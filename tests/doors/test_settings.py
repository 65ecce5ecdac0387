"""The settings page: each choice is saved for whoever makes it, and bad input changes nothing."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.utils import timezone

from chat.actions.messages import ask_for_look
from chat.actions.owners import ensure_owner, redacts, settings_of
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


def told(answer) -> dict:
    return json.loads(answer.headers["HX-Trigger"])


@pytest.mark.parametrize(("name", "value"), GOOD)
class TestSaving:
    """Each choice has a form that works with and without JavaScript."""

    def test_as_a_form_it_leads_back_and_says_that_it_is_saved(self, ours, owner, name, value):
        before = state()
        answer = ours.post("/settings/", {name: value}, follow=True)
        assert answer.redirect_chain == [("/settings/", 302)]
        assert ("Gespeichert." if name == "language" else "Saved.") in answer.content.decode()
        assert state() != before

    def test_by_htmx_it_answers_with_the_form_as_it_is_now(self, ours_htmx, owner, name, value):
        before = state()
        answer = ours_htmx.post("/settings/", {name: value})
        assert state() != before
        if name == "language":
            assert answer.headers["HX-Refresh"] == "true"
        else:
            assert told(answer)["toast"] == {"text": "Saved."}
            assert answer.content.decode().count(f'id="set-{name}"') == 1
            assert "<html" not in answer.content.decode()

    def test_in_server_mode_it_is_for_whoever_asks_alone(
        self, server_mode, owner, other, logged_in, name, value
    ):
        before = state(owner)
        assert logged_in(other).post("/settings/", {name: value}).status_code == 302
        assert state(owner) == before
        assert value in str(state(other)) or not redacts(other.pk)

    def test_a_stranger_changes_nothing(self, server_mode, owner, name, value):
        before = state()
        answer = Client(headers={"origin": ORIGIN}).post("/settings/", {name: value})
        assert answer.url.startswith("/login/")
        assert state() == before


@pytest.mark.parametrize(("name", "value"), BAD)
class TestBadInput:
    """A clear sentence, and nothing is changed."""

    def test_as_a_form_the_page_says_what_is_wrong(self, ours, owner, name, value):
        ours.get("/settings/")
        before = state()
        answer = ours.post("/settings/", {name: value}, follow=True)
        assert "data-notice" in answer.content.decode()
        assert "Saved." not in answer.content.decode()
        assert state() == before

    def test_by_htmx_a_toast_says_it_and_what_was_typed_stays(self, ours_htmx, owner, name, value):
        answer = ours_htmx.post("/settings/", {name: value})
        assert answer.status_code == 422
        assert answer.headers["HX-Reswap"] == "none"
        assert told(answer)["toast"]["text"] == answer.content.decode()


class TestWhatTheyDo:
    """A choice is used everywhere it should be."""

    def test_the_theme_is_in_the_page_as_the_server_sends_it(self, ours):
        assert "data-theme" not in ours.get("/").content.decode()
        ours.post("/settings/", {"theme": "dark"})
        for page in ("/", "/memory/", "/settings/", "/nowhere/"):
            sent = ours.get(page).content.decode()
            assert 'data-theme="dark"' in sent
            assert '<meta id="scheme" name="color-scheme" content="dark">' in sent

    def test_the_button_in_the_sidebar_goes_round_and_stays_on_the_page(self, ours, owner):
        for theme in ("light", "dark", ""):
            page = ours.get("/memory/").content.decode()
            assert f'name="theme" value="{theme}"' in page
            here = "http://testserver/memory/"
            answer = ours.post("/settings/", {"theme": theme}, headers={"referer": here})
            assert answer.url == here
            assert settings_of(owner.pk).theme == theme

    def test_a_referer_of_another_site_leads_nowhere(self, ours, owner):
        answer = ours.post("/settings/", {"theme": "dark"}, headers={"referer": "http://evil.example/"})
        assert answer.url == "/settings/"

    def test_the_page_changes_its_colours_at_once(self, ours, owner):
        headers = {"hx-request": "true", "hx-target": "theme"}
        answer = ours.post("/settings/", {"theme": "light"}, headers=headers)
        assert told(answer)["theme"] == {"value": "light"}
        assert 'id="tint-dark"' in answer.content.decode()
        assert 'media="not all"' in answer.content.decode()

    def test_the_language_is_the_browsers_until_one_is_chosen(self, ours):
        german = {"accept-language": "de-AT,de;q=0.9"}
        assert '<html lang="de"' in ours.get("/", headers=german).content.decode()
        assert '<html lang="en"' in ours.get("/").content.decode()
        ours.post("/settings/", {"language": "en"})
        answer = ours.get("/", headers=german)
        assert '<html lang="en"' in answer.content.decode()
        assert answer.headers["Content-Language"] == "en"

    def test_pages_tell_the_time_by_the_owners_clock(self, ours, talk, time_machine):
        time_machine.move_to("2026-03-01 23:30+00:00")
        asked, _ = talk("Hello")
        ours.post("/settings/", {"time_zone": "Asia/Tokyo"})
        assert "8:30" in ours.get(f"/c/{asked.conversation_id}/").content.decode()
        assert timezone.get_current_timezone_name() == "UTC"

    def test_memory_reads_after_the_quiet_that_the_owner_chose(self, ours, talk, clock):
        now = clock(0)
        ours.post("/settings/", {"look_after": "30"})
        asked, _ = talk("I like chess")
        assert (Job.objects.get(kind="extract").run_after - now).total_seconds() == 30
        ask_for_look(asked.conversation)
        assert (Job.objects.get(kind="extract").run_after - now).total_seconds() == 30

    def test_redaction_can_be_turned_off_and_on(self, ours, owner):
        ours.post("/settings/", {"redact_secrets": "off"})
        assert not redacts(owner.pk)
        ours.post("/settings/", {"redact_secrets": "on"})
        assert redacts(owner.pk)

    def test_where_the_environment_turned_redaction_off_there_is_no_switch(self, ours, settings):
        settings.REDACT_SECRETS = False
        page = ours.get("/settings/").content.decode()
        assert 'name="redact_secrets"' not in page
        assert "REDACT_SECRETS=false" in page


class TestWhatItTells:
    """The model, where things lie and how much there is."""

    def test_it_tells_the_model_its_window_and_how_to_change_them(self, ours, scripted):
        page = ours.get("/settings/").content.decode()
        for told in ("Scripted", "python3 manage.py start", "MODEL_PATH=", "WINDOW="):
            assert told in page

    def test_without_a_model_it_says_why_and_what_mends_it(self, ours):
        assert "No model is loaded in this process." in ours.get("/settings/").content.decode()

    def test_it_counts_what_is_the_owners(self, ours, talk, make_fact, other):
        talk("Hello")
        make_fact("User likes jazz")
        make_fact("User likes tea", owner=other)
        page = " ".join(ours.get("/settings/").content.decode().split())
        for what, count in (("Conversations", 1), ("Messages", 2), ("Memories", 1)):
            assert f"<dt>{what}</dt><dd>{count}</dd>" in page

    def test_on_a_server_only_its_staff_sees_where_things_lie(self, server_mode, owner, other, logged_in):
        ensure_owner(other.username)
        assert str(server_mode.DATA_DIR) not in logged_in(other).get("/settings/").content.decode()
        assert "python3 manage.py start" not in logged_in(other).get("/settings/").content.decode()
        assert str(server_mode.DATA_DIR) in logged_in(owner).get("/settings/").content.decode()

    def test_the_page_takes_few_queries(self, ours, owner, django_assert_max_num_queries):
        ours.get("/settings/")
        with django_assert_max_num_queries(16):
            ours.get("/settings/")


class TestDeletingEverything:
    """It takes a typed word, stops what is being written, and can be taken back."""

    @pytest.mark.parametrize("word", ["", "yes", "löschen"])
    def test_without_the_word_nothing_happens(self, ours, ours_htmx, talk, word):
        talk("Hello")
        page = ours.post("/settings/erase/", {"word": word}, follow=True).content.decode()
        assert "Type “delete” to delete everything." in page
        assert ours_htmx.post("/settings/erase/", {"word": word}).status_code == 422
        assert Conversation.objects.kept().exists()

    def test_with_it_the_app_looks_like_a_first_run_with_an_undo(self, ours, talk, make_fact):
        talk("Hello")
        make_fact("User likes jazz")
        page = ours.post("/settings/erase/", {"word": " Delete "}, follow=True).content.decode()
        assert "Hello. Tell me something about you." in page
        assert "Everything is deleted" in page
        deletion = Deletion.objects.get()
        ours.post(f"/memory/undo/{deletion.pk}/")
        assert Conversation.objects.kept().exists()

    def test_in_german_the_word_is_german(self, ours, talk):
        talk("Hello")
        ours.post("/settings/", {"language": "de"})
        ours.post("/settings/erase/", {"word": "löschen"})
        assert not Conversation.objects.kept().exists()

    def test_by_htmx_it_leads_to_the_first_page(self, ours_htmx, talk):
        talk("Hello")
        answer = ours_htmx.post("/settings/erase/", {"word": "delete"})
        assert answer.headers["HX-Redirect"] == "/"

    def test_on_a_server_it_is_for_whoever_asks_alone(self, server_mode, talk, other, logged_in):
        talk("Hello")
        logged_in(other).post("/settings/erase/", {"word": "delete"})
        assert Conversation.objects.kept().exists()

    def test_a_stranger_deletes_nothing(self, server_mode, talk):
        talk("Hello")
        answer = Client(headers={"origin": ORIGIN}).post("/settings/erase/", {"word": "delete"})
        assert answer.url.startswith("/login/")
        assert Conversation.objects.kept().exists()
