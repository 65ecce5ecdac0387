"""Managing memories: cards become checkboxes, and one request forgets, pins or moves the chosen ones."""

from __future__ import annotations

import pytest

from chat.actions import deletions
from chat.models import Deletion, Fact

from .responses import text_of, triggered_events

pytestmark = pytest.mark.django_db


@pytest.fixture
def press(ours_htmx, known):
    """Return a function that sends an action of the bar for the facts of these names."""

    def send(do: str, *names: str):
        keys = [str(known[name].pk) for name in names]
        return ours_htmx.post("/memory/batch/", {"do": do, "fact": keys, "manage": "1"})

    return send


def test_cards_are_checkboxes_while_managing_also_after_choosing_a_tab_or_searching(ours, known):
    page = text_of(ours.get("/memory/?manage=1&tab=preference&q=chess"))
    assert page.count('type="checkbox"') == 1
    assert 'form="batch"' in page
    assert 'href="/memory/?tab=all&amp;q=chess&amp;manage=1"' in page
    assert '<input type="hidden" name="manage" value="1">' in page
    assert 'type="checkbox"' not in text_of(ours.get("/memory/"))


def test_an_empty_memory_has_nothing_to_manage(ours, owner):
    page = text_of(ours.get("/memory/?manage=1"))
    assert 'id="manage"' not in page
    assert 'id="batch"' not in page


def test_chosen_memories_are_forgotten_as_one_deletion_with_one_undo(press, owner):
    answer = press("delete", "boat", "chess", "oslo")
    assert triggered_events(answer)["forgot"]["text"] == "Forgot 3 memories"
    assert Deletion.objects.count() == 1
    assert not Fact.objects.live().exists()
    deletions.undo_deletion(Deletion.objects.get())
    assert Fact.objects.live().count() == 3


def test_the_response_names_the_forgotten_memories(press, known):
    assert sorted(triggered_events(press("delete", "boat", "chess"))["forgot"]["facts"]) == sorted(
        str(known[name].pk) for name in ("boat", "chess")
    )


def test_pinning_says_how_many_and_pinning_pinned_ones_unpins_them(press):
    assert triggered_events(press("pin", "boat", "chess"))["toast"]["text"] == "Pinned 1 memory."
    assert triggered_events(press("pin", "boat", "chess"))["toast"]["text"] == "Unpinned 2 memories."


def test_too_many_pins_are_refused_with_a_message(press, make_fact):
    for n in range(8):
        make_fact(f"User likes tune {n}", pinned=True)
    answer = press("pin", "boat", "oslo")
    assert answer.status_code == 409
    assert triggered_events(answer)["toast"]["text"] == (
        "At most 10 memories can be pinned. There is room for 1 more. Nothing was changed."
    )
    assert Fact.objects.filter(pinned=True).count() == 9


def test_moving_to_another_category_says_how_many_moved(press):
    answer = press("identity", "boat", "chess", "oslo")
    assert triggered_events(answer)["toast"]["text"] == "Moved 2 memories to Identity."
    assert Fact.objects.filter(category="identity").count() == 3


@pytest.mark.parametrize("do", ["delete", "pin", "project"])
def test_an_empty_choice_is_refused_with_a_message(press, do):
    assert triggered_events(press(do))["toast"]["text"] == "Choose at least one memory."


@pytest.mark.parametrize("do", ["", "steal"])
def test_an_unknown_action_is_refused(press, do):
    assert press(do, "boat").status_code == 409


def test_memories_forgotten_in_the_meantime_are_skipped(press, owner, known):
    deletions.forget_facts(owner, [known["boat"].pk])
    assert triggered_events(press("delete", "boat", "chess"))["forgot"]["text"] == "Forgot “Likes chess”"


def test_without_javascript_it_leads_back_to_the_checkboxes(ours, known):
    answer = ours.post("/memory/batch/", {"do": "pin", "fact": str(known["oslo"].pk)}, follow=True)
    assert answer.redirect_chain == [("/memory/?manage=1", 302)]
    assert [str(m) for m in answer.context["messages"]] == ["Pinned 1 memory."]


def test_invalid_ids_are_not_found(ours, owner):
    assert ours.post("/memory/batch/", {"do": "pin", "fact": "none"}).status_code == 404
