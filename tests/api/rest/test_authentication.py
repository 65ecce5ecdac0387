"""Who may use /api, and how requests are refused."""

from __future__ import annotations

import pytest
from django.test import Client

from chat.actions.facts import add_fact
from chat.api.rest.api import api
from chat.models import Fact

from .conftest import Program, with_token

pytestmark = pytest.mark.django_db
ORIGIN = "http://testserver"
FORMS = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]


@pytest.fixture
def own_page(owner):
    """A client that acts as our own page: with the CSRF cookie, and its token in a header."""
    ours = Program(origin=ORIGIN)
    ours.client.get("/")
    ours.headers["x-csrftoken"] = ours.client.cookies["csrftoken"].value
    return ours


def problem(answer, status):
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    told = answer.json()
    assert told["status"] == status
    assert told["detail"].endswith((".", "”"))
    return told


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_in_local_mode_reading_and_writing_need_a_token(owner, stranger, method):
    answer = stranger(method, "facts", {"text": "I was never here."} if method == "POST" else None)
    problem(answer, 401)
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert not Fact.objects.exists()


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_page_is_refused(owner, own_page, method):
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"sec_fetch_site": "cross-site"}):
        problem(own_page(method, "facts", {"text": "I was never here."}, **headers), 403)
    assert not Fact.objects.exists()


def test_our_page_is_accepted_with_its_csrf_token(own_page):
    assert own_page("GET", "facts").status_code == 200
    assert own_page("POST", "facts", {"text": "I come from the page."}).status_code == 201


def test_a_same_origin_read_needs_no_origin_header(own_page):
    del own_page.headers["origin"]
    assert own_page("GET", "facts", sec_fetch_site="same-origin").status_code == 200
    problem(own_page("GET", "facts", sec_fetch_site="none"), 401)
    problem(own_page("POST", "facts", {"text": "I was never here."}, sec_fetch_site="same-origin"), 401)


@pytest.mark.parametrize("token", ["", "x" * 32, "y" * 64])
def test_our_page_needs_its_csrf_token_also_to_read(own_page, token):
    own_page.headers["x-csrftoken"] = token
    problem(own_page("GET", "facts"), 403)
    problem(own_page("POST", "facts", {"text": "I was never here."}), 403)


@pytest.mark.parametrize("kind", FORMS)
def test_content_types_that_a_form_can_send_are_refused(own_page, program, kind):
    for caller in (own_page, program):
        problem(caller("POST", "facts", {"text": "I was never here."}, content_type=kind), 415)
    assert not Fact.objects.exists()


def test_an_invalid_token_is_refused_without_trying_other_credentials(own_page, revoked):
    problem(own_page("GET", "facts", authorization="Bearer mem_wrong"), 401)
    problem(own_page("GET", "facts", authorization="Basic b3duZXI6"), 401)
    problem(revoked("GET", "facts"), 401)


def test_a_token_is_accepted_from_any_origin(program):
    assert program("GET", "facts", origin="http://evil.example").status_code == 200


def test_a_server_needs_a_login_or_a_token(server_mode, owner, program, stranger, logged_in):
    problem(stranger("GET", "facts"), 401)
    assert program("GET", "facts").status_code == 200
    problem(Program(origin=ORIGIN)("GET", "facts"), 401)


def test_an_object_of_another_user_is_not_found(owner, theirs):
    fact = add_fact(owner, "I bake sourdough on Sundays.")
    problem(theirs("GET", f"facts/{fact.pk}"), 404)
    assert theirs("GET", "facts").json()["total"] == 0


def test_the_token_of_an_inactive_user_is_refused(owner, program):
    owner.is_active = False
    owner.save()
    problem(program("GET", "facts"), 401)


def test_an_unknown_url_answers_with_a_problem(program, stranger):
    problem(program("GET", "nothing/here"), 404)
    problem(stranger("GET", "nothing/here"), 401)
    answer = program("PUT", "facts", {})
    problem(answer, 405)
    assert answer.headers["Allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize(
    "body", [b"{", b"\xff", b'{"text": NaN}', b'{"text": "\\ud800"}', b'{"text": "\\u0000"}', b"[" * 5000]
)
def test_invalid_json_is_malformed(program, body):
    answer = program.client.post("/api/facts", body, content_type="application/json", headers=program.headers)
    problem(answer, 400)


def test_a_body_over_the_limit_is_refused_before_it_is_read(program, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    problem(program("POST", "facts", {"text": "I talk" + " a lot" * 100}), 413)


def test_validation_errors_name_their_place(program):
    told = problem(program("POST", "facts", {"text": 7, "colour": "red"}), 422)
    assert [error["loc"] for error in told["errors"]] == [["body", "text"], ["body", "colour"]]


def test_the_message_is_in_the_language_of_the_owner(owner, program):
    from chat.actions.owners import set_language

    set_language(owner, "de")
    assert program("GET", "nothing").json()["title"] == "Nicht gefunden"


def test_the_openapi_document_needs_access(program, stranger, own_page):
    assert program("GET", "openapi.json").json()["info"]["version"] == "1.0.0"
    assert stranger("GET", "openapi.json").status_code == 401
    assert Client(headers={"sec-fetch-site": "none"}).get("/api/openapi.json").status_code == 200


def test_responses_are_not_cached(program):
    assert program("GET", "facts").headers["Cache-Control"] == "no-store"


def test_revoking_one_token_leaves_the_others_valid(owner):
    from chat.actions.api_tokens import revoke_token
    from chat.models import ApiToken

    one, two = with_token(owner, "one"), with_token(owner, "two")
    revoke_token(ApiToken.objects.get(name="one"))
    assert (one("GET", "facts").status_code, two("GET", "facts").status_code) == (401, 200)


def test_an_internal_error_is_logged_and_its_text_is_not_sent(program, monkeypatch, caplog):
    def break_down(*args: object) -> None:
        raise RuntimeError("the words of somebody")

    monkeypatch.setattr("chat.actions.facts.add_fact", break_down)
    told = problem(program("POST", "facts", {"text": "I bake rye."}), 500)
    assert "somebody" not in str(told)
    assert "a request to the API failed" in caplog.text


def test_an_object_deleted_during_the_request_is_not_found(program, owner, monkeypatch):
    fact = add_fact(owner, "I bake sourdough on Sundays.")
    monkeypatch.setattr("chat.actions.deletions.forget_facts", lambda *args: Fact.objects.get(text="gone"))
    problem(program("DELETE", f"facts/{fact.pk}"), 404)


def test_a_page_of_a_server_reads_with_its_login_and_csrf_token(own_page, server_mode, other):
    add_fact(other, "I bake sourdough on Sundays.")
    problem(own_page("GET", "facts"), 401)
    own_page.client.force_login(other)
    own_page.client.get("/")
    own_page.headers["x-csrftoken"] = own_page.client.cookies["csrftoken"].value
    assert own_page("GET", "facts").json()["total"] == 1


def test_a_new_object_belongs_to_the_owner_of_the_token(owner, other, theirs):
    theirs("POST", "facts", {"text": "I am somebody else."})
    assert [f["text"] for f in theirs("GET", "facts").json()["items"]] == ["I am somebody else."]
    assert Fact.objects.get().owner == other


def test_every_operation_requires_authentication():
    for methods in api.openapi_document()["paths"].values():
        assert all(operation["security"] == [{"OwnerAuth": []}] for operation in methods.values())


def test_our_page_cannot_read_without_its_csrf_token(owner):
    assert Client(headers={"origin": "http://testserver"}).get("/api/facts").status_code == 403
