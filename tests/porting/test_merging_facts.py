"""Imported facts are merged with existing ones; nothing is duplicated and the limits hold."""

from __future__ import annotations

import pytest

from chat.actions.facts import add_fact, edit_fact
from chat.models import Fact, FactEvent, Job, Relationship

from .conftest import as_json, wipe
from .sample_data import create_sample_data

pytestmark = pytest.mark.django_db


class TestFacts:
    def test_a_fact_with_the_same_text_is_not_reinforced(self, owner, import_document):
        add_fact(owner, "I like green tea")
        found = as_json(owner)
        wipe(owner)
        local_fact = add_fact(owner, "i like GREEN tea!")
        outcome = import_document(found)
        assert (outcome.facts.added, outcome.facts.there) == (0, 1)
        local_fact.refresh_from_db()
        assert local_fact.mention_count == 1
        assert Fact.objects.count() == 1

    def test_a_fact_edited_in_the_file_is_updated(self, owner, import_document):
        fact = add_fact(owner, "I like tea")
        before = as_json(owner)["facts"][0]["history"]
        edit_fact(fact, "I like green tea")
        newer = as_json(owner)
        FactEvent.objects.exclude(pk=before[0]["id"]).delete()
        Fact.objects.filter(pk=fact.pk).update(text="I like tea", version=1)
        outcome = import_document(newer)
        assert outcome.facts.changed == 1
        assert Fact.objects.get().text == "I like green tea"
        assert not import_document(newer).changes

    def test_a_fact_edited_here_is_kept(self, owner, import_document):
        fact = add_fact(owner, "I like tea")
        older = as_json(owner)
        edit_fact(fact, "I like green tea")
        assert not import_document(older).changes
        assert Fact.objects.get().text == "I like green tea"

    def test_a_fact_edited_on_both_sides_keeps_the_local_version(self, owner, import_document):
        fact = add_fact(owner, "I like tea")
        edit_fact(fact, "I like black tea")
        elsewhere = as_json(owner)
        FactEvent.objects.filter(kind="edit").delete()
        Fact.objects.update(text="I like tea")
        edit_fact(Fact.objects.get(), "I like green tea")
        outcome = import_document(elsewhere)
        assert [r.why for r in outcome.refusals] == [
            "It changed here and in the file. The version here is kept."
        ]
        assert Fact.objects.get().text == "I like green tea"

    def test_imported_facts_over_the_cap_are_archived_and_local_facts_stay(
        self, owner, make_fact, import_document
    ):
        create_sample_data(owner, messages=0, facts=60)
        found = as_json(owner)
        wipe(owner)
        for n in range(120):
            make_fact(f"I like thing number {n}")
        outcome = import_document(found)
        assert Fact.objects.filter(owner=owner).live().count() == 150
        assert Fact.objects.live().filter(text__startswith="I like thing").count() == 120
        assert Fact.objects.live().filter(pinned=True).count() == 3
        assert any("30 go to the archive" in note for note in outcome.notes)
        assert FactEvent.objects.filter(kind="evict").count() == 30
        assert not import_document(found).changes

    def test_imports_keep_the_limit_of_ten_pins(self, owner, make_fact, import_document):
        create_sample_data(owner, messages=0, facts=5)
        found = as_json(owner)
        wipe(owner)
        for n in range(9):
            make_fact(f"I like thing number {n}", pinned=True)
        outcome = import_document(found)
        assert Fact.objects.filter(pinned=True).count() == 10
        assert any("2 come without their pins" in note for note in outcome.notes)

    def test_of_two_single_valued_facts_the_later_one_is_live(self, owner, import_document):
        add_fact(owner, "I live in Oslo")
        found = as_json(owner)
        wipe(owner)
        add_fact(owner, "I live in Bergen")
        outcome = import_document(found)
        assert [f.text for f in Fact.objects.live()] == ["I live in Bergen"]
        assert Fact.objects.get(text="I live in Bergen").supersedes == Fact.objects.get(text="I live in Oslo")
        assert any(note.startswith("1 memory contradicts an existing one") for note in outcome.notes)

    def test_a_superseded_fact_is_linked_to_the_local_duplicate(self, owner, import_document):
        add_fact(owner, "I live in Oslo")
        add_fact(owner, "I live in Bergen")
        found = as_json(owner)
        wipe(owner)
        local_fact = add_fact(owner, "I live in Bergen")
        import_document(found)
        local_fact.refresh_from_db()
        assert local_fact.supersedes.text == "I live in Oslo"

    def test_relationships_are_not_duplicated(self, owner, import_document):
        add_fact(owner, "I like green tea")
        found = as_json(owner)
        wipe(owner)
        add_fact(owner, "I like green tea and coffee")
        import_document(found)
        import_document(found)
        assert Relationship.objects.filter(source_fact__text="I like green tea").count() == 1

    def test_an_import_queues_the_embedding_job(self, owner, import_document):
        create_sample_data(owner)
        found = as_json(owner)
        wipe(owner)
        Job.objects.all().delete()
        import_document(found)
        assert Job.objects.filter(kind="reindex").exists()

    def test_secrets_in_imported_facts_are_redacted(self, owner, import_document):
        create_sample_data(owner)
        found = as_json(owner)
        wipe(owner)
        found["facts"][0]["text"] = "My password: hunter2secret99"
        import_document(found)
        assert "hunter2" not in Fact.objects.get(pk=found["facts"][0]["id"]).text
