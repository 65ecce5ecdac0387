"""Every operation with its owner, another user, a stranger, a revoked token and another site's page."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from chat.actions import apps
from chat.api.rest.api import api
from chat.models import Entity
from tests.doors.owned import Things, state

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
    ("POST", "facts/{put_away}/bring-back", None),
    ("GET", "topics/{topic}", None),
    ("PATCH", "topics/{topic}", {"importance": 0.25}),
    ("GET", "entities/{entity}", None),
    ("GET", "apps/{app}", None),
    ("PATCH", "apps/{app}", {"persona": "You are somebody else."}),
    ("POST", "apps/{app}/archive", {"purge": True}),
    ("POST", "apps/{app}/bring-back", None),
    ("GET", "apps/{app}/memories", None),
    ("DELETE", "apps/{app}/memories", None),
    ("GET", "apps/{app}/memories/{told}", None),
    ("PATCH", "apps/{app}/memories/{told}", {"content": "Something else"}),
    ("DELETE", "apps/{app}/memories/{told}", None),
    ("GET", "deletions/{deletion}", None),
    ("POST", "deletions/{deletion}/undo", None),
    # An object that a body or a question names.
    ("POST", "conversations", {"app": "{app}"}),
    ("GET", "conversations?app={app}", None),
]
# Operations that show or make only what belongs to whoever asks.
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
]
# Takes a file, which these cases do not send: held to the same in `test_porting`.
OF_A_FILE = {("POST", "import")}
every_operation = pytest.mark.parametrize(("method", "path", "body"), OF_AN_OBJECT + OF_WHOEVER_ASKS)


@pytest.fixture(params=["local", "server"])
def mode(request, things, settings) -> None:
    settings.MODE = request.param


@pytest.fixture
def things(server_mode, owner, scripted) -> dict[str, str]:
    """The keys of what the owner owns, one of each kind."""
    made = Things.of(owner, "of the owner")
    apps.create(owner, "Another room")
    return {
        "conversation": str(made.conversation.pk),
        "message": str(made.asked.pk),
        "reply": str(made.reply.pk),
        "fact": str(made.fact.pk),
        "put_away": str(made.put_away.pk),
        "event": str(made.fact.events.first().pk),
        "topic": str(made.topic.pk),
        "entity": str(_entity_of(owner).pk),
        "app": str(made.app.slug),
        "told": str(made.told.pk),
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
def test_the_owner_is_let_in(things, program, method, path, body):
    answer = ask(program, (method, path, body), things)
    assert answer.status_code in (200, 201, 202), answer.getvalue()


@pytest.mark.django_db
def test_for_another_user_it_is_not_there_and_nothing_changes(mode, things, theirs):
    before = state()
    for case in OF_AN_OBJECT:
        refused(ask(theirs, case, things), 404, case)
    assert state() == before


@pytest.mark.django_db
def test_a_stranger_and_a_revoked_token_are_refused(mode, things, stranger, revoked):
    before = state()
    for case in OF_AN_OBJECT + OF_WHOEVER_ASKS:
        refused(ask(stranger, case, things), 401, case)
        refused(ask(revoked, case, things), 401, case)
    assert state() == before


@pytest.mark.django_db
def test_another_sites_page_is_refused_with_the_owners_cookies_too(mode, things, owner):
    before = state()
    page = Program(origin="http://evil.example")
    page.client.force_login(owner)
    page.client.get("/")
    page.headers["x-csrftoken"] = page.client.cookies["csrftoken"].value
    for case in OF_AN_OBJECT + OF_WHOEVER_ASKS:
        refused(ask(page, case, things), 403, case)
    assert state() == before


def refused(answer: Any, status: int, case: Case) -> None:
    assert answer.status_code == status, case
    assert "of the owner" not in answer.getvalue().decode(), case


@pytest.mark.django_db
@pytest.mark.parametrize("case", [case for case in OF_WHOEVER_ASKS if case[0] == "GET"], ids=lambda c: c[1])
def test_lists_hold_only_what_belongs_to_whoever_asks(things, owner, theirs, case):
    answer = ask(theirs, case, things)
    assert answer.status_code == 200
    assert "of the owner" not in answer.getvalue().decode()


@pytest.mark.django_db
def test_what_a_token_makes_is_its_owners(things, other, theirs):
    theirs("POST", "facts", {"text": "I am somebody else."})
    assert [f["text"] for f in theirs("GET", "facts").json()["items"]] == ["I am somebody else."]
    assert get_user_model().objects.count() == 2


def test_every_operation_is_in_one_of_the_tables():
    tested = {
        (method, path.split("?")[0].replace("put_away", "fact")) for method, path, _ in OF_AN_OBJECT
    } | {(method, path.split("?")[0]) for method, path, _ in OF_WHOEVER_ASKS}
    tested |= OF_A_FILE
    names = {"told": "memory", "reply": "message"}
    tested = {(m, "/".join(_placed(part, names) for part in p.split("/"))) for m, p in tested}
    described = {
        (method.upper(), "/".join(_placed(part, {}) for part in path.removeprefix("/api/").split("/")))
        for path, methods in api.described()["paths"].items()
        for method in methods
    }
    assert tested == described


def _placed(part: str, names: dict[str, str]) -> str:
    """Return a part of an address with the name of what it holds, as the document and the tables call it."""
    if not part.startswith("{"):
        return part
    name = part[1:-1].removesuffix("_id")
    return "{" + names.get(name, name) + "}"


def test_the_door_has_no_operation_without_a_guard():
    for methods in api.described()["paths"].values():
        assert all(operation["security"] == [{"OwnerAuth": []}] for operation in methods.values())


@pytest.mark.django_db
def test_a_page_of_ours_reads_nothing_without_its_token(owner):
    assert Client(headers={"origin": "http://testserver"}).get("/api/facts").status_code == 403
