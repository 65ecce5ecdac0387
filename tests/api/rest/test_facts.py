"""Facts in the REST API: everything that the memory panel can do."""

from __future__ import annotations

import pytest
from django.utils import timezone

from chat.actions import deletions, facts
from chat.actions.facts import add_fact
from chat.models import Deletion, Fact

pytestmark = pytest.mark.django_db


@pytest.fixture
def fact(owner):
    return add_fact(owner, "I bake sourdough on Sundays.")


def test_a_fact_is_added_and_returned(program):
    answer = program("POST", "facts", {"text": "I bake sourdough on Sundays."})
    assert answer.status_code == 201
    told = answer.json()
    assert told["text"] == "I bake sourdough on Sundays."
    assert answer.headers["ETag"] == f'"{told["etag"]}"'
    assert program("GET", f"facts/{told['id']}").json() == told


def test_a_fact_tells_from_and_until_when_it_holds_and_when_it_was_said(program, make_fact):
    dates = {"holds_from": "2026-11-29", "holds_until": "2027-04-12", "said_on": "2026-11-20"}
    fact = make_fact("User's marathon is on 12 April", **dates)
    told = program("GET", f"facts/{fact.pk}").json()
    assert {name: told[name] for name in dates} == dates
    plain = program("GET", f"facts/{make_fact('User likes tea').pk}").json()
    assert {plain[name] for name in dates} == {None}


def test_a_known_fact_is_returned_with_200(program, fact):
    answer = program("POST", "facts", {"text": "I bake sourdough on Sundays"})
    assert (answer.status_code, answer.json()["id"]) == (200, str(fact.pk))
    assert answer.json()["mention_count"] == 2


def test_the_list_is_split_into_pages(program, owner):
    for number in range(5):
        add_fact(owner, f"I own the book of {'abcde'[number]} stories.")
    first = program("GET", "facts?limit=3").json()
    assert (len(first["items"]), first["total"]) == (3, 5)
    rest = program("GET", first["next"]).json()
    assert (len(rest["items"]), rest["next"]) == (2, None)
    assert len({f["id"] for f in first["items"] + rest["items"]}) == 5


def test_facts_are_filtered_by_text_and_category_and_pin(program, make_fact):
    make_fact("Mag Straßenbahnen", pinned=True)
    make_fact("Builds a boat", category="project", kind="building")
    assert [f["text"] for f in program("GET", "facts?q=STRASSE").json()["items"]] == ["Mag Straßenbahnen"]
    assert program("GET", "facts?category=project").json()["total"] == 1
    assert program("GET", "facts?pinned=true").json()["total"] == 1


def test_the_best_match_is_found_by_meaning(program, make_fact):
    for text in ("Drinks tea with milk every single morning", "Likes tea"):
        make_fact(text)
    [found] = program("GET", "facts?meant=tea").json()["items"]
    assert found["text"] == "Likes tea"
    assert program("GET", "facts?meant=zeppelin").json()["items"] == []
    assert program("GET", "facts?meant=tea&category=project").json()["items"] == []


def test_an_explicit_request_has_a_higher_confidence_than_a_manual_entry(program):
    assert program("POST", "facts", {"text": "I like tea."}).json()["origin"] == "manual"
    asked = program("POST", "facts", {"text": "I like rye bread.", "origin": "told"}).json()
    assert (asked["origin"], asked["confidence"]) == ("told", 0.75)
    assert program("POST", "facts", {"text": "I like figs.", "origin": "extracted"}).status_code == 422


def test_a_page_has_at_most_a_hundred_facts(program):
    answer = program("GET", "facts?limit=101")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["loc"] == ["query", "limit"]


def test_editing_needs_the_current_etag(program, fact):
    assert program("PATCH", f"facts/{fact.pk}", {"text": "I bake rye."}).status_code == 428
    read = program("GET", f"facts/{fact.pk}")
    edited = program("PATCH", f"facts/{fact.pk}", {"text": "I bake rye."}, if_match=read.headers["ETag"])
    assert (edited.status_code, edited.json()["text"]) == (200, "I bake rye.")
    late = program("PATCH", f"facts/{fact.pk}", {"text": "I bake buns."}, if_match=read.headers["ETag"])
    assert (late.status_code, late.json()["title"]) == (412, "Changed meanwhile")
    assert Fact.objects.get(pk=fact.pk).text == "I bake rye."
    again = program("PATCH", f"facts/{fact.pk}", {"pinned": True}, if_match=edited.headers["ETag"])
    assert again.json()["pinned"] is True


@pytest.mark.parametrize("tag", ['W/"weak"', "no tag at all", '""'])
def test_a_weak_or_broken_etag_never_matches(program, fact, tag):
    assert program("PATCH", f"facts/{fact.pk}", {"pinned": True}, if_match=tag).status_code == 412


def test_the_etag_may_be_sent_without_quotes(program, fact):
    etag = program("GET", f"facts/{fact.pk}").json()["etag"]
    path = f"facts/{fact.pk}"
    assert program("PATCH", path, {"text": "I bake rye."}, if_match=etag).status_code == 200
    assert program("PATCH", path, {"text": "I bake buns."}, if_match=etag).status_code == 412


def test_a_star_matches_any_version(program, fact):
    assert program("PATCH", f"facts/{fact.pk}", {"pinned": True}, if_match="*").status_code == 200


def test_text_and_pin_change_together_or_not_at_all(program, fact, make_fact):
    for number in range(facts.MAX_PINNED):
        make_fact(f"Pinned {number}", pinned=True)
    answer = program("PATCH", f"facts/{fact.pk}", {"text": "I bake rye.", "pinned": True}, if_match="*")
    assert answer.status_code == 409
    assert "10 memories are pinned" in answer.json()["detail"]
    assert Fact.objects.get(pk=answer.json()["conflicts_with"]).pinned
    assert Fact.objects.get(pk=fact.pk).text == "I bake sourdough on Sundays."


def test_forgetting_can_be_undone(program, fact):
    gone = program("DELETE", f"facts/{fact.pk}")
    assert (gone.status_code, gone.json()["state"]) == (200, "pending")
    assert program("GET", f"facts/{fact.pk}").status_code == 404
    blocked = program("PATCH", f"facts/{fact.pk}", {"pinned": True}, if_match="*")
    assert (blocked.status_code, blocked.json()["undo"]) == (409, gone.json()["undo"])
    again = program("DELETE", f"facts/{fact.pk}")
    assert (again.status_code, again.json()) == (200, gone.json())
    assert Deletion.objects.count() == 1
    undone = program("POST", gone.json()["undo"])
    assert undone.json()["returned"] == [str(fact.pk)]
    assert program("GET", f"facts/{fact.pk}").status_code == 200
    late = program("POST", gone.json()["undo"])
    assert (late.status_code, late.json()["detail"]) == (409, "This has already been undone.")


def test_deleting_with_an_outdated_etag_is_refused(program, fact):
    path = f"facts/{fact.pk}"
    etag = f'"{program("GET", path).json()["etag"]}"'
    program("PATCH", path, {"pinned": True}, if_match=etag)
    assert program("DELETE", path, if_match=etag).status_code == 412
    etag = f'"{program("GET", path).json()["etag"]}"'
    gone = program("DELETE", path, if_match=etag)
    assert gone.status_code == 200
    assert program("DELETE", path, if_match=etag).json() == gone.json()


def test_clearing_all_facts_can_be_undone(program, fact):
    gone = program("POST", "facts/clear")
    assert program("GET", "facts").json()["total"] == 0
    assert program("POST", "facts/clear").json() == gone.json()
    assert program("GET", f"deletions/{gone.json()['id']}").json()["state"] == "pending"
    program("POST", gone.json()["undo"])
    assert program("GET", "facts").json()["total"] == 1


def test_clearing_an_empty_memory_is_refused(program):
    answer = program("POST", "facts/clear")
    assert (answer.status_code, answer.json()["detail"]) == (409, "There is nothing to forget.")


def test_a_fact_is_restored_from_its_history(program, fact):
    program("PATCH", f"facts/{fact.pk}", {"text": "I bake rye."}, if_match="*")
    history = program("GET", f"facts/{fact.pk}/history").json()
    assert [event["kind"] for event in history] == ["add", "edit"]
    restored = program("POST", f"facts/{fact.pk}/restore", {"event": history[0]["id"]})
    assert restored.json()["text"] == "I bake sourdough on Sundays."


def test_an_archived_fact_is_restored(program, fact):
    Fact.objects.filter(pk=fact.pk).update(archived_at=timezone.now())
    assert program("GET", "facts?state=archived").json()["items"][0]["state"] == "archived"
    assert program("POST", f"facts/{fact.pk}/bring-back").json()["state"] == "live"
    assert program("POST", f"facts/{fact.pk}/bring-back").status_code == 409


@pytest.mark.parametrize("key", ["8a644440-0d56-45d0-b33c-eba3e99a1fe1", "no-key", "%00", "0"])
def test_an_unknown_fact_is_404_for_any_id(program, key):
    answer = program("GET", f"facts/{key}")
    assert answer.status_code == 404
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_fact_names_the_conversations_of_its_first_and_last_mention(program, talk, make_fact):
    first, last = (talk(text)[0].conversation for text in ("I like tea.", "Tea, as ever."))
    fact = make_fact("User likes tea", source_conversation=first, last_seen_conversation=last)
    told = program("GET", f"facts/{fact.pk}").json()
    assert (told["conversation"], told["last_seen_conversation"]) == (str(first.pk), str(last.pk))
    assert program("GET", "facts").json()["items"] == [told]
    deletions.delete_conversation(last)
    assert program("GET", f"facts/{fact.pk}").json()["last_seen_conversation"] is None


def test_the_list_of_facts_needs_as_many_queries_for_ten_as_for_one(
    program, talk, make_fact, django_assert_max_num_queries
):
    chat = talk("I like tea.")[0].conversation
    program("GET", "facts")
    for number in range(10):
        make_fact(f"User likes tea {number}", source_conversation=chat, last_seen_conversation=chat)
    with django_assert_max_num_queries(6):
        assert program("GET", "facts").json()["total"] == 10
