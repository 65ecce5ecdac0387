"""GET /api/search: results, kinds, pages and access."""

from __future__ import annotations

import pytest

from chat.actions.messages import finish_reply
from chat.models import Message

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat_and_fact(talk, make_fact):
    """A chat called "My boat" with a reply about a boat, and a fact about it."""
    asked, reply = talk("My boat")
    finish_reply(reply, "A <b>boat</b> needs wind.", "complete")
    return asked.conversation, make_fact("User owns a boat")


def test_every_kind_of_result_has_a_snippet(program, chat_and_fact):
    chat, _ = chat_and_fact
    answer = program("GET", "search?q=boat%20wind&kind=message")
    assert answer.status_code == 200
    [hit] = answer.json()["items"]
    message = Message.objects.get(role="assistant")
    assert {name: hit[name] for name in ("kind", "id", "conversation", "title")} == {
        "kind": "message",
        "id": str(message.pk),
        "conversation": str(chat.pk),
        "title": "My boat",
    }
    assert [piece["text"] for piece in hit["snippet"] if piece["marked"]] == ["boat", "wind"]
    assert "".join(piece["text"] for piece in hit["snippet"]) == "A <b>boat</b> needs wind."
    everything = program("GET", "search?q=boat").json()
    assert everything["total"] == 4
    assert {hit["kind"] for hit in everything["items"]} == {"conversation", "fact", "message"}


def test_results_can_be_filtered_by_kind(program, chat_and_fact):
    _, fact = chat_and_fact
    [hit] = program("GET", "search?q=boat&kind=fact").json()["items"]
    assert (hit["id"], hit["conversation"], hit["title"]) == (str(fact.pk), None, None)
    both = program("GET", "search?q=boat&kind=fact&kind=conversation").json()["items"]
    assert sorted(hit["kind"] for hit in both) == ["conversation", "fact"]
    assert program("GET", "search?q=boat&kind=song").status_code == 422


def test_pages_link_to_the_next_one(program, chat_and_fact):
    seen, address = [], "search?q=boat&limit=1&kind=message&kind=conversation"
    while address:
        found = program("GET", address).json()
        seen += [hit["id"] for hit in found["items"]]
        address = found["next"]
    assert len(seen) == len(set(seen)) == 3


@pytest.mark.parametrize("asked", ["%22", "NEAR(", "%00x", "*", "a%20OR%20NOT", "%27%29%3B--"])
def test_no_query_is_an_error(program, chat_and_fact, asked):
    assert program("GET", f"search?q={asked}").status_code == 200


def test_an_empty_query_is_refused(program, owner):
    assert program("GET", "search").status_code == 422
    assert program("GET", "search?q=").status_code == 422


def test_search_returns_only_own_data_and_needs_a_token(program, theirs, stranger, revoked, chat_and_fact):
    assert theirs("GET", "search?q=boat").json()["items"] == []
    assert stranger("GET", "search?q=boat").status_code == 401
    assert revoked("GET", "search?q=boat").status_code == 401
