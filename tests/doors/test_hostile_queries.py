"""Any text in the query string of a page or of the API is answered, never with an error of the server."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.actions.api_tokens import create_token
from chat.actions.messages import finish_reply, send_message

from .owned_objects import ORIGIN, OwnedObjects

pytestmark = pytest.mark.django_db
LONG = 6000  # more digits than Python reads as a number
_HOSTILE = [
    *(
        '"',
        '""',
        '"a',
        "'",
        "*",
        "a*",
        "(",
        "a AND",
        "NOT",
        "NEAR(a b, 2)",
        "shelf : m1",
        "^a",
        "-a",
        "a OR",
        "{a b}",
    ),
    *(
        "\x00",
        "a\x00b",
        "\ud800",
        "\udfff a",
        "\ufffd",
        "\u202e",
        "a\u0301",
        "ß",
        "İ",
        "%",
        "_",
        "\\",
        "%00",
        "密码",
        "😀",
    ),
    *(
        "a" * LONG,
        "a " * 3000,
        '"a' * 2000,
        "密" * 3000,
        "9" * LONG,
        "-" + "9" * LONG,
        "٣٣",
        "²",
        "1e999",
        "NaN",
        "0x1",
        "-1",
    ),
    *(
        "2026-02-30",
        "0001-01-01",
        "9999-12-31T23:59:59+00:00",
        "00000000-0000-0000-0000-000000000000",
        "null",
        "[]",
        "{}",
    ),
]
texts = st.sampled_from(_HOSTILE) | st.text(st.characters(), max_size=12) | st.integers().map(str)
# Parameters that any of the pages or operations reads; others are ignored.
_NAMES = (
    *(
        "q",
        "from",
        "meaning",
        "tab",
        "manage",
        "open",
        "found",
        "was",
        "span",
        "app",
        "m",
        "before",
        "after",
        "limit",
    ),
    *(
        "offset",
        "of",
        "kind",
        "max_tokens",
        "wait",
        "temporary",
        "full",
        "keep",
        "next",
        "archived",
        "memories",
        "page",
    ),
)
queries = st.lists(st.tuples(st.sampled_from(_NAMES), texts), min_size=1, max_size=4)


def encode(query: list[tuple[str, str]]) -> str:
    """Return a query string; half characters as the bytes that no UTF-8 has."""
    return urlencode([(name, text.encode("utf-8", "surrogatepass")) for name, text in query])


def build_pages(things: OwnedObjects) -> list[str]:
    chat, fact = things.conversation.pk, things.fact.pk
    return [
        *(
            "/",
            "/search/",
            "/memory/",
            "/memory/graph/",
            "/memory/pill/",
            "/memory/health/",
            "/memory/archive/",
        ),
        *(
            "/memory/heard-once/",
            "/memory/clear/",
            "/statistics/",
            "/statistics/energy/",
            "/apps/",
            "/settings/",
            "/login/",
        ),
        *(f"/c/{chat}/", f"/c/{chat}/after/0/", f"/c/{chat}/topics/", f"/c/{chat}/menu/", f"/memory/{fact}/"),
        *(
            f"/memory/{fact}/origin/",
            f"/m/{things.reply.pk}/",
            f"/apps/{things.app.pk}/",
            "/admin/chat/fact/",
        ),
    ]


def build_operations(things: OwnedObjects) -> list[str]:
    chat = things.conversation.pk
    return [
        *(
            "/api/search",
            "/api/facts",
            "/api/conversations",
            "/api/recall",
            "/api/graph",
            "/api/entities",
            "/api/apps",
        ),
        *(
            "/api/graph/edges",
            f"/api/conversations/{chat}/messages",
            f"/api/conversations/{chat}/messages/recent",
        ),
        *(
            f"/api/conversations/{chat}/extractions",
            f"/api/messages/{things.reply.pk}",
            "/api/metrics",
            "/v1/models",
        ),
        *(f"/api/facts/{things.fact.pk}/history", f"/api/conversations/{chat}/topics", "/api/openapi.json"),
    ]


@pytest.fixture
def own(owner, scripted) -> OwnedObjects:
    return OwnedObjects.of(owner, "of the owner")


def test_any_query_string_of_a_page_is_answered(own, ours_htmx, ours):
    pages = build_pages(own)

    @settings(max_examples=40)
    @given(st.sampled_from(pages), queries, st.sampled_from([ours, ours_htmx]))
    def check(page, query, client):
        assert client.get(f"{page}?{encode(query)}").status_code < 500

    check()


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("/search/", ["q", "from"]),
        ("/memory/", ["q", "found", "open"]),
        ("/memory/graph/", ["q"]),
        ("/memory/pill/", ["was"]),
        ("/", ["app"]),
        ("/c/{}/", ["m"]),
        ("/c/{}/", ["before"]),
        ("/c/{}/", ["after"]),
    ],
)
def test_a_parameter_that_a_page_reads_takes_every_hostile_text(own, ours_htmx, address, names):
    path = address.format(own.conversation.pk)
    for text in _HOSTILE:
        assert ours_htmx.get(f"{path}?{encode([(name, text) for name in names])}").status_code < 500, text[:9]


def test_any_query_string_of_the_api_is_answered_with_json(own, owner):
    headers = {"authorization": f"Bearer {create_token(owner, 'queries')}"}
    client, operations = Client(headers=headers), build_operations(own)
    assert all(client.get(path, {"q": "fact"}).status_code in (200, 404, 422) for path in operations)

    @settings(max_examples=40)
    @given(st.sampled_from(operations), queries)
    def check(path, query):
        answer = client.get(f"{path}?{encode(query)}")
        assert answer.status_code < 500
        json.loads(answer.content)

    check()


def test_any_id_in_an_address_is_answered(own, ours):
    patterns = [
        *(
            "/c/{}/",
            "/m/{}/",
            "/memory/{}/",
            "/memory/{}/origin/",
            "/apps/{}/",
            "/memory/undo/{}/",
            "/c/{}/after/{}/",
        ),
        *(
            "/api/conversations/{}",
            "/api/facts/{}",
            "/api/messages/{}",
            "/api/apps/{}",
            "/api/topics/{}",
            "/static/{}",
        ),
        *("/settings/import/{}/", "/admin/chat/fact/{}/change/", "/v1/models/{}"),
    ]

    @settings(max_examples=40)
    @given(st.sampled_from(patterns), texts)
    def check(pattern, text):
        encoded = "".join(f"%{byte:02X}" for byte in text[:200].encode("utf-8", "surrogatepass"))
        assert ours.get(pattern.replace("{}", encoded)).status_code < 500

    check()


def test_a_search_for_any_text_finds_what_holds_it(owner, ours_htmx):
    asked, reply = send_message(owner, "A boat needs wind")
    finish_reply(reply, "And a sail.", "complete")

    @settings(max_examples=50)
    @given(st.text(st.sampled_from("*():^-{}\\|!<>, \t\u202e"), max_size=8))
    def check(signs):
        page = ours_htmx.get("/search/", {"q": f"{signs} boat"})
        assert f"/c/{asked.conversation_id}/" in page.content.decode()

    check()
    assert ours_htmx.get("/search/", {"q": "boat"}, headers={"origin": ORIGIN}).status_code == 200
