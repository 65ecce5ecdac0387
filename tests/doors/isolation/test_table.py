"""Every route, method, socket, tool and named object of the program is in the table, and nothing else is."""

from __future__ import annotations

from .routes import list_routes
from .table import ENTRIES, FURTHER_METHODS

ROUTES = {entry.route for entry in ENTRIES} | FURTHER_METHODS.keys() | {"api/*", "v1/*"}


def test_every_route_is_in_the_table():
    missing = sorted(list_routes() - ROUTES)
    assert not missing, f"Say in table.py who may use: {', '.join(missing)}"


def test_every_entry_has_a_route():
    gone = sorted(ROUTES - list_routes())
    assert not gone, f"Remove from table.py what no route answers any more: {', '.join(gone)}"


def test_no_entry_is_twice_in_the_table():
    named = [str(entry) for entry in ENTRIES]
    assert len(named) == len(set(named))
