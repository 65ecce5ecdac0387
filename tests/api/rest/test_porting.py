"""Export and import for programs."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from chat.actions import importing
from chat.actions.importing import uploads
from chat.models import Conversation, Fact
from tests.porting.conftest import SAMPLES, document, wipe
from tests.porting.worlds import build

from .conftest import Program

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path


def send(who, content, query=""):
    file = SimpleUploadedFile("file.json", content)
    return who.client.post(f"/api/import{query}", {"file": file}, headers=who.headers)


def sample(name):
    return (SAMPLES / name).read_bytes()


def test_the_export_is_the_owner_s_document(owner, program):
    build(owner)
    answer = program("GET", "export")
    assert answer.headers["Content-Type"] == "application/json"
    assert b"".join(answer.streaming_content) == document(owner)


def test_markdown_is_there_too(owner, program):
    answer = program("GET", "export?format=markdown")
    assert b"".join(answer.streaming_content).startswith(b"# memoryapp")
    assert program("GET", "export?format=pdf").status_code == 422


def test_a_dry_run_changes_nothing_and_says_what_would_be(owner, program):
    told = send(program, sample("chatgpt.json"), "?dry_run=true").json()
    assert (told["dry_run"], told["source"], told["messages"]["added"]) == (True, "chatgpt", 6)
    assert not Conversation.objects.exists()


def test_an_export_is_imported_again_once(owner, program):
    build(owner)
    before = document(owner)
    wipe(owner)
    assert send(program, before).json()["conversations"] == {
        "added": 1,
        "changed": 0,
        "there": 0,
        "refused": 0,
    }
    assert document(owner) == before
    assert send(program, before).json()["conversations"]["there"] == 1


def test_nothing_is_left_of_the_file(owner, program, settings):
    send(program, sample("chatgpt.json"))
    send(program, b"[oops]")
    assert [path for path in (settings.DATA_DIR / "imports").rglob("*") if path.is_file()] == []


def test_a_broken_file_is_a_problem_with_its_place(owner, program):
    answer = send(program, b"[1,\n oops]")
    assert answer.status_code == 422
    told = answer.json()
    assert told["detail"] == "[0]: This is none of the files that can be taken."
    rows = json.loads(sample("mem0.json"))
    rows["results"][1]["memory"] = None
    told = send(program, json.dumps(rows).encode()).json()
    assert told["errors"] == [
        {"loc": ["body", "file", "results[1].memory"], "detail": "results[1].memory: must be text."}
    ]
    assert not Fact.objects.exists()


def test_without_a_file_it_is_a_problem(program):
    assert program.client.post("/api/import", headers=program.headers).status_code == 422


def test_of_several_people_one_is_chosen(owner, program):
    rows = json.loads(sample("mem0.json"))["results"][:2]
    rows[1]["user_id"] = "sam"
    content = json.dumps(rows).encode()
    assert send(program, content, "?dry_run=true").json()["persons"] == ["alex", "sam"]
    assert send(program, content).status_code == 422
    assert send(program, content, "?person=sam").json()["facts"]["added"] == 1


def test_everybody_gets_their_own_and_strangers_nothing(owner, other, program, theirs, revoked, stranger):
    build(owner)
    assert b"fjord" not in b"".join(theirs("GET", "export").streaming_content)
    for who in (revoked, stranger):
        assert who("GET", "export").status_code == 401
        assert send(who, sample("mem0.json")).status_code == 401
    assert send(Program(origin="http://evil.example"), sample("mem0.json")).status_code == 403
    send(theirs, sample("mem0.json"))
    assert Fact.objects.filter(owner=other).count() == 2
    assert not Fact.objects.filter(owner=owner, text="Likes green tea").exists()


def test_another_import_at_work_is_a_conflict(owner, program):
    with importing.run.staged(owner):
        assert send(program, sample("mem0.json")).status_code == 409


def test_a_file_that_comes_in_while_one_is_read_is_a_conflict(owner, program):
    with uploads.reading(owner):
        answer = send(program, b"[]")
    assert (answer.status_code, answer.json()["detail"]) == (
        409,
        "Another file is being read or imported. Wait until that is done.",
    )


def test_a_file_that_is_too_large_is_a_problem(owner, program, monkeypatch):
    monkeypatch.setattr(uploads, "MOST_UPLOADED", 10)
    assert send(program, b"x" * 11).status_code == 413
