"""Whoever gets rows from another database gets keys for new ones behind the highest that were ever given."""

from __future__ import annotations

import pytest
from django.core.management import CommandError
from django.db import connection, connections

from chat.management.copying import copy
from chat.management.copying.databases import second_database
from chat.models import SearchEntry
from memoryapp.base.service_urls import parse_database_url


def read_sequence(alias: str) -> int:
    with connections[alias].cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence(%s, 'id'))", [SearchEntry._meta.db_table])
        return int(cursor.fetchone()[0])


def test_new_keys_are_behind_those_that_were_copied(here, url):
    with second_database("other", parse_database_url(url)) as other:
        copy.copy_everything(connection.alias, other)
        assert read_sequence("other") == SearchEntry.objects.latest("pk").pk + 1


def test_a_copy_that_fails_sets_no_sequence_back(here, url, monkeypatch):
    def differ(*_arguments: object) -> None:
        raise CommandError("They differ.")

    highest = SearchEntry.objects.latest("pk").pk + 1000
    with second_database("other", parse_database_url(url)) as other:
        with other.cursor() as cursor:
            table = SearchEntry._meta.db_table
            cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [table, highest])
        monkeypatch.setattr(copy, "compare", differ)
        with pytest.raises(CommandError, match="They differ"):
            copy.copy_everything(connection.alias, other)
        assert read_sequence("other") == highest + 1
