"""GET /api/search: what is found, page by page, and who may ask."""

from __future__ import annotations

import pytest

from chat.actions.messages import finish_reply
from chat.models import Message

pytestmark = pytest.mark.django_db


@pytest.fixture
def said(talk, make_fact):
    """A chat called "My boat" in which a boat is spoken of, and a fact about it."""
    asked, reply = talk("My boat")
    finish_reply(reply, "A <b>boat</b> needs wind.", "complete")
    return asked.conversation, make_fact("User owns a boat")


def test_all_kinds_with_their_snippets(program, said):
    chat, _ = said
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


def test_by_kind(program, said):
    _, fact = said
    [hit] = program("GET", "search?q=boat&kind=fact").json()["items"]
    assert (hit["id"], hit["conversation"], hit["title"]) == (str(fact.pk), None, None)
    both = program("GET", "search?q=boat&kind=fact&kind=conversation").json()["items"]
    assert sorted(hit["kind"] for hit in both) == ["conversation", "fact"]
    assert program("GET", "search?q=boat&kind=song").status_code == 422


def test_pages_lead_to_each_other(program, said):
    seen, address = [], "search?q=boat&limit=1&kind=message&kind=conversation"
    while address:
        found = program("GET", address).json()
        seen += [hit["id"] for hit in found["items"]]
        address = found["next"]
    assert len(seen) == len(set(seen)) == 3


@pytest.mark.parametrize("asked", ["%22", "NEAR(", "%00x", "*", "a%20OR%20NOT", "%27%29%3B--"])
def test_nothing_that_is_asked_is_an_error(program, said, asked):
    assert program("GET", f"search?q={asked}").status_code == 200


def test_without_words_it_says_what_is_missing(program, owner):
    assert program("GET", "search").status_code == 422
    assert program("GET", "search?q=").status_code == 422


def test_who_may_ask(program, theirs, stranger, revoked, said):
    assert theirs("GET", "search?q=boat").json()["items"] == []
    assert stranger("GET", "search?q=boat").status_code == 401
    assert revoked("GET", "search?q=boat").status_code == 401
