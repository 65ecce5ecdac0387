"""A token may do what its scopes name and nothing else: every operation with every scope."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from chat.actions.api_tokens import create_token
from chat.api.scopes import find_needed_scopes
from chat.models import Scope
from tests.doors.owned_objects import database_state
from tests.full_token import create_full_token

from .conftest import Program
from .test_ownership import OF_A_FILE, OF_AN_OBJECT, OF_WHOEVER_ASKS, ask, things  # noqa: F401 - a fixture

CHAT, READ_CHATS, MODEL = {"chat"}, {"chats:read"}, {"model"}
READ_MEMORY, WRITE_MEMORY = {"memory:read"}, {"memory:write"}
# No scope allows it.
NOBODY = {"nothing"}
READ_BOTH, WRITE_BOTH = READ_CHATS | READ_MEMORY, CHAT | WRITE_MEMORY

# By the method and the address of an operation, written without a look at the rules: the scopes it needs.
NEEDED: dict[tuple[str, str], set[str]] = {
    ("GET", "conversations/{conversation}"): READ_CHATS,
    ("PATCH", "conversations/{conversation}"): CHAT,
    ("DELETE", "conversations/{conversation}"): CHAT,
    ("POST", "conversations/{conversation}/end"): CHAT,
    ("POST", "conversations/{conversation}/keep"): CHAT,
    ("POST", "conversations/{conversation}/clear"): CHAT,
    ("DELETE", "conversations/{conversation}/clear"): CHAT,
    ("GET", "conversations/{conversation}/messages"): READ_CHATS,
    ("POST", "conversations/{conversation}/messages"): CHAT,
    ("GET", "conversations/{conversation}/messages/recent"): READ_CHATS,
    ("GET", "conversations/{conversation}/topics"): READ_CHATS,
    ("GET", "conversations/{conversation}/extractions"): READ_MEMORY,
    ("GET", "conversations/{conversation}/requests"): READ_MEMORY,
    ("GET", "messages/{message}"): READ_CHATS,
    ("PATCH", "messages/{message}"): CHAT,
    ("POST", "messages/{reply}/stop"): CHAT,
    ("POST", "messages/{reply}/retry"): CHAT,
    ("POST", "messages/{message}/resend"): CHAT,
    ("GET", "facts/{fact}"): READ_MEMORY,
    ("PATCH", "facts/{fact}"): WRITE_MEMORY,
    ("DELETE", "facts/{fact}"): WRITE_MEMORY,
    ("GET", "facts/{fact}/history"): READ_MEMORY,
    ("POST", "facts/{fact}/restore"): WRITE_MEMORY,
    ("POST", "facts/{archived_fact}/bring-back"): WRITE_MEMORY,
    ("GET", "topics/{topic}"): READ_CHATS,
    ("PATCH", "topics/{topic}"): CHAT,
    ("GET", "entities/{entity}"): READ_MEMORY,
    ("GET", "apps/{app}"): READ_CHATS,
    ("PATCH", "apps/{app}"): CHAT,
    ("POST", "apps/{app}/archive"): CHAT,
    ("POST", "apps/{app}/bring-back"): CHAT,
    ("GET", "apps/{app}/memories"): READ_MEMORY,
    ("DELETE", "apps/{app}/memories"): WRITE_MEMORY,
    ("GET", "apps/{app}/memories/{app_memory}"): READ_MEMORY,
    ("PATCH", "apps/{app}/memories/{app_memory}"): WRITE_MEMORY,
    ("DELETE", "apps/{app}/memories/{app_memory}"): WRITE_MEMORY,
    ("POST", "conversations"): CHAT,
    ("GET", "conversations"): READ_CHATS,
    ("POST", "conversations/prune"): NOBODY,
    ("GET", "facts"): READ_MEMORY,
    ("POST", "facts"): WRITE_MEMORY,
    ("POST", "facts/clear"): WRITE_MEMORY,
    ("GET", "entities"): READ_MEMORY,
    ("GET", "graph"): READ_MEMORY,
    ("GET", "graph/edges"): READ_MEMORY,
    ("GET", "apps"): READ_CHATS,
    ("POST", "apps"): CHAT,
    ("GET", "metrics"): MODEL,
    ("GET", "settings"): set(),
    ("PATCH", "settings"): WRITE_BOTH,
    ("GET", "export"): READ_BOTH,
    ("GET", "search"): READ_BOTH,
    ("GET", "recall"): READ_CHATS,
    ("POST", "extract"): WRITE_MEMORY,
    ("POST", "import"): {"import"},
}
# Either of the scopes is enough: the deletion may be of a chat or of a memory.
EITHER = {
    ("GET", "deletions/{deletion}"): WRITE_BOTH,
    ("POST", "deletions/{deletion}/undo"): WRITE_BOTH,
}
CASES = OF_AN_OBJECT + OF_WHOEVER_ASKS


def key_of(case) -> tuple[str, str]:
    return case[0], case[1].split("?")[0]


def with_scopes(user, *scopes: str) -> Program:
    return Program(authorization=f"Bearer {create_token(user, '+'.join(scopes), scopes)}")


def test_every_operation_has_its_scopes_in_this_table():
    assert {key_of(case) for case in CASES} | OF_A_FILE == NEEDED.keys() | EITHER.keys()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "case", [c for c in CASES if NEEDED.get(key_of(c)) is not NOBODY], ids=lambda case: " ".join(case[:2])
)
def test_a_token_with_just_the_needed_scopes_may_use_an_operation(things, owner, case):  # noqa: F811
    needed = NEEDED.get(key_of(case)) or {min(EITHER.get(key_of(case), {"import"}))}
    assert ask(with_scopes(owner, *needed), case, things).status_code in (200, 201, 202)


@pytest.mark.django_db
@pytest.mark.parametrize("scope", Scope.values)
def test_a_token_without_a_needed_scope_is_refused_and_nothing_changes(things, owner, scope):  # noqa: F811
    program = with_scopes(owner, scope)
    before = database_state()
    for case in CASES:
        key = key_of(case)
        allowed = scope in EITHER[key] if key in EITHER else NEEDED[key] <= {scope}
        if not allowed:
            answer = ask(program, case, things)
            assert (answer.status_code, scope, case) == (403, scope, case)
            if NEEDED.get(key) is not NOBODY:
                assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]
            assert "of the owner" not in answer.getvalue().decode()
    assert database_state() == before


@pytest.mark.django_db
def test_the_refusal_names_what_is_missing(things, owner):  # noqa: F811
    answer = with_scopes(owner, "chat")("GET", "export")
    assert answer.json()["detail"] == "This token does not allow that. It needs: chats:read and memory:read."


@pytest.mark.django_db
@pytest.mark.parametrize("scope", [s for s in Scope.values if s != "import"])
def test_only_the_scope_import_allows_an_import(owner, scope):
    assert with_scopes(owner, scope)("POST", "import").status_code == 403
    assert with_scopes(owner, "import")("POST", "import").status_code != 403


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/v1/models", "/v1/chat/completions", "/v1/nothing"])
def test_v1_needs_the_scope_chat_and_refuses_in_its_own_format(owner, path):
    answer = with_scopes(owner, *(s for s in Scope.values if s != "chat"))("GET", path)
    assert answer.status_code == 403
    assert "It needs: chat." in answer.json()["error"]["message"]
    assert with_scopes(owner, "chat")("GET", path).status_code != 403


# -- pages -------------------------------------------------------------------------------------------------


def list_routes(patterns=None, prefix: str = "") -> list[str]:
    """Return the route of every URL pattern but those of the admin site."""
    routes = []
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            routes += [] if pattern.namespace == "admin" else list_routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            routes.append(route)
    return routes


def test_only_the_interfaces_for_programs_are_open_to_a_token_with_scopes():
    opened = {route for route in list_routes() if find_needed_scopes(route, "POST") is not None}
    assert {route for route in opened if not route.startswith(("api/", "v1/"))} == {
        "metrics",
        "settings/provider/",
    }


@pytest.mark.django_db
def test_pages_refuse_a_token_with_all_scopes_and_open_for_a_full_one(owner):
    for path in (
        "/",
        "/memory/",
        "/settings/",
        "/search/?q=a",
        "/statistics/",
    ):
        client = Client(headers={"authorization": f"Bearer {create_token(owner, path)}"})
        assert client.get(path).status_code == 403
        full = Client(headers={"authorization": f"Bearer {create_full_token(owner, f'full {path}')}"})
        assert full.get(path).status_code == 200


@pytest.mark.django_db
def test_no_token_can_delete_everything_or_manage_tokens(owner):
    full = Client(headers={"authorization": f"Bearer {create_full_token(owner, 'full')}"})
    scoped = Client(headers={"authorization": f"Bearer {create_token(owner, 'all')}"})
    for client in (full, scoped):
        for path in ("/settings/erase/", "/settings/tokens/", "/admin/"):
            assert client.post(path, {"word": "delete"}).status_code == 403


@pytest.mark.django_db
def test_the_model_server_needs_the_scope_model(owner, monkeypatch):
    asked = []
    monkeypatch.setattr("chat.actions.provider.choose_server", lambda *a, **k: asked.append(k["url"]))
    wish = {"url": "http://127.0.0.1:9"}
    for scopes, expected in (({"chat", "memory:write"}, []), ({"model"}, ["http://127.0.0.1:9"])):
        client = Client(headers={"authorization": f"Bearer {create_token(owner, str(scopes), scopes)}"})
        client.post("/settings/provider/", wish)
        assert asked == expected
