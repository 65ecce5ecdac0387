"""The API reference page shows everything in the OpenAPI document, without scripts and external files."""

from __future__ import annotations

import re

import pytest

from chat.api.problems import KINDS
from chat.api.rest.api import VERSION, api
from chat.api.rest.reference import Reference

pytestmark = pytest.mark.django_db


@pytest.fixture
def html(ours, owner) -> str:
    return ours.get("/api/docs").content.decode()


def test_every_operation_is_on_the_page(html):
    for path, methods in api.openapi_document()["paths"].items():
        assert f"<code>{path}</code>" in html
        assert all(f'id="{told["operationId"]}"' in html for told in methods.values())


def test_every_kind_of_problem_is_at_the_anchor_of_its_type(html, program):
    for kind in KINDS:
        assert f'id="problem-{kind}"' in html
    told = program("GET", "facts/nothing").json()["type"]
    assert told.startswith("/api/docs#")
    assert f'id="{told.partition("#")[2]}"' in html


def test_the_page_loads_nothing_external_and_shows_its_version(html):
    assert not re.search(r'(src|href)="(https?:)?//', html)
    assert VERSION in html


def test_text_between_backticks_is_code_and_the_rest_is_escaped():
    document = {
        "components": {"schemas": {"Thing": {"properties": {}, "description": "Has `a<b` and <i>."}}},
        "paths": {},
    }
    [shape] = Reference(document).list_objects()
    assert shape.note == "Has <code>a&lt;b</code> and &lt;i&gt;."


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "format": "uuid"}, "uuid"),
        ({"type": "string", "maxLength": 20000}, "text of at most 20,000 characters"),
        ({"type": "integer", "minimum": 1, "maximum": 100}, "integer from 1 to 100"),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, "boolean or null"),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Thing"}}, "list of Thing"),
        ({"$ref": "#/components/schemas/Colour"}, "“red”, “blue”"),
        ({"$ref": "#/components/schemas/Page_Thing_"}, "page of Thing"),
        ({}, "anything"),
    ],
)
def test_types_are_described_in_words(schema, words):
    schemas = {"Thing": {"properties": {}}, "Colour": {"enum": ["red", "blue"]}, "Page_Thing_": {}}
    assert Reference({"components": {"schemas": schemas}}).describe_type(schema) == words


def test_on_a_server_the_page_needs_a_login(server_mode, client, ours, other, logged_in):
    assert client.get("/api/docs").status_code == 302
    assert logged_in(other).get("/api/docs").status_code == 200
    assert logged_in(other).get("/api/").url == "/api/docs"
