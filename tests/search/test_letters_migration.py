"""Migration 0012 rewrites letters with a stroke in old index entries, so that they match new queries."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from chat.models import SearchEntry
from chat.search.words import fold_text

from .conftest import find_texts

pytestmark = pytest.mark.django_db
migration = import_module("chat.migrations.0012_letters_with_a_stroke")


def test_migrated_entries_are_found_like_new_ones(owner, add_exchange):
    add_exchange("Weather", "Søren was in Łódź.")
    add_exchange("Weather", "Nobody was here.")
    SearchEntry.objects.filter(words__contains="lodz").update(words="søren was in łodz")
    assert find_texts(owner, "lodz") == []
    migration.write_plainly(apps, connection.schema_editor())
    assert find_texts(owner, "lodz") == ["Søren was in [Łódź]."]
    assert SearchEntry.objects.filter(words="soren was in lodz").count() == 1
    assert find_texts(owner, "nobody") == ["[Nobody] was here."]


def test_the_migration_maps_letters_as_fold_text_does():
    assert {letter: fold_text(letter) for letter in migration.LETTERS} == migration.LETTERS
