"""Lists cost the same number of queries however long they are, and tell each thing once."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chat.actions.facts import add_fact
from chat.actions.topics import assign
from chat.models import App, AppMemory, Message

pytestmark = pytest.mark.django_db
MORE = "abcdefgh"


def fill(owner, talk, number: int) -> Message:
    """Add one of everything that is listed."""
    name = MORE[number]
    asked, _reply = talk(f"Message {name}")
    add_fact(owner, f"I use the editor {name}macs.")
    App.objects.create(owner=owner, slug=f"app-{name}", name=f"App {name}")
    first = App.objects.filter(owner=owner).first()
    AppMemory.objects.create(owner=owner, app=first, content=name, source_conversation=asked.conversation)
    assign(asked, None, "")
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
def test_a_longer_list_asks_the_database_no_more(program, owner, talk, path):
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


def test_what_is_made_says_where_it_is_read(program):
    for path, body in (
        ("facts", {"text": "I bake rye."}),
        ("conversations", {}),
        ("apps", {"name": "Recipes"}),
    ):
        made = program("POST", path, body)
        assert program("GET", made.headers["Location"]).json() == made.json()
