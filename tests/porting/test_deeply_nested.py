"""A value that is nested too deeply is refused with its position, and nothing is changed."""

from __future__ import annotations

import json

import pytest

from chat.actions import importing
from chat.models import Conversation

from .conftest import as_json, find_fault
from .sample_data import create_sample_data

pytestmark = pytest.mark.django_db


def nest(levels, inmost='"a"'):
    return json.loads('[{"a":' * (levels // 2) + inmost + "}]" * (levels // 2))


def import_and_get_error(owner, path):
    for run_import in (importing.dry_run, importing.import_file):
        fault = find_fault(run_import, owner, path)
    return fault


def test_a_deep_value_with_a_null_character_is_refused(owner, file):
    text = json.dumps([{"mapping": {}, "id": 1, "more": nest(900, '"\\u0000"')}])
    assert import_and_get_error(owner, file(text.replace("[", "[\n", 1).encode())).startswith(
        "line 2, column 1: this is nested too deeply"
    )


def test_deep_conversation_metadata_is_refused(owner, file):
    create_sample_data(owner)
    found = as_json(owner)
    Conversation.objects.all().delete()
    found["conversations"][0]["metadata"] = {"a": nest(300)}
    error = import_and_get_error(owner, file(found))
    assert error == "conversations[0].metadata: has a value that may not stand here"
    assert not Conversation.objects.filter(title=found["conversations"][0]["title"]).exists()
