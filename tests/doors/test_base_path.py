"""Below a path such as /chat, which the proxy passes on or leaves out, links and programs find their way."""

from __future__ import annotations

import io
import re
from html import unescape
from typing import Any

import httpx2
import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.core import mail
from django.urls import set_script_prefix

from chat.accounts import issuer_id
from chat.actions.api_tokens import create_token
from chat.actions.facts import add_fact
from chat.api.rest.api import Api
from chat.management.first_link import print_first_link
from chat.models import FirstLink, User
from chat.terminal.client import TerminalClient
from chat.terminal.commands import TerminalSession
from chat.terminal.screen import Screen
from memoryapp import asgi
from memoryapp.proxies import BasePath
from tests.live_server import run_server
from tests.mcp_server.mcp_client import start_assistant
from tests.openid_issuer import CLIENT_ID, CLIENT_SECRET, run_issuer
from tests.waiting import wait_until

BASE, PASSWORD, NEW = "/my/api", "correct horse battery", "a staple for the horse"


class Browser:
    """Keeps cookies by their path and follows redirects, and knows the pages below `BASE` only."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.http = httpx2.Client(follow_redirects=True, headers={"Origin": origin}, timeout=30)

    def get(self, path: str) -> httpx2.Response:
        """Open a page; it and all pages that it leads to are below the path in front."""
        return self._check(self.http.get(self._complete(path)))

    def post(self, path: str, **fields: str) -> httpx2.Response:
        """Send a form, as the page that was opened before."""
        # A browser sends a cookie below its path only.
        token = next((one.value or "" for one in self.http.cookies.jar if one.name == "csrftoken"), "")
        fields |= {"csrfmiddlewaretoken": token}
        return self._check(self.http.post(self._complete(path), data=fields))

    def log_in(self, user: User, password: str = PASSWORD) -> httpx2.Response:
        """Log in by the form."""
        self.get("/login/")
        return self.post("/login/", login=user.username, password=password)

    def is_logged_in(self) -> bool:
        """Return whether a page opens that needs a login."""
        return self.get("/memory/").url.path == f"{BASE}/memory/"

    def _complete(self, path: str) -> str:
        return path if path.startswith("http") else f"{self.origin}{BASE}{path}"

    def _check(self, answer: httpx2.Response) -> httpx2.Response:
        for one in (*answer.history, answer):
            assert one.url.path.startswith(f"{BASE}/"), one.url
            assert f"{BASE}{BASE}" not in one.url.path
        return answer


@pytest.fixture(params=["passed on", "left out"])
def origin(request, transactional_db, scripted, server_mode, monkeypatch):
    """The origin of a server below `BASE`, behind a proxy that passes the path on or leaves it out."""
    server_mode.BASE_PATH = server_mode.FORCE_SCRIPT_NAME = BASE
    for name in ("SESSION", "CSRF", "LANGUAGE"):
        setattr(server_mode, f"{name}_COOKIE_PATH", BASE)
    inner = BasePath(asgi.application, BASE)

    async def proxied(scope: Any, receive: Any, send: Any) -> None:
        if request.param == "left out" and scope["path"].startswith(f"{BASE}/"):
            path = scope["path"].removeprefix(BASE)
            scope = {**scope, "path": path, "raw_path": path.encode()}
        await inner(scope, receive, send)

    monkeypatch.setattr(asgi, "application", proxied)
    # It is made once in a process, for the path in front.
    Api.openapi_document.cache_clear()
    with run_server() as url:
        # As `manage.py` does for its commands.
        set_script_prefix(f"{BASE}/")
        yield url
        set_script_prefix("/")
    Api.openapi_document.cache_clear()


@pytest.fixture
def person(origin, other):
    other.set_password(PASSWORD)
    other.save()
    return other


@pytest.fixture
def visitor(origin):
    return Browser(origin)


def read_link(origin: str, place: str) -> str:
    """Return the link to a place in the newest email."""
    wait_until(lambda: mail.outbox, 10)
    return re.findall(rf"{origin}{BASE}/account/{place}/\S+", mail.outbox[-1].body)[0]


def test_every_cookie_is_for_the_path_in_front(visitor, person):
    visitor.log_in(person)
    assert visitor.is_logged_in()
    assert {one.name for one in visitor.http.cookies.jar} >= {"sessionid", "csrftoken"}
    assert {one.path for one in visitor.http.cookies.jar} == {BASE}


def test_a_password_is_reset_by_the_link_in_an_email(visitor, person, server_mode):
    server_mode.HAS_EMAIL = True
    EmailAddress.objects.create(user=person, email="me@example.org", verified=True, primary=True)
    visitor.get("/login/")
    visitor.post("/account/password/reset/", email="me@example.org")
    form = visitor.get(read_link(visitor.origin, "password/reset"))
    done = visitor.post(str(form.url), password1=NEW, password2=NEW)
    assert "Your password is set" in done.text
    visitor.log_in(person, NEW)
    assert visitor.is_logged_in()


def test_an_email_address_is_confirmed_by_the_link_in_an_email(visitor, person, server_mode):
    server_mode.HAS_EMAIL = True
    visitor.log_in(person)
    asked = visitor.post("/account/email/", email="new@example.org")
    visitor.post(str(asked.url), password=PASSWORD)
    link = read_link(visitor.origin, "email")
    assert "new@example.org" in visitor.get(link).text
    assert "is confirmed" in visitor.post(link).text
    assert EmailAddress.objects.get().verified


def test_an_invitation_and_an_admins_link_for_a_password_open(visitor, origin, owner, person):
    owner.set_password(PASSWORD)
    owner.save()
    visitor.log_in(owner)
    visitor.get("/people/")
    page = visitor.post("/people/invitations/", role="member", note="", end="7").text
    [link] = set(re.findall(rf"{origin}{BASE}/invite/[^\"\s<]+", page))
    invited = Browser(origin)
    invited.get(link)
    invited.post(link, username="bob", password1=PASSWORD, password2=PASSWORD)
    assert invited.is_logged_in()
    page = visitor.post(f"/people/{person.pk}/", do="password_link").text
    [link] = set(re.findall(rf"{origin}{BASE}/account/password/reset/[^\"\s<]+", page))
    assert "password1" in Browser(origin).get(link).text


def test_an_issuer_sends_the_browser_back_below_the_path(visitor, person, server_mode):
    with run_issuer() as issuer:
        server_mode.OIDC_ISSUER, server_mode.OIDC_NAME = issuer.url, "Example ID"
        server_mode.OIDC_CLIENT_ID, server_mode.OIDC_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET
        server_mode.OIDC_SIGNUP = "off"
        SocialAccount.objects.create(user=person, provider=issuer_id(), uid="person-1")
        visitor.get("/login/")
        leaving = visitor.post("/account/login/start/", next=f"{BASE}/statistics/").text
        address = unescape(re.findall(r'content="0; url=([^"]+)"', leaving)[0])
        back = httpx2.get(address).headers["Location"]
        assert back.startswith(f"{visitor.origin}{BASE}/account/login/back/?")
        assert visitor.get(back).url.path == f"{BASE}/statistics/"


def test_the_first_link_that_a_start_prints_opens(visitor, origin, server_mode):
    User.objects.filter(is_superuser=True).update(is_active=False)
    FirstLink.objects.get_or_create(pk=FirstLink.KEY)
    out = io.StringIO()
    out.isatty = lambda: True  # type: ignore[method-assign]
    server_mode.ALLOWED_ORIGINS = [origin]
    print_first_link(out, "http://inside:8000/")
    link = out.getvalue().split()[-1]
    assert link.startswith(f"{origin}{BASE}/first/")
    visitor.get(link)
    visitor.post(link, username="eve", password1=PASSWORD, password2=PASSWORD)
    assert visitor.is_logged_in()


def test_the_terminal_finds_the_server_with_and_without_the_path(origin, other):
    for number in range(3):
        add_fact(other, f"I know the number {number}.")
    for address in (origin, origin + BASE):
        client = TerminalClient(address, create_token(other, address))
        try:
            said = "".join(piece for _, piece in client.ask("Hello", {"conversation": "new"}))
            assert said == "Understood."
            assert client.model() == "scripted"
            assert client.get("facts")["total"] == 3
        finally:
            client.close()


def test_the_terminal_reads_every_page_of_a_list(origin, other, monkeypatch):
    monkeypatch.setattr("chat.terminal.commands._PAGE", 1)
    for number in range(3):
        add_fact(other, f"I know the number {number}.")
    client = TerminalClient(origin, create_token(other, "terminal"))
    try:
        session = TerminalSession(client, Screen(io.StringIO(), coloured=False))
        assert len(session.fetch_all("facts")) == 3
    finally:
        client.close()


def test_a_program_follows_the_addresses_that_rest_and_v1_name(origin, other):
    http = httpx2.Client(headers={"Authorization": f"Bearer {create_token(other, 'program')}"}, timeout=30)
    for number in range(3):
        add_fact(other, f"I know the number {number}.")
    page = http.get(f"{origin}{BASE}/api/facts", params={"limit": 2}).json()
    assert len(http.get(origin + page["next"]).json()["items"]) == 1
    made = http.post(f"{origin}{BASE}/api/facts", json={"text": "I bake rye bread."})
    assert http.get(origin + made.headers["Location"]).json()["text"] == "I bake rye bread."
    explained = http.get(f"{origin}{BASE}/api/nothing").json()["type"]
    assert explained.startswith(f"{BASE}/api/docs")
    document = http.get(f"{origin}{BASE}/api/openapi.json").json()
    assert all(path.startswith(f"{BASE}/api/") for path in document["paths"])
    assert http.get(f"{origin}{BASE}/v1/models").json()["data"][0]["id"] == "scripted"


def test_an_assistant_reaches_its_tools(origin, other, tmp_path):
    add_fact(other, "I bake rye bread.")
    token = create_token(other, "assistant")
    with start_assistant(tmp_path, MEMORYAPP_URL=origin + BASE, MEMORYAPP_TOKEN=token) as assistant:
        [found] = assistant("list_memories")["memories"]
    assert found["text"] == "I bake rye bread."


def test_a_part_of_a_page_knows_the_chat_that_is_open(visitor, owner, talk):
    owner.set_password(PASSWORD)
    owner.save()
    chat = talk("I like chess.")[0].conversation
    visitor.log_in(owner)
    visitor.http.headers["HX-Request"] = "true"
    elsewhere = visitor.get("/memory/health/").text
    visitor.http.headers["HX-Current-URL"] = f"{visitor.origin}{BASE}/c/{chat.pk}/"
    assert "this chat" not in elsewhere
    assert "this chat" in visitor.get("/memory/health/").text
