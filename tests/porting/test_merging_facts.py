"""Facts that come in beside those of here: nothing comes twice, the caps hold."""

from __future__ import annotations

import pytest

from chat.actions.facts import add_fact, edit_fact
from chat.models import Fact, FactEvent, Job, Relationship

from .conftest import as_json, wipe
from .worlds import build

pytestmark = pytest.mark.django_db


class TestFacts:
    def test_one_that_says_the_same_is_known_and_not_reinforced(self, owner, taken):
        add_fact(owner, "I like green tea")
        found = as_json(owner)
        wipe(owner)
        known = add_fact(owner, "i like GREEN tea!")
        outcome = taken(found)
        assert (outcome.facts.added, outcome.facts.there) == (0, 1)
        known.refresh_from_db()
        assert known.mention_count == 1
        assert Fact.objects.count() == 1

    def test_one_that_changed_elsewhere_changes_here(self, owner, taken):
        fact = add_fact(owner, "I like tea")
        before = as_json(owner)["facts"][0]["history"]
        edit_fact(fact, "I like green tea")
        newer = as_json(owner)
        FactEvent.objects.exclude(pk=before[0]["id"]).delete()
        Fact.objects.filter(pk=fact.pk).update(text="I like tea", version=1)
        outcome = taken(newer)
        assert outcome.facts.changed == 1
        assert Fact.objects.get().text == "I like green tea"
        assert not taken(newer).changes

    def test_one_that_changed_here_stays(self, owner, taken):
        fact = add_fact(owner, "I like tea")
        older = as_json(owner)
        edit_fact(fact, "I like green tea")
        assert not taken(older).changes
        assert Fact.objects.get().text == "I like green tea"

    def test_one_that_changed_here_and_there_stays_as_it_is_here(self, owner, taken):
        fact = add_fact(owner, "I like tea")
        edit_fact(fact, "I like black tea")
        elsewhere = as_json(owner)
        FactEvent.objects.filter(kind="edit").delete()
        Fact.objects.update(text="I like tea")
        edit_fact(Fact.objects.get(), "I like green tea")
        outcome = taken(elsewhere)
        assert [r.why for r in outcome.refusals] == ["It changed here and there. What is here stays."]
        assert Fact.objects.get().text == "I like green tea"

    def test_never_more_than_the_cap_live_here_and_what_was_here_stays(self, owner, make_fact, taken):
        build(owner, messages=0, facts=60)
        found = as_json(owner)
        wipe(owner)
        for n in range(120):
            make_fact(f"I like thing number {n}")
        outcome = taken(found)
        assert Fact.objects.filter(owner=owner).live().count() == 150
        assert Fact.objects.live().filter(text__startswith="I like thing").count() == 120
        assert Fact.objects.live().filter(pinned=True).count() == 3
        assert any("30 go to the archive" in note for note in outcome.notes)
        assert FactEvent.objects.filter(kind="evict").count() == 30
        assert not taken(found).changes

    def test_never_more_than_ten_are_pinned(self, owner, make_fact, taken):
        build(owner, messages=0, facts=5)
        found = as_json(owner)
        wipe(owner)
        for n in range(9):
            make_fact(f"I like thing number {n}", pinned=True)
        outcome = taken(found)
        assert Fact.objects.filter(pinned=True).count() == 10
        assert any("2 come without their pins" in note for note in outcome.notes)

    def test_of_two_values_the_one_that_was_learned_later_lives(self, owner, taken):
        add_fact(owner, "I live in Oslo")
        found = as_json(owner)
        wipe(owner)
        add_fact(owner, "I live in Bergen")
        outcome = taken(found)
        assert [f.text for f in Fact.objects.live()] == ["I live in Bergen"]
        assert Fact.objects.get(text="I live in Bergen").supersedes == Fact.objects.get(text="I live in Oslo")
        assert any(note.startswith("1 memory says something else") for note in outcome.notes)

    def test_what_a_known_fact_had_replaced_elsewhere_hangs_on_the_one_of_here(self, owner, taken):
        add_fact(owner, "I live in Oslo")
        add_fact(owner, "I live in Bergen")
        found = as_json(owner)
        wipe(owner)
        known = add_fact(owner, "I live in Bergen")
        taken(found)
        known.refresh_from_db()
        assert known.supersedes.text == "I live in Oslo"

    def test_the_graph_is_told_once(self, owner, taken):
        add_fact(owner, "I like green tea")
        found = as_json(owner)
        wipe(owner)
        add_fact(owner, "I like green tea and coffee")
        taken(found)
        taken(found)
        assert Relationship.objects.filter(source_fact__text="I like green tea").count() == 1

    def test_vectors_are_made_anew(self, owner, taken):
        build(owner)
        found = as_json(owner)
        wipe(owner)
        Job.objects.all().delete()
        taken(found)
        assert Job.objects.filter(kind="reindex").exists()

    def test_a_secret_stays_out(self, owner, taken):
        build(owner)
        found = as_json(owner)
        wipe(owner)
        found["facts"][0]["text"] = "My password: hunter2secret99"
        taken(found)
        assert "hunter2" not in Fact.objects.get(pk=found["facts"][0]["id"]).text
