"""Manage: cards become checkboxes, and one press forgets, pins or moves all that were chosen."""

from __future__ import annotations

import pytest

from chat.actions import deletions
from chat.models import Deletion, Fact

from .answers import text, triggers

pytestmark = pytest.mark.django_db


@pytest.fixture
def press(ours_htmx, known):
    """Returns a presser of the bar's buttons for the facts of these names."""

    def send(do: str, *names: str):
        keys = [str(known[name].pk) for name in names]
        return ours_htmx.post("/memory/batch/", {"do": do, "fact": keys, "manage": "1"})

    return send


def test_cards_are_checkboxes_while_managing_and_tabs_and_search_keep_it_so(ours, known):
    page = text(ours.get("/memory/?manage=1&tab=preference&q=chess"))
    assert page.count('type="checkbox"') == 1
    assert 'form="batch"' in page
    assert 'href="/memory/?tab=all&amp;q=chess&amp;manage=1"' in page
    assert '<input type="hidden" name="manage" value="1">' in page
    assert 'type="checkbox"' not in text(ours.get("/memory/"))


def test_an_empty_memory_has_nothing_to_manage(ours, owner):
    page = text(ours.get("/memory/?manage=1"))
    assert 'id="manage"' not in page
    assert 'id="batch"' not in page


def test_one_press_forgets_all_in_one_batch_with_one_undo(press, owner):
    answer = press("delete", "boat", "chess", "oslo")
    assert triggers(answer)["forgot"]["text"] == "Forgot 3 memories"
    assert Deletion.objects.count() == 1
    assert not Fact.objects.live().exists()
    deletions.undo(Deletion.objects.get())
    assert Fact.objects.live().count() == 3


def test_the_toast_says_which_memories_have_gone(press, known):
    assert sorted(triggers(press("delete", "boat", "chess"))["forgot"]["facts"]) == sorted(
        str(known[name].pk) for name in ("boat", "chess")
    )


def test_pinning_says_how_many_and_what_is_pinned_is_unpinned(press):
    assert triggers(press("pin", "boat", "chess"))["toast"]["text"] == "Pinned 1 memory."
    assert triggers(press("pin", "boat", "chess"))["toast"]["text"] == "Unpinned 2 memories."


def test_too_many_pins_are_refused_with_a_sentence(press, make_fact):
    for n in range(8):
        make_fact(f"User likes tune {n}", pinned=True)
    answer = press("pin", "boat", "oslo")
    assert answer.status_code == 409
    assert triggers(answer)["toast"]["text"] == (
        "At most 10 memories can be pinned. There is room for 1 more. Nothing was changed."
    )
    assert Fact.objects.filter(pinned=True).count() == 9


def test_another_shelf_is_said(press):
    answer = press("identity", "boat", "chess", "oslo")
    assert triggers(answer)["toast"]["text"] == "Moved 2 memories to Identity."
    assert Fact.objects.filter(category="identity").count() == 3


@pytest.mark.parametrize("do", ["delete", "pin", "project"])
def test_nothing_chosen_is_said(press, do):
    assert triggers(press(do))["toast"]["text"] == "Choose at least one memory."


@pytest.mark.parametrize("do", ["", "steal"])
def test_what_is_not_on_the_bar_is_refused(press, do):
    assert press(do, "boat").status_code == 409


def test_what_has_gone_meanwhile_is_passed_over(press, owner, known):
    deletions.forget(owner, [known["boat"].pk])
    assert triggers(press("delete", "boat", "chess"))["forgot"]["text"] == "Forgot “Likes chess”"


def test_without_scripts_it_leads_back_to_the_checkboxes(ours, known):
    answer = ours.post("/memory/batch/", {"do": "pin", "fact": str(known["oslo"].pk)}, follow=True)
    assert answer.redirect_chain == [("/memory/?manage=1", 302)]
    assert [str(m) for m in answer.context["messages"]] == ["Pinned 1 memory."]


def test_keys_that_are_none_do_not_exist(ours, owner):
    assert ours.post("/memory/batch/", {"do": "pin", "fact": "none"}).status_code == 404
