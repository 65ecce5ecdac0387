"""An address answers no other methods than those of the table, whoever asks."""

from __future__ import annotations

from collections import defaultdict

import pytest

from .callers import Caller, leads_to_login, text_of
from .conftest import MARK
from .entries import fill
from .routes import METHODS
from .table import ENTRIES, FURTHER_METHODS, UNKNOWN_ADDRESSES
from .watch import read_rows, record_writes


def find_methods() -> dict[str, set[str]]:
    """Return the methods of each address of the table, without its query."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    addresses: dict[str, str] = {}
    for entry in ENTRIES:
        # Addresses of one route with different objects serve the same methods.
        address = addresses.setdefault(entry.route, entry.address.split("?")[0])
        found[address].add(entry.method)
    for route, methods in FURTHER_METHODS.items():
        found[addresses.get(route, route)] |= methods
    return found


SERVED = find_methods()
PUBLIC = {entry.address for entry in ENTRIES if entry.is_public}
OTHERS = [(method, a) for a, served in SERVED.items() for method in METHODS if method not in served]


@pytest.mark.django_db
def test_no_method_beyond_those_of_the_table_is_answered(ids, make_caller):
    caller = make_caller("the owner by login")
    # Without it a refusal is a whole page, which takes long.
    caller.headers |= {"hx-request": "true"}
    before, wrong = read_rows(), []
    for method, address in OTHERS:
        with record_writes() as writes:
            answer = caller.ask_by(method, fill(address, ids))
        # HEAD is GET without the body, which the server leaves out.
        reads = method == "HEAD" and "GET" in SERVED[address]
        if writes or not (answer.status_code == 405 or reads):
            wrong.append(f"Say in table.py who may: {method} /{address} ({answer.status_code} {writes})")
    assert wrong == []
    assert read_rows() == before


@pytest.mark.django_db
@pytest.mark.parametrize("who", ["the other user by login", "a stranger"])
def test_head_shows_no_more_than_get(ids, make_caller, who):
    caller = Caller.by_login(None) if who == "a stranger" else make_caller(who)
    caller.headers |= {"hx-request": "true"}
    addresses = [address for method, address in OTHERS if method == "HEAD"]
    assert len(addresses) > 100
    for address in addresses:
        answer = caller.ask_by("HEAD", fill(address, ids))
        refused = answer.status_code in (401, 403, 404, 405) or leads_to_login(answer, htmx=True)
        shown = address in PUBLIC or (who != "a stranger" and "{" not in address)
        assert refused or shown, address
        assert MARK not in text_of(answer)


@pytest.mark.django_db
@pytest.mark.parametrize("address", UNKNOWN_ADDRESSES)
def test_an_unknown_address_is_not_found_with_a_token_and_refused_without(ids, make_caller, address):
    program = make_caller("the owner by full token")
    for method in METHODS:
        assert program.ask_by(method, address).status_code == 404
        assert Caller().ask_by(method, address).status_code == 401


@pytest.mark.django_db
def test_an_unknown_page_shows_nothing(ids, make_caller):
    for caller in (Caller(), make_caller("the other user by login")):
        answer = caller.ask_by("GET", "nothing/")
        assert answer.status_code == 404
        assert MARK not in text_of(answer)
