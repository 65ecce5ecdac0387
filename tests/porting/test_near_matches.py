"""An import shows facts that nearly say what was deleted here, and takes those that the owner chooses."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from chat.actions import deletions
from chat.actions.facts import add_fact
from chat.models import Fact, Message

from .conftest import as_json

pytestmark = pytest.mark.django_db

HERE, IN_FILE = "User lives in Oslo", "User's home is Oslo"
WHY = "It says nearly what a memory said that you have deleted here."


@pytest.fixture
def older(owner, clock):
    """A file with another wording of a fact that was deleted here since."""
    add_fact(owner, IN_FILE)
    Fact.objects.update(kind="home", subject="", category="identity")
    document = as_json(owner)
    Fact.objects.all().delete()
    clock(60)
    fact = add_fact(owner, HERE)
    Fact.objects.update(kind="home", subject="", category="identity")
    deletions.finish_deletion(deletions.forget_facts(owner, [fact.pk]).pk, clock(5))
    return document


def test_it_is_not_taken_by_itself(import_document, older):
    outcome = import_document(older)
    assert list(outcome.near.values()) == [IN_FILE]
    assert [(r.what, r.why) for r in outcome.refusals] == [(IN_FILE, WHY)]
    assert not Fact.objects.exists()


def test_it_is_taken_if_the_owner_chooses_it(import_document, older):
    (key,) = import_document(older).near
    import_document(older, near=frozenset({key}))
    assert Fact.objects.live().get().text == IN_FILE


def test_it_is_taken_together_with_all_that_was_deleted(import_document, older):
    import_document(older, forgotten=True)
    assert Fact.objects.live().get().text == IN_FILE


def test_another_value_is_taken(import_document, older):
    text = json.dumps(older).replace("Oslo", "Bergen")
    import_document(json.loads(text))
    assert Fact.objects.live().get().text == "User's home is Bergen"


def test_the_page_shows_it_unticked_and_imports_it_when_it_is_ticked(ours, older):
    upload = SimpleUploadedFile("file.json", json.dumps(older).encode())
    address = ours.post(reverse("import_upload"), {"file": upload}).url
    page = ours.get(address).content.decode()
    (key,) = [fact["id"] for fact in older["facts"]]
    assert f'<input type="checkbox" name="near" value="{key}">' in page
    ours.post(address, {"do": "import", "near": [key, "no id"]})
    assert Fact.objects.live().get().text == IN_FILE


def test_marks_of_messages_travel_without_the_key_of_their_deletion(
    owner, add_exchange, make_fact, import_document
):
    chat = add_exchange("I live in Oslo. I like tea.")
    message = Message.objects.get(conversation=chat, role="user")
    deletions.forget_facts(owner, [make_fact(HERE, source_message=message).pk])
    document = as_json(owner)
    assert [m["kept_out"] for m in document["conversations"][0]["messages"]] == [[[0, 15]], []]
    chat.delete()
    import_document(document)
    assert Message.objects.get(role="user").kept_out == [[0, 15, ""]]
