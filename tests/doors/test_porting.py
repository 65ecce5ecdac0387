"""Export and import on the settings page: plain forms, and a preview before anything changes."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from chat.actions import deletions, importing
from chat.actions.facts import add_fact
from chat.actions.importing import uploads
from chat.actions.messages import finish_reply, send_message
from chat.jobs.maintenance import sweep_deletions
from chat.models import Conversation, Fact, Message
from tests.porting.conftest import SAMPLES, document, wipe
from tests.porting.sample_data import create_sample_data

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path


def uploaded_files(settings) -> list[Path]:
    return [path for path in (settings.DATA_DIR / "imports").rglob("*") if path.is_file()]


def upload(client, content, name="file.json"):
    answer = client.post(reverse("import_upload"), {"file": SimpleUploadedFile(name, content)})
    return answer


def read_sample(name):
    return (SAMPLES / name).read_bytes()


def body(answer):
    return b"".join(answer.streaming_content)


class TestExport:
    def test_the_json_export_is_a_file_named_after_the_day(self, owner, ours):
        create_sample_data(owner)
        answer = ours.post(reverse("export"), {"format": "json"})
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Content-Disposition"].startswith('attachment; filename="memoryapp-2')
        assert body(answer) == document(owner)

    def test_the_markdown_export_is_in_the_language_of_the_owner(self, owner, ours):
        create_sample_data(owner)
        answer = ours.post(reverse("export"), {"format": "markdown"})
        assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
        text = body(answer).decode()
        assert "## Erinnerungen" in text
        assert "(angeheftet)" in text

    def test_another_site_gets_no_export(self, owner, client):
        assert client.post(reverse("export"), headers={"origin": "http://evil.example"}).status_code == 403
        assert client.get(reverse("export")).status_code == 405


class TestImport:
    def test_an_uploaded_file_leads_to_a_preview_that_changes_nothing(self, owner, ours):
        answer = upload(ours, read_sample("chatgpt.json"))
        assert answer.status_code == 302
        page = ours.get(answer.url).content.decode()
        for words in ("An export of ChatGPT", "2 new", "6 new", "Nothing has been changed yet."):
            assert words in page
        assert not Conversation.objects.exists()

    def test_importing_deletes_the_uploaded_file(self, owner, ours, settings):
        address = upload(ours, read_sample("chatgpt.json")).url
        page = ours.post(address, {"do": "import"}).content.decode()
        assert "Done." in page
        assert Conversation.objects.count() == 2
        assert not Message.objects.backlog(owner).exists()
        assert uploaded_files(settings) == []
        assert ours.get(address).status_code == 404

    def test_extraction_of_imported_chats_can_be_chosen(self, owner, ours):
        address = upload(ours, read_sample("chatgpt.json")).url
        ours.post(address, {"do": "import", "learn": "1"})
        assert Message.objects.backlog(owner).count() == 1

    def test_our_own_export_is_imported_without_loss(self, owner, ours):
        create_sample_data(owner)
        before = document(owner)
        wipe(owner)
        ours.post(upload(ours, before).url, {"do": "import"})
        assert document(owner) == before

    def test_importing_the_same_file_again_finds_nothing_new(self, owner, ours):
        ours.post(upload(ours, read_sample("chatgpt.json")).url, {"do": "import"})
        page = ours.get(upload(ours, read_sample("chatgpt.json")).url).content.decode()
        assert "There is nothing new in this file." in page
        assert 'value="import"' not in page

    def test_cancel_deletes_the_uploaded_file(self, owner, ours, settings):
        address = upload(ours, read_sample("chatgpt.json")).url
        assert ours.post(address, {"do": "cancel"}).url == reverse("settings")
        assert uploaded_files(settings) == []
        assert not Conversation.objects.exists()

    def test_an_invalid_file_is_reported_with_the_place_of_the_error_and_deleted(self, owner, ours, settings):
        chats = json.loads(read_sample("chatgpt.json"))
        chats[0]["mapping"]["b1"]["message"]["author"]["role"] = "robot"
        answer = ours.get(upload(ours, json.dumps(chats[:1]).encode()).url)
        assert answer.status_code == 422
        page = answer.content.decode()
        assert "[0].mapping.b1.message.author.role: is none of the words that may stand here." in page
        assert "Nothing was imported" in page
        assert uploaded_files(settings) == []

    def test_a_broken_chat_is_listed_with_its_place_and_the_others_come_in(self, owner, ours):
        chats = json.loads(read_sample("chatgpt.json"))
        chats[0]["mapping"]["b1"]["message"]["author"]["role"] = "robot"
        address = upload(ours, json.dumps(chats).encode()).url
        page = ours.get(address).content.decode()
        assert "[0].mapping.b1.message.author.role" in page
        assert "is none of the words that may stand here" in page
        ours.post(address, {"do": "import"})
        assert Conversation.objects.count() == len(chats) - 1

    def test_skipped_rows_are_listed_with_the_reason(self, owner, ours):
        page = ours.get(upload(ours, read_sample("mem0.json")).url).content.decode()
        assert "Answers in rhymes" in page
        assert "It tells of an assistant, not of you." in page
        assert 'name="forgotten"' not in page

    def test_deleted_memories_can_be_imported_again_by_choice(self, owner, ours):
        fact = add_fact(owner, "I like green tea")
        older = document(owner)
        deletion = deletions.forget_facts(owner, [fact.pk])
        deletions.finish_deletion(deletion.pk, deletion.expires_at + 2 * deletions.UNDO_GRACE)
        address = upload(ours, older).url
        page = ours.get(address).content.decode()
        assert "You have deleted this memory here." in page
        assert 'name="forgotten"' in page
        ours.post(address, {"do": "import", "forgotten": "1"})
        assert Fact.objects.get().text == "I like green tea"

    def test_one_of_several_people_in_a_file_can_be_chosen(self, owner, ours):
        rows = json.loads(read_sample("mem0.json"))["results"][:2]
        rows[1]["user_id"] = "sam"
        address = upload(ours, json.dumps(rows).encode()).url
        page = ours.get(address).content.decode()
        assert "<option>alex</option><option>sam</option>" in page
        page = ours.post(address, {"do": "look", "person": "sam"}).content.decode()
        assert 'value="sam"' in page
        ours.post(address, {"do": "import", "person": "sam"})
        assert [fact.text for fact in Fact.objects.all()] == ["Likes green tea"]

    def test_an_error_by_htmx_is_a_toast(self, owner, ours_htmx):
        answer = ours_htmx.post(reverse("import_upload"))
        assert (answer.status_code, answer.content.decode()) == (409, "Choose a file first.")
        assert '"toast"' in answer.headers["HX-Trigger"]

    def test_a_missing_file_is_reported(self, owner, ours):
        answer = ours.post(reverse("import_upload"), follow=True)
        assert "Choose a file first." in answer.content.decode()

    def test_a_file_over_the_upload_limit_names_the_terminal_command(
        self, owner, ours, settings, monkeypatch
    ):
        monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", 10)
        answer = ours.post(
            reverse("import_upload"), {"file": SimpleUploadedFile("a", b"x" * 11)}, follow=True
        )
        assert "manage.py import_memory" in answer.content.decode()
        assert uploaded_files(settings) == []

    def test_a_running_import_is_reported(self, owner, ours, monkeypatch):
        address = upload(ours, read_sample("chatgpt.json")).url
        with importing.run.open_staging_batch(owner):
            answer = ours.post(address, {"do": "import"}, follow=True)
        assert "Another import is at work. Wait until it is done." in answer.content.decode()
        assert not Conversation.objects.exists()

    def test_an_upload_during_an_import_is_refused_and_changes_nothing(
        self, owner, ours, ours_htmx, settings, monkeypatch
    ):
        address = upload(ours, read_sample("chatgpt.json")).url
        real, answers = importing.run.open_staging_batch, []

        def upload_again(who):
            answers.append(
                ours.post(reverse("import_upload"), {"file": SimpleUploadedFile("b", b"[]")}, follow=True)
            )
            answers.append(ours_htmx.post(reverse("import_upload"), {"file": SimpleUploadedFile("b", b"[]")}))
            answers.append(ours.get(address, follow=True))
            return real(who)

        monkeypatch.setattr(importing.run, "open_staging_batch", upload_again)
        assert "3" in ours.post(address, {"do": "import"}).content.decode()
        sentence = "Another file is being read or imported. Wait until that is done."
        assert all(sentence in answer.content.decode() for answer in answers)
        assert answers[1].status_code == 409
        assert Conversation.objects.exists()
        assert uploaded_files(settings) == []


class TestUploads:
    def test_uploads_are_readable_only_by_their_owner(self, owner, other, ours, settings):
        upload(ours, b"[]")
        (path,) = uploaded_files(settings)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        key = path.name
        assert uploads.find_upload(owner, key) == path
        assert uploads.find_upload(other, key) is None

    def test_a_new_upload_replaces_the_old_one(self, owner, ours, settings):
        first = upload(ours, b"[]").url
        upload(ours, b"[]")
        assert len(uploaded_files(settings)) == 1
        assert ours.get(first).status_code == 404

    def test_uploads_are_deleted_after_an_hour(self, owner, ours, settings):
        address = upload(ours, b"[]").url
        (path,) = uploaded_files(settings)
        old = time.time() - 3700
        os.utime(path, (old, old))
        assert ours.get(address).status_code == 404
        sweep_deletions({})
        assert uploaded_files(settings) == []

    def test_the_upload_of_another_user_is_not_found(self, server_mode, owner, other, logged_in):
        address = upload(logged_in(owner), read_sample("chatgpt.json")).url
        assert logged_in(other).get(address).status_code == 404
        assert logged_in(other).post(address, {"do": "import"}).status_code == 404
        assert not Conversation.objects.exists()


def test_each_user_exports_only_their_own_data(server_mode, owner, other, logged_in):
    _asked, reply = send_message(owner, "Of the owner")
    finish_reply(reply, "Yes.", "complete")
    assert b"Of the owner" not in body(logged_in(other).post(reverse("export"), {"format": "json"}))
    assert b"Of the owner" in body(logged_in(owner).post(reverse("export"), {"format": "json"}))
