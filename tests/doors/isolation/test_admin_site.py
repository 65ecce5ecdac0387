"""Every address of the admin site is for staff only, and shows no contents of other people to them."""

from __future__ import annotations

import re

import pytest
from django.contrib import admin
from django.contrib.contenttypes.models import ContentType

from .callers import Caller, text_of
from .conftest import MARK
from .entries import UNKNOWN
from .routes import ADMIN, list_patterns
from .watch import read_rows, record_writes

# A user without rights is redirected to the home page, or to the first page of the admin site, which
# refuses the user.
LEADING_ON = {"admin/login/", "admin/logout/", "admin/password_change/"}
TABLES = {f"{m._meta.app_label}/{m._meta.model_name}": m for m in admin.site._registry}


def list_addresses() -> list[str]:
    """Return an address for each route of the admin site, with the key of a row where it takes one."""
    found = []
    for route, _ in list_patterns():
        if not route.startswith(ADMIN):
            continue
        model = TABLES.get("/".join(route.split("/")[1:3]))
        row = None if model is None else model._default_manager.first()
        key = UNKNOWN if row is None else str(row.pk)
        route = route.replace("<path:content_type_id>", str(ContentType.objects.get(model="fact").pk))
        route = re.sub(r"<(path:)?(object_id|id)>", key, route)
        route = re.sub(r"\^\(\?P<app_label>[^)]*\)/\$", "chat/", route)
        found.append(route.replace("(?P<url>.*)$", "x"))
    assert not [address for address in found if set("<(^$") & set(address)], "Fill in the new kind of route."
    return found


def holds_contents(address: str) -> bool:
    """Return whether an address is of a table with what people have written."""
    model = TABLES.get("/".join(address.split("/")[1:3]))
    return getattr(admin.site._registry.get(model), "holds_contents", False)


def find_faults(caller: Caller, refused) -> list[str]:
    before, wrong = read_rows(), []
    for address in list_addresses():
        for method in ("GET", "POST"):
            with record_writes() as writes:
                answer = caller.ask_by(method, address)
            if not refused(address, answer) or MARK in text_of(answer) or writes:
                wrong.append(f"{method} /{address}: {answer.status_code} {writes}")
    return wrong + ["The database has changed."] * (read_rows() != before)


@pytest.mark.django_db
@pytest.mark.parametrize("who", ["the other user by login", "a stranger"])
def test_who_is_not_staff_is_led_to_the_login(ids, make_caller, who):
    def is_refused(address: str, answer) -> bool:
        leads = "login/?next=" in answer.headers.get("Location", "") or address in LEADING_ON
        return answer.status_code == 302 and leads

    caller = Caller.by_login(None) if who == "a stranger" else make_caller(who)
    assert find_faults(caller, is_refused) == []


@pytest.mark.django_db
@pytest.mark.parametrize("who", ["staff by token", "staff by full token"])
def test_no_token_opens_the_admin_site(ids, make_caller, who):
    assert find_faults(make_caller(who), lambda address, answer: answer.status_code == 403) == []


@pytest.mark.django_db
def test_staff_sees_no_contents_and_changes_none(ids, make_caller):
    caller, wrong, before = make_caller("staff by login"), [], read_rows()
    for address in list_addresses():
        answers = [caller.ask_by("GET", address)]
        if closed := holds_contents(address):
            answers.append(caller.ask_by("POST", address))
        for answer in answers:
            # The names of tokens are no contents: staff may need them.
            text = text_of(answer).replace(f"Token {MARK}", "")
            # Django leads from an address without its page to the page of the row.
            expected = answer.status_code in (302, 403) if closed else answer.status_code < 500
            if MARK in text or not expected:
                wrong.append(f"/{address}: {answer.status_code}")
    assert wrong == []
    assert read_rows() == before


def test_there_are_tables_with_contents():
    assert {holds_contents(f"admin/{name}/") for name in ("chat/fact", "chat/message")} == {True}
    assert not holds_contents("admin/chat/job/")
