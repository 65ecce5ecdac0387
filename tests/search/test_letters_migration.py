"""What was indexed before letters with a stroke became plain ones is found like what is said next."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from chat.models import SearchEntry
from chat.search.words import folded

from .conftest import texts

pytestmark = pytest.mark.django_db
migration = import_module("chat.migrations.0012_letters_with_a_stroke")


def test_old_entries_are_found_as_new_ones_are(owner, say):
    say("Weather", "Søren was in Łódź.")
    say("Weather", "Nobody was here.")
    SearchEntry.objects.filter(words__contains="lodz").update(words="søren was in łodz")
    assert texts(owner, "lodz") == []
    migration.write_plainly(apps, connection.schema_editor())
    assert texts(owner, "lodz") == ["Søren was in [Łódź]."]
    assert SearchEntry.objects.filter(words="soren was in lodz").count() == 1
    assert texts(owner, "nobody") == ["[Nobody] was here."]


def test_it_writes_letters_as_words_have_them():
    assert {letter: folded(letter) for letter in migration.LETTERS} == migration.LETTERS
