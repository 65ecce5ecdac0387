"""Apps and settings that come in beside those of here."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from chat.actions.facts import add_fact, pin_fact
from chat.actions.preferences import set_language, set_persona, set_theme
from chat.models import App, AppMemory, Fact

from .conftest import as_json, wipe
from .worlds import build

pytestmark = pytest.mark.django_db


def _of_another_machine(found):
    """Give the first app of a document, and its chats, a key that is not here."""
    app = next(app for app in found["apps"] if app["slug"] == "general")
    key = str(uuid4())
    for chat in found["conversations"]:
        if chat["app"] == app["id"]:
            chat["app"] = key
    app["id"] = key


class TestRooms:
    def test_an_app_that_is_used_here_keeps_name_and_persona_and_takes_the_chats_in(
        self, owner, spoken, taken
    ):
        build(owner)
        found = as_json(owner)
        wipe(owner)
        app = App.objects.get(owner=owner)
        _of_another_machine(found)
        spoken("here")
        set_persona(app, "You are mine.")
        taken(found)
        app.refresh_from_db()
        assert app.persona == "You are mine."
        assert app.conversations.count() == 2
        assert sorted(App.objects.values_list("slug", flat=True)) == ["general", "work"]

    def test_an_app_remembers_ten_chats_and_the_newest_come_in(self, owner, spoken, taken):
        build(owner, messages=400)
        found = as_json(owner)
        wipe(owner)
        _of_another_machine(found)
        app = App.objects.get(owner=owner)
        for n in range(9):
            AppMemory.objects.create(owner=owner, app=app, content=f"Mine {n}.")
        outcome = taken(found)
        assert AppMemory.objects.filter(app=app).count() == 10
        assert "This app remembers ten chats already." in [r.why for r in outcome.refusals]

    def test_no_two_apps_have_one_name(self, owner, taken):
        build(owner)
        found = as_json(owner)
        wipe(owner)
        App.objects.create(owner=owner, slug="office", name="work", persona="Mine.")
        taken(found)
        assert sorted(App.objects.values_list("name", flat=True)) == ["General", "Work 2", "work"]
        assert not taken(found).changes

    def test_settings_that_were_chosen_here_stay(self, owner, taken):
        build(owner)
        found = as_json(owner)
        wipe(owner)
        set_theme(owner, "light")
        set_language(owner, "en")
        taken(found)
        chosen = owner.memory_settings
        chosen.refresh_from_db()
        assert (chosen.theme, chosen.language, chosen.time_zone) == ("light", "en", "Europe/Oslo")

    def test_an_import_does_not_have_chats_of_here_deleted_at_night(self, owner, spoken, taken):
        build(owner)
        found = as_json(owner)
        wipe(owner)
        spoken("here")
        outcome = taken(found)
        owner.memory_settings.refresh_from_db()
        assert owner.memory_settings.prune_after == 0
        assert "It would delete chats that are here already." in [r.why for r in outcome.refusals]

    def test_it_says_how_many_chats_go_at_night(self, owner, taken):
        build(owner)
        found = as_json(owner)
        wipe(owner)
        found["conversations"][0]["updated_at"] = "2001-01-01T00:00:00+00:00"
        assert any("1 chat is older than 365 days" in note for note in taken(found).notes)

    def test_pins_of_here_are_kept_when_a_fact_changes(self, owner, taken):
        fact = add_fact(owner, "I like tea")
        pin_fact(fact, True)
        found = as_json(owner)
        assert not taken(found).changes
        assert Fact.objects.get().pinned
        assert UUID(found["facts"][0]["id"]) == fact.pk
