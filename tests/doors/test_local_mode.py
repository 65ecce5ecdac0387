"""Local mode: requests and sockets are accepted only from this machine's own page or with a token."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from chat.actions.api_tokens import create_token, revoke_token
from chat.actions.owners import local_owner
from chat.models import ApiToken, Fact
from tests.full_token import create_full_token

PORT = "127.0.0.1:8000"
UNSAFE = ["POST", "PUT", "PATCH", "DELETE"]

# Values of the Origin header from another website, another port of this machine, a file and a program.
FOREIGN = {
    "another website": "https://evil.example",
    "another website over http": "http://evil.example",
    "another port of localhost": "http://127.0.0.1:3000",
    "our host without its port": "http://127.0.0.1",
    "another name of this machine": "http://localhost:8000",
    "another scheme": "https://127.0.0.1:8000",
    "a name that begins like ours": "http://127.0.0.1:8000.evil.example",
    "our address in capitals and a slash": "HTTP://127.0.0.1:8000/",
    "a sandboxed page or a file": "null",
    "no origin": None,
    "an empty origin": "",
}
foreign = pytest.mark.parametrize("origin", FOREIGN.values(), ids=FOREIGN.keys())

FORWARDED = ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Anything"]


@pytest.fixture
def visitor():
    """A client that checks CSRF tokens and knows this machine by its real address."""
    return Client(enforce_csrf_checks=True, headers={"host": PORT})


def with_origin(origin: str | None) -> dict[str, str]:
    return {} if origin is None else {"origin": origin}


def post_fact(client: Client, **headers: str) -> int:
    return client.post("/memory/add/", {"text": "I love hiking"}, headers=headers).status_code


def csrf_token(client: Client) -> str:
    client.get("/")
    return client.cookies["csrftoken"].value


@pytest.mark.django_db
class TestRequests:
    """Access rules for pages and forms."""

    def test_the_local_owner_needs_no_login_and_no_cookie(self, visitor):
        answer = visitor.get("/memory/")
        assert answer.status_code == 200
        assert answer.wsgi_request.user == local_owner()

    def test_our_own_page_may_change_data(self, visitor):
        token = csrf_token(visitor)
        assert post_fact(visitor, origin=f"http://{PORT}", **{"x-csrftoken": token}) == 302
        assert Fact.objects.get().owner == local_owner()

    def test_the_origin_without_a_csrf_token_is_not_enough(self, visitor):
        assert post_fact(visitor, origin=f"http://{PORT}") == 403
        assert not Fact.objects.exists()

    @foreign
    def test_another_page_may_not_change_data(self, visitor, origin):
        token = csrf_token(visitor)
        assert post_fact(visitor, **with_origin(origin), **{"x-csrftoken": token}) == 403
        assert not Fact.objects.exists()

    @pytest.mark.parametrize("method", UNSAFE)
    @pytest.mark.parametrize("path", ["/send/", "/memory/add/", "/admin/", "/nowhere/"])
    def test_every_unsafe_method_from_another_origin_is_refused_before_routing(self, visitor, method, path):
        answer = visitor.generic(method, path, headers={"origin": "https://evil.example"})
        assert answer.status_code == 403
        assert "another page" in answer.content.decode()

    @foreign
    def test_another_origin_cannot_read_or_embed_a_page(self, visitor, origin):
        answer = visitor.get("/memory/", headers=with_origin(origin))
        assert "Access-Control-Allow-Origin" not in answer.headers
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert answer.headers["X-Frame-Options"] == "DENY"

    @pytest.mark.parametrize("name", FORWARDED)
    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_a_forwarded_request_is_refused(self, visitor, name, method):
        headers = {name: "127.0.0.1", "origin": f"http://{PORT}", "x-csrftoken": csrf_token(visitor)}
        answer = visitor.generic(method, "/", headers=headers)
        assert answer.status_code == 403
        assert "proxy or a tunnel" in answer.content.decode()

    @pytest.mark.parametrize("name", FORWARDED)
    def test_a_forwarded_request_is_refused_also_with_a_token(self, visitor, owner, name):
        secret = create_token(owner, "script")
        headers = {name: "127.0.0.1", "authorization": f"Bearer {secret}"}
        assert visitor.get("/", headers=headers).status_code == 403

    @pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example"])
    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_an_unknown_host_is_refused(self, visitor, host, method):
        answer = visitor.generic(method, "/", headers={"host": host, "origin": f"http://{host}"})
        assert answer.status_code == 400

    @pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000", "localhost"])
    def test_the_names_of_this_machine_are_accepted(self, visitor, host):
        assert visitor.get("/", headers={"host": host}).status_code == 200

    def test_a_token_needs_no_origin_and_no_csrf_token(self, visitor, owner):
        secret = create_full_token(owner, "script")
        assert post_fact(visitor, authorization=f"Bearer {secret}") == 302
        assert Fact.objects.get().owner == owner

    def test_a_token_acts_for_its_owner(self, visitor, other):
        secret = create_full_token(other, "script")
        post_fact(visitor, authorization=f"Bearer {secret}")
        assert Fact.objects.get().owner == other

    @pytest.mark.parametrize(
        "header", ["Bearer ", "Bearer wrong", "Basic {secret}", "{secret}", "Bearer {digest}"]
    )
    def test_only_the_secret_itself_is_accepted_as_token(self, visitor, owner, header):
        secret = create_token(owner, "script")
        given = header.format(secret=secret, digest=ApiToken.digest_of(secret))
        assert post_fact(visitor, authorization=given) == 403

    def test_a_revoked_token_is_refused(self, visitor, owner):
        secret = create_token(owner, "script")
        revoke_token(ApiToken.objects.get())
        assert post_fact(visitor, authorization=f"Bearer {secret}") == 403

    def test_the_token_of_an_inactive_user_is_refused(self, visitor, other):
        secret = create_token(other, "script")
        other.is_active = False
        other.save()
        assert post_fact(visitor, authorization=f"Bearer {secret}") == 403

    def test_the_secret_of_a_token_is_not_stored(self, owner):
        secret = create_token(owner, "script")
        assert secret not in str(list(ApiToken.objects.values()))


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.10", "::", "example.org", ""])  # noqa: S104 - refused
def test_local_mode_listens_only_on_loopback_addresses(host):
    with pytest.raises(CommandError, match="this machine only"):
        call_command("serve", "--host", host, "--no-browser")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path", ["/", "/memory/", "/memory/pill/", "/login/", "/admin/", "/nowhere/", "/send/"]
)
def test_every_page_carries_the_content_security_policy(visitor, path):
    policy = visitor.get(path).headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "style-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.django_db
@pytest.mark.parametrize(
    "headers", [{"host": "evil.example"}, {"x-forwarded-for": "1.2.3.4"}, {"origin": "https://evil.example"}]
)
def test_refused_requests_carry_the_content_security_policy(visitor, headers):
    answer = visitor.post("/send/", headers=headers)
    assert answer.status_code in (400, 403)
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.asyncio
@pytest.mark.django_db(transaction=True)
class TestSockets:
    """The same access rules for sockets."""

    async def test_our_own_page_may_connect(self, socket):
        assert await socket(host=PORT, origin=f"http://{PORT}").connect() is True

    @foreign
    async def test_another_page_may_not_connect(self, socket, origin):
        assert await socket(host=PORT, origin=origin).connect() == 4403

    @pytest.mark.parametrize("name", FORWARDED)
    async def test_a_forwarded_socket_is_refused(self, socket, name):
        assert await socket(**{name.lower(): "127.0.0.1"}).connect() == 4403

    @pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "", None])
    async def test_a_socket_to_an_unknown_host_is_refused(self, socket, host):
        assert await socket(host=host, origin=f"http://{host}").connect() == 4403


@pytest.mark.asyncio
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("proto", "origin", "outcome"),
    [
        ("https", "https://testserver", 4401),
        ("https", "http://testserver", 4403),
        ("http", "https://testserver", 4403),
        (None, "http://testserver", 4401),
    ],
)
async def test_behind_a_trusted_proxy_the_scheme_of_the_page_counts(
    socket, server_mode, proto, origin, outcome
):
    server_mode.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    # 4401: the Origin is accepted, but nobody is logged in.
    assert await socket(origin=origin, x_forwarded_proto=proto).connect() == outcome
