"""A value that is nested too deeply is told with its place, whoever reads it, and nothing is changed."""

from __future__ import annotations

import json

import pytest

from chat.actions import importing
from chat.models import Conversation
from chat.porting.problems import BadFile

from .conftest import as_json
from .worlds import build

pytestmark = pytest.mark.django_db


def deep(levels, inmost='"a"'):
    return json.loads('[{"a":' * (levels // 2) + inmost + "}]" * (levels // 2))


def refused(owner, path):
    for take in (importing.dry_run, importing.carry_out):
        with pytest.raises(BadFile) as problem:
            take(owner, path)
    return str(problem.value)


def test_with_what_no_database_takes_inside(owner, file):
    text = json.dumps([{"mapping": {}, "id": 1, "more": deep(900, '"\\u0000"')}])
    assert refused(owner, file(text.replace("[", "[\n", 1).encode())).startswith(
        "line 2, column 1: this is nested too deeply"
    )


def test_in_what_is_kept_as_it_comes(owner, file):
    build(owner)
    found = as_json(owner)
    Conversation.objects.all().delete()
    found["conversations"][0]["metadata"] = {"a": deep(300)}
    said = refused(owner, file(found))
    assert said == "conversations[0].metadata: has a value that may not stand here."
    assert not Conversation.objects.exists()
