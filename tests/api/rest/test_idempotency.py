"""An idempotency key creates an object once: over retries, concurrent requests, and a killed process."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from chat.actions import deletions, idempotency
from chat.actions.idempotency import KEPT_FOR, CreatedObjects, run_once
from chat.jobs import schedule
from chat.models import Fact, IdempotentRequest

pytestmark = pytest.mark.django_db
BREAD = {"text": "I bake sourdough on Sundays."}


def test_the_same_request_with_the_same_key_creates_once(program):
    first = program("POST", "facts", BREAD, idempotency_key="one")
    again = program("POST", "facts", BREAD, idempotency_key="one")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert Fact.objects.get().mention_count == 1


@pytest.mark.parametrize(
    ("path", "body"), [("conversations", {"title": "Bread"}), ("apps", {"name": "Recipes"})]
)
def test_the_key_works_for_each_kind_of_object(program, path, body):
    first, again = (program("POST", path, body, idempotency_key="one") for _ in range(2))
    assert again.json() == first.json()
    assert program("GET", path).json()["total"] == (2 if path == "apps" else 1)


def test_another_request_with_the_key_is_refused(program):
    program("POST", "facts", BREAD, idempotency_key="one")
    for path, body in (("facts", {"text": "I bake rye."}), ("apps", {"name": "Recipes"})):
        answer = program("POST", path, body, idempotency_key="one")
        assert (answer.status_code, answer.json()["type"]) == (422, "/api/docs#problem-key-reused")
    assert Fact.objects.count() == 1


def test_the_same_key_of_another_user_is_independent(program, theirs):
    for caller in (program, theirs):
        assert caller("POST", "facts", BREAD, idempotency_key="one").status_code == 201
    assert Fact.objects.count() == 2


def test_a_refused_request_may_be_repeated_with_the_key(program):
    assert program("POST", "facts", {"text": "1"}, idempotency_key="one").status_code == 422
    assert not IdempotentRequest.objects.exists()
    assert program("POST", "facts", BREAD, idempotency_key="one").status_code == 201


def test_without_a_key_each_request_creates_an_object(program):
    for _ in range(2):
        program("POST", "conversations", {"title": "Bread"})
    assert program("GET", "conversations").json()["total"] == 2


def test_a_deleted_object_answers_410_and_is_not_created_again(program):
    made = program("POST", "facts", BREAD, idempotency_key="one").json()
    program("DELETE", f"facts/{made['id']}")
    assert program("POST", "facts", BREAD, idempotency_key="one").status_code == 410
    assert Fact.objects.live().count() == 0


def test_a_key_is_valid_for_a_day_and_deleted_at_night(program, clock):
    program("POST", "conversations", {"title": "Bread"}, idempotency_key="one")
    now = clock(KEPT_FOR.total_seconds() - 1)
    schedule.run_nightly(now)
    assert IdempotentRequest.objects.count() == 1
    now = clock(1)
    program("POST", "conversations", {"title": "Cake"}, idempotency_key="one")
    assert program("GET", "conversations").json()["total"] == 2
    schedule.run_nightly(now + timedelta(days=2))
    assert not IdempotentRequest.objects.exists()


def test_neither_text_nor_request_are_stored(program):
    program("POST", "facts", BREAD, idempotency_key="one")
    [row] = IdempotentRequest.objects.values()
    assert "sourdough" not in str(row)
    assert row["made"] == [str(Fact.objects.get().pk)]


def test_deleting_everything_deletes_the_keys(owner, program):
    program("POST", "facts", BREAD, idempotency_key="one")
    gone = deletions.erase_account(owner)
    assert deletions.finish_deletion(gone.pk, gone.expires_at + deletions.UNDO_GRACE)
    assert not IdempotentRequest.objects.exists()


class Killed(BaseException):
    """Stands for a killed process."""


def test_a_kill_during_the_request_leaves_nothing_and_the_key_can_be_used_again(owner, program, monkeypatch):
    def create_and_die() -> CreatedObjects:
        Fact.objects.create(owner=owner, text="Half", category="identity", kind="event", confidence=0.6)
        raise Killed

    with pytest.raises(Killed):
        run_once(owner, "one", b"a request", create_and_die)
    assert not Fact.objects.exists()
    assert not IdempotentRequest.objects.exists()
    assert run_once(owner, "one", b"a request", lambda: CreatedObjects(["whole"])).ids == ["whole"]
    assert run_once(owner, "one", b"a request", lambda: CreatedObjects(["again"])).ids == ["whole"]


@pytest.mark.django_db(transaction=True)
def test_two_concurrent_requests_create_one_object(owner):
    made: list[CreatedObjects] = []
    together = threading.Barrier(2)

    def ask() -> None:
        together.wait(10)
        try:
            made.append(run_once(owner, "one", b"a request", lambda: CreatedObjects([str(timezone.now())])))
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(one.again for one in made) == [False, True]
    assert made[0].ids == made[1].ids


def test_deleting_expired_keys_returns_their_number(owner):
    run_once(owner, "one", b"a request", lambda: CreatedObjects([]))
    assert idempotency.delete_expired(timezone.now()) == 0
    assert idempotency.delete_expired(timezone.now() + KEPT_FOR) == 1


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_has_one_to_two_hundred_characters(program, key):
    assert program("POST", "facts", BREAD, idempotency_key=key).status_code == 422
