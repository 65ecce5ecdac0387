"""Clear all memory: confirmation, immediate removal, eight seconds to undo, with and without JavaScript."""

from __future__ import annotations

import json

import pytest

from chat.actions import deletions
from chat.actions.facts import add_fact
from chat.models import Deletion, Fact

pytestmark = pytest.mark.django_db


@pytest.fixture
def three(make_fact):
    """Three memories."""
    return [make_fact(f"User likes {thing}") for thing in ("chess", "tea", "rain")]


def text(answer) -> str:
    return " ".join(answer.content.decode().split())


def test_the_panel_offers_to_clear_memory_when_there_are_memories(ours, three):
    assert "Clear all memory" in text(ours.get("/memory/"))


def test_clearing_asks_for_confirmation_with_the_count_and_keep_cancels(ours_htmx, three):
    assert "This will remove all 3 facts" in text(ours_htmx.get("/memory/clear/"))
    kept = text(ours_htmx.get("/memory/clear/?keep=1"))
    assert "This will remove" not in kept
    assert "Clear all memory" in kept
    assert Fact.objects.live().count() == 3


def test_without_javascript_the_confirmation_is_a_page(ours, three):
    page = text(ours.get("/memory/clear/"))
    assert "<html" in page
    assert "This will remove all 3 facts" in page


def test_clearing_by_htmx_empties_the_list_and_reports_its_deletion(ours_htmx, three):
    answer = ours_htmx.post("/memory/clear/", headers={"hx-target": "memory-list"})
    deletion = Deletion.objects.get()
    told = json.loads(answer.headers["HX-Trigger"])
    assert told["forgot"] == {
        "id": str(deletion.pk),
        "undo": f"/memory/undo/{deletion.pk}/",
        "text": "Memory cleared",
        "seconds": 8,
        "gone": 0,
        "all": True,
        "facts": [],
    }
    assert "No memories yet" in text(answer)
    assert "This will remove" not in text(answer)
    assert not Fact.objects.live().exists()


def test_after_clearing_by_form_the_next_page_offers_undo_until_the_deadline(ours, three, clock):
    page = text(ours.post("/memory/clear/", follow=True))
    assert "Memory cleared" in page
    assert f'action="/memory/undo/{Deletion.objects.get().pk}/"' in page
    clock(3)
    assert 'data-seconds="8" data-elapsed="3"' in text(ours.get("/memory/"))
    ours.post(f"/memory/undo/{Deletion.objects.get().pk}/")
    assert Fact.objects.live().count() == 3


def test_several_deletions_are_each_offered_for_undo_after_a_reload(ours, three, owner, make_fact):
    deletions.forget_facts(owner, [three[0].pk])
    deletions.clear_memory(owner)
    make_fact("User likes snow")
    page = text(ours.get("/memory/"))
    assert "Forgot “Likes chess”" in page
    assert "Memory cleared" in page
    assert "Likes snow" in page


def test_clearing_an_empty_memory_is_refused_with_a_message(ours_htmx, owner):
    answer = ours_htmx.post("/memory/clear/")
    assert answer.status_code == 409
    assert "nothing to forget" in text(answer)


def test_a_replaced_memory_is_deleted_with_its_successor_and_not_counted(ours, owner):
    add_fact(owner, "I live in Oslo")
    new = add_fact(owner, "I live in Bergen")
    deletions.forget_facts(owner, [new.pk])
    assert "Forgot “I live in Bergen”" in text(ours.get("/memory/"))


@pytest.mark.parametrize("htmx", [True, False])
def test_undo_reports_a_memory_that_was_learned_again_in_the_meantime(ours, ours_htmx, owner, htmx):
    deletion = deletions.forget_facts(owner, [add_fact(owner, "I like chess").pk])
    add_fact(owner, "I like chess")
    address = f"/memory/undo/{deletion.pk}/"
    if htmx:
        said = json.loads(ours_htmx.post(address).headers["HX-Trigger"])["toast"]["text"]
    else:
        said = str(next(iter(ours.post(address, follow=True).context["messages"])))
    assert "learned again in the meantime" in said


def test_undo_reports_a_memory_that_was_replaced_by_a_newer_one(ours_htmx, owner):
    deletion = deletions.forget_facts(owner, [add_fact(owner, "I live in Oslo").pk])
    add_fact(owner, "I live in Bergen")
    said = json.loads(ours_htmx.post(f"/memory/undo/{deletion.pk}/").headers["HX-Trigger"])
    assert "replaced by a newer memory" in said["toast"]["text"]
