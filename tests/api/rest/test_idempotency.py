"""Creating once, however often a program asks: over retries, at the same time, and over a kill."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from chat.actions import deletions, idempotency
from chat.actions.idempotency import KEPT_FOR, Made, once
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
def test_it_holds_for_each_thing_that_is_made(program, path, body):
    first, again = (program("POST", path, body, idempotency_key="one") for _ in range(2))
    assert again.json() == first.json()
    assert program("GET", path).json()["total"] == (2 if path == "apps" else 1)


def test_another_request_with_the_key_is_refused(program):
    program("POST", "facts", BREAD, idempotency_key="one")
    for path, body in (("facts", {"text": "I bake rye."}), ("apps", {"name": "Recipes"})):
        answer = program("POST", path, body, idempotency_key="one")
        assert (answer.status_code, answer.json()["type"]) == (422, "/api/docs#problem-key-reused")
    assert Fact.objects.count() == 1


def test_the_key_of_somebody_else_is_another_key(program, theirs):
    for caller in (program, theirs):
        assert caller("POST", "facts", BREAD, idempotency_key="one").status_code == 201
    assert Fact.objects.count() == 2


def test_what_was_refused_may_be_asked_again(program):
    assert program("POST", "facts", {"text": "1"}, idempotency_key="one").status_code == 422
    assert not IdempotentRequest.objects.exists()
    assert program("POST", "facts", BREAD, idempotency_key="one").status_code == 201


def test_without_a_key_each_request_is_its_own(program):
    for _ in range(2):
        program("POST", "conversations", {"title": "Bread"})
    assert program("GET", "conversations").json()["total"] == 2


def test_what_was_deleted_since_is_gone_and_not_made_again(program):
    made = program("POST", "facts", BREAD, idempotency_key="one").json()
    program("DELETE", f"facts/{made['id']}")
    assert program("POST", "facts", BREAD, idempotency_key="one").status_code == 410
    assert Fact.objects.live().count() == 0


def test_a_key_holds_for_a_day_and_is_swept_at_night(program, clock):
    program("POST", "conversations", {"title": "Bread"}, idempotency_key="one")
    now = clock(KEPT_FOR.total_seconds() - 1)
    schedule.tonight(now)
    assert IdempotentRequest.objects.count() == 1
    now = clock(1)
    program("POST", "conversations", {"title": "Cake"}, idempotency_key="one")
    assert program("GET", "conversations").json()["total"] == 2
    schedule.tonight(now + timedelta(days=2))
    assert not IdempotentRequest.objects.exists()


def test_neither_words_nor_the_request_are_kept(program):
    program("POST", "facts", BREAD, idempotency_key="one")
    [row] = IdempotentRequest.objects.values()
    assert "sourdough" not in str(row)
    assert row["made"] == [str(Fact.objects.get().pk)]


def test_deleting_everything_deletes_the_keys(owner, program):
    program("POST", "facts", BREAD, idempotency_key="one")
    gone = deletions.erase_all(owner)
    assert deletions.finish(gone.pk, gone.expires_at + deletions.GRACE)
    assert not IdempotentRequest.objects.exists()


class Killed(BaseException):
    """The process ends here."""


def test_a_kill_in_the_middle_leaves_nothing_and_the_same_key_makes_it_then(owner, program, monkeypatch):
    def made_and_killed() -> Made:
        Fact.objects.create(owner=owner, text="Half", category="identity", kind="event", confidence=0.6)
        raise Killed

    with pytest.raises(Killed):
        once(owner, "one", b"a request", made_and_killed)
    assert not Fact.objects.exists()
    assert not IdempotentRequest.objects.exists()
    assert once(owner, "one", b"a request", lambda: Made(["whole"])).ids == ["whole"]
    assert once(owner, "one", b"a request", lambda: Made(["again"])).ids == ["whole"]


@pytest.mark.django_db(transaction=True)
def test_two_at_the_same_time_make_one(owner):
    made: list[Made] = []
    together = threading.Barrier(2)

    def ask() -> None:
        together.wait(10)
        try:
            made.append(once(owner, "one", b"a request", lambda: Made([str(timezone.now())])))
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(one.again for one in made) == [False, True]
    assert made[0].ids == made[1].ids


def test_a_sweep_says_how_many(owner):
    once(owner, "one", b"a request", lambda: Made([]))
    assert idempotency.sweep(timezone.now()) == 0
    assert idempotency.sweep(timezone.now() + KEPT_FOR) == 1


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_has_one_to_two_hundred_characters(program, key):
    assert program("POST", "facts", BREAD, idempotency_key=key).status_code == 422
