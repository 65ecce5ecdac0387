"""Server mode: everybody sees their own things, a stranger nothing, at every address that takes an object."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver

from memoryapp.urls import urlpatterns

from .owned import CASES, OF_AN_OBJECT, OF_WHOEVER_ASKS, OTHERWISE_GUARDED, Case, each_by_itself, state


def let_in(answer) -> bool:
    return answer.status_code in (200, 204, 302) and "/login/" not in answer.headers.get("Location", "")


# The cases of one kind of visitor share their rows: hundreds of tests would spend their time making them.


@pytest.mark.django_db
def test_the_owner_is_let_in(things, owner, logged_in):
    client, cases = logged_in(owner), [case for case in CASES if not case.begins_a_reply]
    answers = {str(case): case.ask(client, things) for case in each_by_itself(cases, things)}
    assert len(answers) == len(cases)
    assert {name: answer.status_code for name, answer in answers.items() if not let_in(answer)} == {}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("case", [case for case in CASES if case.begins_a_reply], ids=str)
def test_the_owner_may_have_a_reply_written(things, owner, logged_in, case: Case):
    assert let_in(case.ask(logged_in(owner), things))


@pytest.mark.django_db
def test_for_another_user_it_does_not_exist_and_nothing_changes(things, other, logged_in):
    client, before, wrong = logged_in(other), state(), []
    for case in each_by_itself(CASES, things):
        answer = case.ask(client, things)
        if answer.status_code != 404 or "of the owner" in answer.content.decode() or state() != before:
            wrong.append((str(case), answer.status_code, answer.content[:200]))
    assert wrong == []


@pytest.mark.django_db
def test_a_stranger_is_sent_to_the_login_and_nothing_changes(things):
    before, wrong = state(), []
    for case in each_by_itself(CASES, things):
        answer = case.ask(Client(), things)
        sent = answer.status_code == (200 if case.htmx else 302) and answer.url.startswith("/login/?next=")
        by_htmx = ("HX-Redirect" in answer.headers) == case.htmx
        if not (sent and by_htmx) or "of the owner" in answer.content.decode() or state() != before:
            wrong.append((str(case), answer.status_code, answer.content[:200]))
    assert wrong == []


def names(patterns: list[URLPattern | URLResolver]) -> set[str]:
    return {p.name or "" if isinstance(p, URLPattern) else str(p.app_name) for p in patterns}


def test_every_address_is_in_one_of_the_tables():
    assert names(urlpatterns) == OF_AN_OBJECT.keys() | OF_WHOEVER_ASKS | OTHERWISE_GUARDED


def test_every_address_that_takes_an_object_is_tested_with_one():
    taking = {p.name for p in urlpatterns if isinstance(p, URLPattern) and p.pattern.converters}
    assert taking <= OF_AN_OBJECT.keys()
