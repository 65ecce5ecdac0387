"""Export and import in the REST API."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from chat.actions import importing
from chat.actions.importing import uploads
from chat.models import Conversation, Fact
from tests.porting.conftest import SAMPLES, document, wipe
from tests.porting.sample_data import create_sample_data

from .conftest import Program

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path


def upload(who, content, query=""):
    file = SimpleUploadedFile("file.json", content)
    return who.client.post(f"/api/import{query}", {"file": file}, headers=who.headers)


def read_sample(name):
    return (SAMPLES / name).read_bytes()


def test_the_export_is_the_export_document_of_the_owner(owner, program):
    create_sample_data(owner)
    answer = program("GET", "export")
    assert answer.headers["Content-Type"] == "application/json"
    assert b"".join(answer.streaming_content) == document(owner)


def test_the_export_is_available_as_markdown(owner, program):
    answer = program("GET", "export?format=markdown")
    assert b"".join(answer.streaming_content).startswith(b"# memoryapp")
    assert program("GET", "export?format=pdf").status_code == 422


def test_a_dry_run_reports_what_would_change_and_changes_nothing(owner, program):
    told = upload(program, read_sample("chatgpt.json"), "?dry_run=true").json()
    assert (told["dry_run"], told["source"], told["messages"]["added"]) == (True, "chatgpt", 6)
    assert not Conversation.objects.exists()


def test_an_export_can_be_imported_once(owner, program):
    create_sample_data(owner)
    before = document(owner)
    wipe(owner)
    assert upload(program, before).json()["conversations"] == {
        "added": 1,
        "changed": 0,
        "there": 0,
        "refused": 0,
    }
    assert document(owner) == before
    assert upload(program, before).json()["conversations"]["there"] == 1


def test_the_uploaded_file_is_deleted(owner, program, settings):
    upload(program, read_sample("chatgpt.json"))
    upload(program, b"[oops]")
    assert [path for path in (settings.DATA_DIR / "imports").rglob("*") if path.is_file()] == []


def test_an_invalid_file_is_a_problem_with_its_place(owner, program):
    answer = upload(program, b"[1,\n oops]")
    assert answer.status_code == 422
    told = answer.json()
    assert told["detail"] == "[0]: This is none of the files that can be taken."
    rows = json.loads(read_sample("mem0.json"))
    rows["results"][1]["memory"] = None
    told = upload(program, json.dumps(rows["results"][1:2]).encode()).json()
    assert told["errors"] == [{"loc": ["body", "file", "[0].memory"], "detail": "[0].memory: must be text."}]
    assert not Fact.objects.exists()


def test_a_missing_file_is_a_problem(program):
    assert program.client.post("/api/import", headers=program.headers).status_code == 422


def test_one_of_several_people_in_a_file_can_be_chosen(owner, program):
    rows = json.loads(read_sample("mem0.json"))["results"][:2]
    rows[1]["user_id"] = "sam"
    content = json.dumps(rows).encode()
    assert upload(program, content, "?dry_run=true").json()["persons"] == ["alex", "sam"]
    assert upload(program, content).status_code == 422
    assert upload(program, content, "?person=sam").json()["facts"]["added"] == 1


def test_each_user_exports_only_their_own_data(owner, other, program, theirs, revoked, stranger):
    create_sample_data(owner)
    assert b"fjord" not in b"".join(theirs("GET", "export").streaming_content)
    for who in (revoked, stranger):
        assert who("GET", "export").status_code == 401
        assert upload(who, read_sample("mem0.json")).status_code == 401
    assert upload(Program(origin="http://evil.example"), read_sample("mem0.json")).status_code == 403
    upload(theirs, read_sample("mem0.json"))
    assert Fact.objects.filter(owner=other).count() == 2
    assert not Fact.objects.filter(owner=owner, text="Likes green tea").exists()


def test_a_running_import_is_a_conflict(owner, program):
    with importing.run.open_staging_batch(owner):
        assert upload(program, read_sample("mem0.json")).status_code == 409


def test_an_upload_during_another_one_is_a_conflict(owner, program):
    with uploads.lock_upload(owner):
        answer = upload(program, b"[]")
    assert (answer.status_code, answer.json()["detail"]) == (
        409,
        "Another file is being read or imported. Wait until that is done.",
    )


def test_a_file_over_the_limit_is_a_problem(owner, program, monkeypatch):
    monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", 10)
    assert upload(program, b"x" * 11).status_code == 413
