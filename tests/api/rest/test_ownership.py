"""Every REST operation as its owner, as another user, with no token or a revoked one, from another site."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from chat.actions import apps
from chat.api.rest.api import api
from chat.models import Entity
from tests.doors.owned_objects import OwnedObjects, database_state
from tests.full_token import create_full_token

from .conftest import Program

Case = tuple[str, str, Any]
# Every operation on an object: method, address below /api, body.
OF_AN_OBJECT: list[Case] = [
    ("GET", "conversations/{conversation}", None),
    ("PATCH", "conversations/{conversation}", {"title": "Renamed"}),
    ("DELETE", "conversations/{conversation}", None),
    ("POST", "conversations/{conversation}/end", None),
    ("POST", "conversations/{conversation}/keep", None),
    ("POST", "conversations/{conversation}/clear", None),
    ("DELETE", "conversations/{conversation}/clear", None),
    ("GET", "conversations/{conversation}/messages", None),
    ("POST", "conversations/{conversation}/messages", {"content": "Hello"}),
    ("GET", "conversations/{conversation}/messages/recent", None),
    ("GET", "conversations/{conversation}/topics", None),
    ("GET", "conversations/{conversation}/extractions", None),
    ("GET", "conversations/{conversation}/requests", None),
    ("GET", "messages/{message}", None),
    ("PATCH", "messages/{message}", {"flagged": True}),
    ("POST", "messages/{reply}/stop", None),
    ("POST", "messages/{reply}/retry", None),
    ("POST", "messages/{message}/resend", {"content": "In other words"}),
    ("GET", "facts/{fact}", None),
    ("PATCH", "facts/{fact}", {"text": "Something else"}),
    ("DELETE", "facts/{fact}", None),
    ("GET", "facts/{fact}/history", None),
    ("POST", "facts/{fact}/restore", {"event": "{event}"}),
    ("POST", "facts/{archived_fact}/bring-back", None),
    ("GET", "topics/{topic}", None),
    ("PATCH", "topics/{topic}", {"importance": 0.25}),
    ("GET", "entities/{entity}", None),
    ("GET", "apps/{app}", None),
    ("PATCH", "apps/{app}", {"persona": "You are somebody else."}),
    ("POST", "apps/{app}/archive", {"purge": True}),
    ("POST", "apps/{app}/bring-back", None),
    ("GET", "apps/{app}/memories", None),
    ("DELETE", "apps/{app}/memories", None),
    ("GET", "apps/{app}/memories/{app_memory}", None),
    ("PATCH", "apps/{app}/memories/{app_memory}", {"content": "Something else"}),
    ("DELETE", "apps/{app}/memories/{app_memory}", None),
    ("GET", "deletions/{deletion}", None),
    ("POST", "deletions/{deletion}/undo", None),
    # Objects named in a body or a query.
    ("POST", "conversations", {"app": "{app}"}),
    ("GET", "conversations?app={app}", None),
]
# Operations that read or create only data of the user.
OF_WHOEVER_ASKS: list[Case] = [
    ("GET", "conversations", None),
    ("POST", "conversations/prune", {"days": 1}),
    ("GET", "facts", None),
    ("POST", "facts", {"text": "I bake rye."}),
    ("POST", "facts/clear", None),
    ("GET", "entities", None),
    ("GET", "graph?q=What do I like?", None),
    ("GET", "graph/edges", None),
    ("GET", "apps", None),
    ("POST", "apps", {"name": "Recipes"}),
    ("GET", "metrics", None),
    ("GET", "settings", None),
    ("PATCH", "settings", {"theme": "dark"}),
    ("GET", "export", None),
    ("GET", "search?q=owner", None),
    ("GET", "recall?question=owner", None),
    ("POST", "extract", {"text": "I bake rye."}),
]
# Takes a file, which these cases do not send; `test_porting` covers it.
OF_A_FILE = {("POST", "import")}
every_operation = pytest.mark.parametrize(("method", "path", "body"), OF_AN_OBJECT + OF_WHOEVER_ASKS)


@pytest.fixture(params=["local", "server"])
def mode(request, things, settings) -> None:
    settings.MODE = request.param


@pytest.fixture
def things(server_mode, owner, scripted) -> dict[str, str]:
    """The ids of the owner's objects, one of each kind."""
    made = OwnedObjects.of(owner, "of the owner")
    apps.create_app(owner, "Another app")
    return {
        "conversation": str(made.conversation.pk),
        "message": str(made.asked.pk),
        "reply": str(made.reply.pk),
        "fact": str(made.fact.pk),
        "archived_fact": str(made.archived_fact.pk),
        "event": str(made.fact.events.first().pk),
        "topic": str(made.topic.pk),
        "entity": str(_entity_of(owner).pk),
        "app": str(made.app.slug),
        "app_memory": str(made.app_memory.pk),
        "deletion": str(made.deletion.pk),
    }


def _entity_of(owner: Any) -> Entity:
    from chat.actions.facts import add_fact

    add_fact(owner, "I use Emacs.")
    return Entity.objects.get(owner=owner)


def ask(program: Program, case: Case, things: dict[str, str], **headers: str) -> Any:
    method, path, body = case
    if body is not None:
        body = {k: v.format(**things) if isinstance(v, str) else v for k, v in body.items()}
    headers = {"if_match": "*", **headers} if method == "PATCH" else headers
    return program(method, path.format(**things), body, **headers)


@pytest.mark.django_db(transaction=True)
@every_operation
def test_the_owner_may_use_every_operation(things, program, owner, method, path, body):
    if path == "conversations/prune":
        # No scope allows it.
        program = Program(authorization=f"Bearer {create_full_token(owner, 'full')}")
    answer = ask(program, (method, path, body), things)
    assert answer.status_code in (200, 201, 202), answer.getvalue()


@pytest.mark.django_db
def test_another_user_does_not_find_the_object_and_nothing_changes(mode, things, theirs):
    before = database_state()
    for case in OF_AN_OBJECT:
        assert_refused(ask(theirs, case, things), 404, case)
    assert database_state() == before


@pytest.mark.django_db
def test_requests_without_a_valid_token_are_refused(mode, things, stranger, revoked, monkeypatch):
    monkeypatch.setattr("chat.accounts.TOKEN_FAILURES", "10000/m/ip")
    before = database_state()
    for case in OF_AN_OBJECT + OF_WHOEVER_ASKS:
        assert_refused(ask(stranger, case, things), 401, case)
        assert_refused(ask(revoked, case, things), 401, case)
    assert database_state() == before


@pytest.mark.django_db
def test_a_page_of_another_site_is_refused_also_with_cookies(mode, things, owner):
    before = database_state()
    page = Program(origin="http://evil.example")
    page.client.force_login(owner)
    page.client.get("/")
    page.headers["x-csrftoken"] = page.client.cookies["csrftoken"].value
    for case in OF_AN_OBJECT + OF_WHOEVER_ASKS:
        assert_refused(ask(page, case, things), 403, case)
    assert database_state() == before


def assert_refused(answer: Any, status: int, case: Case) -> None:
    assert answer.status_code == status, case
    assert "of the owner" not in answer.getvalue().decode(), case


@pytest.mark.django_db
@pytest.mark.parametrize("case", [case for case in OF_WHOEVER_ASKS if case[0] == "GET"], ids=lambda c: c[1])
def test_lists_contain_only_data_of_the_user(things, owner, theirs, case):
    answer = ask(theirs, case, things)
    assert answer.status_code == 200
    assert "of the owner" not in answer.getvalue().decode()


@pytest.mark.django_db
def test_a_new_object_belongs_to_the_owner_of_the_token(things, other, theirs):
    theirs("POST", "facts", {"text": "I am somebody else."})
    assert [f["text"] for f in theirs("GET", "facts").json()["items"]] == ["I am somebody else."]
    assert get_user_model().objects.count() == 2


def test_every_operation_is_in_one_of_the_tables():
    tested = {
        (method, path.split("?")[0].replace("archived_fact", "fact")) for method, path, _ in OF_AN_OBJECT
    } | {(method, path.split("?")[0]) for method, path, _ in OF_WHOEVER_ASKS}
    tested |= OF_A_FILE
    names = {"app_memory": "memory", "reply": "message"}
    tested = {(m, "/".join(_normalised_segment(part, names) for part in p.split("/"))) for m, p in tested}
    described = {
        (
            method.upper(),
            "/".join(_normalised_segment(part, {}) for part in path.removeprefix("/api/").split("/")),
        )
        for path, methods in api.openapi_document()["paths"].items()
        for method in methods
    }
    assert tested == described


def _normalised_segment(part: str, names: dict[str, str]) -> str:
    """Return a path segment; a parameter gets the name that document and tables share."""
    if not part.startswith("{"):
        return part
    name = part[1:-1].removesuffix("_id")
    return "{" + names.get(name, name) + "}"


def test_every_operation_requires_authentication():
    for methods in api.openapi_document()["paths"].values():
        assert all(operation["security"] == [{"OwnerAuth": []}] for operation in methods.values())


@pytest.mark.django_db
def test_our_page_cannot_read_without_its_csrf_token(owner):
    assert Client(headers={"origin": "http://testserver"}).get("/api/facts").status_code == 403
