"""Export and import on the page of settings: plain forms, a look before anything changes."""

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
from chat.jobs.handlers import sweep_deletions
from chat.models import Conversation, Fact, Message
from tests.porting.conftest import SAMPLES, document, wipe
from tests.porting.worlds import build

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _own_folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path


def kept(settings) -> list[Path]:
    return [path for path in (settings.DATA_DIR / "imports").rglob("*") if path.is_file()]


def sent(client, content, name="file.json"):
    answer = client.post(reverse("upload"), {"file": SimpleUploadedFile(name, content)})
    return answer


def sample(name):
    return (SAMPLES / name).read_bytes()


def body(answer):
    return b"".join(answer.streaming_content)


class TestExport:
    def test_json_is_sent_as_a_file_with_the_day_in_its_name(self, owner, ours):
        build(owner)
        answer = ours.post(reverse("export"), {"format": "json"})
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Content-Disposition"].startswith('attachment; filename="memoryapp-2')
        assert body(answer) == document(owner)

    def test_markdown_is_sent_in_the_owner_s_language(self, owner, ours):
        build(owner)
        answer = ours.post(reverse("export"), {"format": "markdown"})
        assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
        text = body(answer).decode()
        assert "## Erinnerungen" in text
        assert "(angeheftet)" in text

    def test_another_site_gets_nothing(self, owner, client):
        assert client.post(reverse("export"), headers={"origin": "http://evil.example"}).status_code == 403
        assert client.get(reverse("export")).status_code == 405


class TestImport:
    def test_a_file_leads_to_a_look_that_changes_nothing(self, owner, ours):
        answer = sent(ours, sample("chatgpt.json"))
        assert answer.status_code == 302
        page = ours.get(answer.url).content.decode()
        for words in ("An export of ChatGPT", "2 new", "6 new", "Nothing has been changed yet."):
            assert words in page
        assert not Conversation.objects.exists()

    def test_then_it_is_imported_and_the_file_is_gone(self, owner, ours, settings):
        address = sent(ours, sample("chatgpt.json")).url
        page = ours.post(address, {"do": "import"}).content.decode()
        assert "Done." in page
        assert Conversation.objects.count() == 2
        assert not Message.objects.backlog(owner).exists()
        assert kept(settings) == []
        assert ours.get(address).status_code == 404

    def test_with_a_tick_memory_reads_it(self, owner, ours):
        address = sent(ours, sample("chatgpt.json")).url
        ours.post(address, {"do": "import", "learn": "1"})
        assert Message.objects.backlog(owner).count() == 1

    def test_our_own_export_comes_back(self, owner, ours):
        build(owner)
        before = document(owner)
        wipe(owner)
        ours.post(sent(ours, before).url, {"do": "import"})
        assert document(owner) == before

    def test_the_same_file_again_has_nothing_new(self, owner, ours):
        ours.post(sent(ours, sample("chatgpt.json")).url, {"do": "import"})
        page = ours.get(sent(ours, sample("chatgpt.json")).url).content.decode()
        assert "There is nothing new in this file." in page
        assert 'value="import"' not in page

    def test_cancel_throws_the_file_away(self, owner, ours, settings):
        address = sent(ours, sample("chatgpt.json")).url
        assert ours.post(address, {"do": "cancel"}).url == reverse("settings")
        assert kept(settings) == []
        assert not Conversation.objects.exists()

    def test_a_broken_file_is_told_with_its_place_and_thrown_away(self, owner, ours, settings):
        chats = json.loads(sample("chatgpt.json"))
        chats[0]["mapping"]["b1"]["message"]["author"]["role"] = "robot"
        answer = ours.get(sent(ours, json.dumps(chats).encode()).url)
        assert answer.status_code == 422
        page = answer.content.decode()
        assert "[0].mapping.b1.message.author.role: is none of the words that may stand here." in page
        assert "Nothing was imported" in page
        assert kept(settings) == []

    def test_what_is_not_taken_is_told(self, owner, ours):
        page = ours.get(sent(ours, sample("mem0.json")).url).content.decode()
        assert "Answers in rhymes" in page
        assert "It tells of an assistant, not of you." in page
        assert 'name="forgotten"' not in page

    def test_what_was_forgotten_comes_back_with_a_tick(self, owner, ours):
        fact = add_fact(owner, "I like green tea")
        older = document(owner)
        deletion = deletions.forget(owner, [fact.pk])
        deletions.finish(deletion.pk, deletion.expires_at + 2 * deletions.GRACE)
        address = sent(ours, older).url
        page = ours.get(address).content.decode()
        assert "You have forgotten this here." in page
        assert 'name="forgotten"' in page
        ours.post(address, {"do": "import", "forgotten": "1"})
        assert Fact.objects.get().text == "I like green tea"

    def test_of_several_people_one_is_chosen(self, owner, ours):
        rows = json.loads(sample("mem0.json"))["results"][:2]
        rows[1]["user_id"] = "sam"
        address = sent(ours, json.dumps(rows).encode()).url
        page = ours.get(address).content.decode()
        assert "<option>alex</option><option>sam</option>" in page
        page = ours.post(address, {"do": "look", "person": "sam"}).content.decode()
        assert 'value="sam"' in page
        ours.post(address, {"do": "import", "person": "sam"})
        assert [fact.text for fact in Fact.objects.all()] == ["Likes green tea"]

    def test_with_htmx_a_sentence_is_a_toast(self, owner, ours_htmx):
        answer = ours_htmx.post(reverse("upload"))
        assert (answer.status_code, answer.content.decode()) == (409, "Choose a file first.")
        assert '"toast"' in answer.headers["HX-Trigger"]

    def test_without_a_file_a_sentence_says_so(self, owner, ours):
        answer = ours.post(reverse("upload"), follow=True)
        assert "Choose a file first." in answer.content.decode()

    def test_one_that_is_too_large_for_a_page_is_told_of_the_terminal(
        self, owner, ours, settings, monkeypatch
    ):
        monkeypatch.setattr(uploads, "MOST_UPLOADED", 10)
        answer = ours.post(reverse("upload"), {"file": SimpleUploadedFile("a", b"x" * 11)}, follow=True)
        assert "manage.py import_memory" in answer.content.decode()
        assert kept(settings) == []

    def test_another_import_at_work_is_told(self, owner, ours, monkeypatch):
        address = sent(ours, sample("chatgpt.json")).url
        with importing.run.staged(owner):
            answer = ours.post(address, {"do": "import"}, follow=True)
        assert "Another import is at work. Wait until it is done." in answer.content.decode()
        assert not Conversation.objects.exists()

    def test_a_file_that_comes_in_while_one_is_imported_is_told_and_changes_nothing(
        self, owner, ours, ours_htmx, settings, monkeypatch
    ):
        address = sent(ours, sample("chatgpt.json")).url
        real, answers = importing.run.staged, []

        def second(who):
            answers.append(
                ours.post(reverse("upload"), {"file": SimpleUploadedFile("b", b"[]")}, follow=True)
            )
            answers.append(ours_htmx.post(reverse("upload"), {"file": SimpleUploadedFile("b", b"[]")}))
            answers.append(ours.get(address, follow=True))
            return real(who)

        monkeypatch.setattr(importing.run, "staged", second)
        assert "3" in ours.post(address, {"do": "import"}).content.decode()
        sentence = "Another file is being read or imported. Wait until that is done."
        assert all(sentence in answer.content.decode() for answer in answers)
        assert answers[1].status_code == 409
        assert Conversation.objects.exists()
        assert kept(settings) == []


class TestUploads:
    def test_they_are_for_their_owner_alone(self, owner, other, ours, settings):
        sent(ours, b"[]")
        (path,) = kept(settings)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        key = path.name
        assert uploads.path_of(owner, key) == path
        assert uploads.path_of(other, key) is None

    def test_a_new_one_takes_the_place_of_the_old(self, owner, ours, settings):
        first = sent(ours, b"[]").url
        sent(ours, b"[]")
        assert len(kept(settings)) == 1
        assert ours.get(first).status_code == 404

    def test_after_an_hour_they_are_gone(self, owner, ours, settings):
        address = sent(ours, b"[]").url
        (path,) = kept(settings)
        old = time.time() - 3700
        os.utime(path, (old, old))
        assert ours.get(address).status_code == 404
        sweep_deletions({})
        assert kept(settings) == []

    def test_another_user_s_is_not_there(self, server_mode, owner, other, logged_in):
        address = sent(logged_in(owner), sample("chatgpt.json")).url
        assert logged_in(other).get(address).status_code == 404
        assert logged_in(other).post(address, {"do": "import"}).status_code == 404
        assert not Conversation.objects.exists()


def test_what_somebody_exports_is_their_own(server_mode, owner, other, logged_in):
    _asked, reply = send_message(owner, "Of the owner")
    finish_reply(reply, "Yes.", "complete")
    assert b"Of the owner" not in body(logged_in(other).post(reverse("export"), {"format": "json"}))
    assert b"Of the owner" in body(logged_in(owner).post(reverse("export"), {"format": "json"}))
