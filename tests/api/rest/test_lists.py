"""Lists take the same number of queries at any length, and return each item once."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chat.actions.facts import add_fact
from chat.actions.topics import assign_topic
from chat.models import App, AppMemory, Conversation, Message

pytestmark = pytest.mark.django_db
MORE = "abcdefgh"


def fill(owner, talk, number: int) -> Message:
    """Add one object of every listed kind."""
    name = MORE[number]
    asked, _reply = talk(f"Message {name}")
    add_fact(owner, f"I use the editor {name}macs.")
    App.objects.create(owner=owner, slug=f"app-{name}", name=f"App {name}")
    first = App.objects.filter(owner=owner).first()
    assert first is not None
    AppMemory.objects.create(owner=owner, app=first, content=name, source_conversation=asked.conversation)
    assign_topic(asked, None, "")
    return asked


@pytest.mark.parametrize(
    "path",
    [
        "conversations",
        "conversations?app=general",
        "conversations/{0}/messages",
        "conversations/{0}/messages/recent",
        "conversations/{0}/topics",
        "facts",
        "facts?q=editor",
        "entities",
        "graph/edges",
        "graph?q=What tools do I use?",
        "apps",
        "apps/general/memories",
    ],
)
def test_a_longer_list_needs_no_more_queries(program, owner, talk, path):
    asked = fill(owner, talk, 0)
    here = path.format(asked.conversation_id)
    program("GET", here)
    with CaptureQueriesContext(
        connection,
    ) as few:
        assert program("GET", here).status_code == 200
    for number in range(1, 6):
        fill(owner, talk, number)
        Message.objects.create(conversation=asked.conversation, seq=10 + number, role="user", content="More")
    with CaptureQueriesContext(connection) as many:
        assert program("GET", here).status_code == 200
    assert len(many) == len(few), [query["sql"][:200] for query in many.captured_queries]


def test_a_created_object_names_its_url(program):
    for path, body in (
        ("facts", {"text": "I bake rye."}),
        ("conversations", {}),
        ("apps", {"name": "Recipes"}),
    ):
        made = program("POST", path, body)
        assert program("GET", made.headers["Location"]).json() == made.json()


@pytest.mark.parametrize(
    ("path", "gone"),
    [
        ("conversations?app=general", "conversations/{id}"),
        ("facts?q=editor", "facts/{id}"),
        ("search?q=editor&kind=fact", "facts/{id}"),
        ("search?q=Message&kind=conversation&kind=fact", "conversations/{id}"),
    ],
)
def test_deleting_the_items_of_each_page_skips_none(program, owner, talk, path, gone):
    for number in range(len(MORE) - 1):
        fill(owner, talk, number)
    finish_all_replies()
    address, told = f"{path}&limit=2", []
    while address:
        page = program("GET", address).json()
        told += [one["id"] for one in page["items"]]
        for one in page["items"]:
            assert program("DELETE", gone.format(**one)).status_code == 200
        address = page["next"]
    assert len(told) == len(set(told)) == len(MORE) - 1
    assert program("GET", path).json()["total"] == 0


def test_items_added_or_deleted_in_the_meantime_hide_no_other_item(program, owner, talk):
    for number in range(6):
        fill(owner, talk, number)
    there = {one["id"] for one in program("GET", "conversations").json()["items"]}
    page = program("GET", "conversations?limit=2").json()
    told = {one["id"] for one in page["items"]}
    # Delete an item that was not returned yet, and add a new one.
    last = program("GET", "conversations?limit=1&offset=5").json()["items"][0]["id"]
    Conversation.objects.filter(pk=last).delete()
    fill(owner, talk, 7)
    while page["next"]:
        page = program("GET", page["next"]).json()
        told |= {one["id"] for one in page["items"]}
    assert told >= there - {last}


@pytest.mark.parametrize("of", ["", "-1", "many", "9" * 400, "²", "3"])
def test_an_invalid_cursor_is_no_error(program, owner, talk, of):
    fill(owner, talk, 0)
    answer = program("GET", f"conversations?offset=1&of={of}")
    assert (answer.status_code, answer.json()["total"]) == (200, 1)


def finish_all_replies() -> None:
    """Complete the unfinished replies, so that conversations can be deleted."""
    Message.objects.filter(state="streaming").update(state="complete")
