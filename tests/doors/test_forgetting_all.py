"""Clear all: asked once, gone at once, and back for eight seconds, with scripts and without."""

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


def test_the_panel_offers_it_where_there_is_something(ours, three):
    assert "Clear all memory" in text(ours.get("/memory/"))


def test_it_asks_first_with_the_count_and_keep_takes_the_question_away(ours_htmx, three):
    assert "This will remove all 3 facts" in text(ours_htmx.get("/memory/clear/"))
    kept = text(ours_htmx.get("/memory/clear/?keep=1"))
    assert "This will remove" not in kept
    assert "Clear all memory" in kept
    assert Fact.objects.live().count() == 3


def test_without_scripts_the_question_is_a_page(ours, three):
    page = text(ours.get("/memory/clear/"))
    assert "<html" in page
    assert "This will remove all 3 facts" in page


def test_by_htmx_the_cards_go_and_the_bar_knows_its_deletion(ours_htmx, three):
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


def test_as_a_form_the_next_page_offers_undo_until_the_deadline(ours, three, clock):
    page = text(ours.post("/memory/clear/", follow=True))
    assert "Memory cleared" in page
    assert f'action="/memory/undo/{Deletion.objects.get().pk}/"' in page
    clock(3)
    assert 'data-seconds="8" data-gone="3"' in text(ours.get("/memory/"))
    ours.post(f"/memory/undo/{Deletion.objects.get().pk}/")
    assert Fact.objects.live().count() == 3


def test_several_batches_are_each_shown_again_after_a_reload(ours, three, owner, make_fact):
    deletions.forget(owner, [three[0].pk])
    deletions.clear_all(owner)
    make_fact("User likes snow")
    page = text(ours.get("/memory/"))
    assert "Forgot “Likes chess”" in page
    assert "Memory cleared" in page
    assert "Likes snow" in page


def test_where_there_is_nothing_it_is_refused_with_a_sentence(ours_htmx, owner):
    answer = ours_htmx.post("/memory/clear/")
    assert answer.status_code == 409
    assert "nothing to forget" in text(answer)


def test_what_a_memory_replaced_goes_with_it_and_is_not_counted(ours, owner):
    add_fact(owner, "I live in Oslo")
    new = add_fact(owner, "I live in Bergen")
    deletions.forget(owner, [new.pk])
    assert "Forgot “I live in Bergen”" in text(ours.get("/memory/"))


@pytest.mark.parametrize("htmx", [True, False])
def test_undo_says_so_where_a_memory_came_back_as_one_with_what_was_learned_meanwhile(
    ours, ours_htmx, owner, htmx
):
    deletion = deletions.forget(owner, [add_fact(owner, "I like chess").pk])
    add_fact(owner, "I like chess")
    address = f"/memory/undo/{deletion.pk}/"
    if htmx:
        said = json.loads(ours_htmx.post(address).headers["HX-Trigger"])["toast"]["text"]
    else:
        said = str(next(iter(ours.post(address, follow=True).context["messages"])))
    assert "learned again meanwhile" in said


def test_undo_says_so_where_something_newer_stands_in_its_place(ours_htmx, owner):
    deletion = deletions.forget(owner, [add_fact(owner, "I live in Oslo").pk])
    add_fact(owner, "I live in Bergen")
    said = json.loads(ours_htmx.post(f"/memory/undo/{deletion.pk}/").headers["HX-Trigger"])
    assert "replaced by something newer" in said["toast"]["text"]
