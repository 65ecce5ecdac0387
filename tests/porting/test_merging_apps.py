"""Imported apps and settings are merged with existing ones."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from chat.actions.apps import set_persona
from chat.actions.facts import add_fact, pin_fact
from chat.actions.owners import set_language, set_theme
from chat.models import App, AppMemory, Fact

from .conftest import as_json, wipe
from .sample_data import create_sample_data

pytestmark = pytest.mark.django_db


def _change_default_app_id(found):
    """Give the default app of a document a new id, also in the document's conversations."""
    app = next(app for app in found["apps"] if app["slug"] == "general")
    key = str(uuid4())
    for chat in found["conversations"]:
        if chat["app"] == app["id"]:
            chat["app"] = key
    app["id"] = key


class TestAppsAndSettings:
    def test_an_app_in_use_keeps_its_persona_and_gets_the_conversations(
        self, owner, add_exchange, import_document
    ):
        create_sample_data(owner)
        found = as_json(owner)
        wipe(owner)
        app = App.objects.get(owner=owner)
        _change_default_app_id(found)
        add_exchange("here")
        set_persona(app, "You are mine.")
        import_document(found)
        app.refresh_from_db()
        assert app.persona == "You are mine."
        assert app.conversations.count() == 2
        assert sorted(App.objects.values_list("slug", flat=True)) == ["general", "work"]

    def test_an_app_keeps_at_most_ten_memories(self, owner, add_exchange, import_document):
        create_sample_data(owner, messages=400)
        found = as_json(owner)
        wipe(owner)
        _change_default_app_id(found)
        app = App.objects.get(owner=owner)
        for n in range(9):
            AppMemory.objects.create(owner=owner, app=app, content=f"Mine {n}.")
        outcome = import_document(found)
        assert AppMemory.objects.filter(app=app).count() == 10
        assert "This app already has ten memories." in [r.why for r in outcome.refusals]

    def test_imported_apps_get_unique_names(self, owner, import_document):
        create_sample_data(owner)
        found = as_json(owner)
        wipe(owner)
        App.objects.create(owner=owner, slug="office", name="work", persona="Mine.")
        import_document(found)
        assert sorted(App.objects.values_list("name", flat=True)) == ["General", "Work 2", "work"]
        assert not import_document(found).changes

    def test_settings_the_owner_chose_are_kept(self, owner, import_document):
        create_sample_data(owner)
        found = as_json(owner)
        wipe(owner)
        set_theme(owner, "light")
        set_language(owner, "en")
        import_document(found)
        chosen = owner.memory_settings
        chosen.refresh_from_db()
        assert (chosen.theme, chosen.language, chosen.time_zone) == ("light", "en", "Europe/Oslo")

    def test_a_pruning_setting_that_would_delete_conversations_is_refused(
        self, owner, add_exchange, import_document
    ):
        create_sample_data(owner)
        found = as_json(owner)
        wipe(owner)
        add_exchange("here")
        outcome = import_document(found)
        owner.memory_settings.refresh_from_db()
        assert owner.memory_settings.prune_after == 0
        assert "It would delete chats that are here already." in [r.why for r in outcome.refusals]

    def test_the_report_notes_how_many_conversations_pruning_will_delete(self, owner, import_document):
        create_sample_data(owner)
        found = as_json(owner)
        wipe(owner)
        found["conversations"][0]["updated_at"] = "2001-01-01T00:00:00+00:00"
        assert any("1 chat is older than 365 days" in note for note in import_document(found).notes)

    def test_importing_an_unchanged_fact_keeps_its_pin(self, owner, import_document):
        fact = add_fact(owner, "I like tea")
        pin_fact(fact, True)
        found = as_json(owner)
        assert not import_document(found).changes
        assert Fact.objects.get().pinned
        assert UUID(found["facts"][0]["id"]) == fact.pk
