"""Server mode: each URL that takes an object works only for the object's owner."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver

from memoryapp.urls import urlpatterns

from .owned_objects import (
    OBJECT_URLS,
    OWN_DATA_URLS,
    OWNERSHIP_CASES,
    URLS_TESTED_ELSEWHERE,
    OwnershipCase,
    database_state,
    each_in_rolled_back_transaction,
)


def is_allowed(answer) -> bool:
    return answer.status_code in (200, 204, 302) and "/login/" not in answer.headers.get("Location", "")


# The cases of one visitor share their rows; creating rows for each of hundreds of cases is slow.


@pytest.mark.django_db
def test_the_owner_may_use_every_url(things, owner, logged_in):
    client, cases = logged_in(owner), [case for case in OWNERSHIP_CASES if not case.begins_a_reply]
    answers = {str(case): case.ask(client, things) for case in each_in_rolled_back_transaction(cases, things)}
    assert len(answers) == len(cases)
    assert {name: answer.status_code for name, answer in answers.items() if not is_allowed(answer)} == {}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("case", [case for case in OWNERSHIP_CASES if case.begins_a_reply], ids=str)
def test_the_owner_may_start_a_reply(things, owner, logged_in, case: OwnershipCase):
    assert is_allowed(case.ask(logged_in(owner), things))


@pytest.mark.django_db
def test_for_another_user_the_object_is_not_found_and_nothing_changes(things, other, logged_in):
    client, before, wrong = logged_in(other), database_state(), []
    for case in each_in_rolled_back_transaction(OWNERSHIP_CASES, things):
        answer = case.ask(client, things)
        if (
            answer.status_code != 404
            or "of the owner" in answer.content.decode()
            or database_state() != before
        ):
            wrong.append((str(case), answer.status_code, answer.content[:200]))
    assert wrong == []


@pytest.mark.django_db
def test_without_login_every_url_leads_to_the_login_and_nothing_changes(things):
    before, wrong = database_state(), []
    for case in each_in_rolled_back_transaction(OWNERSHIP_CASES, things):
        answer = case.ask(Client(), things)
        sent = answer.status_code == (200 if case.htmx else 302) and answer.url.startswith("/login/?next=")
        by_htmx = ("HX-Redirect" in answer.headers) == case.htmx
        if not (sent and by_htmx) or "of the owner" in answer.content.decode() or database_state() != before:
            wrong.append((str(case), answer.status_code, answer.content[:200]))
    assert wrong == []


def names(patterns: list[URLPattern | URLResolver]) -> set[str]:
    return {p.name or "" if isinstance(p, URLPattern) else str(p.app_name) for p in patterns}


def test_every_url_is_in_one_of_the_tables():
    assert names(urlpatterns) == OBJECT_URLS.keys() | OWN_DATA_URLS | URLS_TESTED_ELSEWHERE


def test_every_url_that_takes_an_object_is_tested_with_one():
    taking = {p.name for p in urlpatterns if isinstance(p, URLPattern) and p.pattern.converters}
    assert taking <= OBJECT_URLS.keys()
