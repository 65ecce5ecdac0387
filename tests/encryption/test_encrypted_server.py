"""A server with encrypted data does what any server does, and writes no readable text to the disk."""

from __future__ import annotations

import json
import re
import urllib.request
import uuid

import pytest

from tests.installation import MARK, PASSPHRASE, Installation
from tests.llm.remote.fake_server import MODELS, only_when_streamed, run_fake_server, stream_pieces
from tests.waiting import wait_until

_SAID = "Quetzalcoatl"


@pytest.fixture
def model():
    """A scripted model server."""
    reply = only_when_streamed(lambda _body: stream_pieces(f"A {_SAID} ", "is not a bird."))
    with run_fake_server(v1__models=MODELS, v1__chat__completions=reply) as server:
        yield server


def upload(page, path, content, name="chats.json"):
    """Send a file as the page does; return the HTML of the page that follows."""
    mark = uuid.uuid4().hex
    fields = [
        f'Content-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\n{page._token}'.encode(),
        f'Content-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode() + content,
    ]
    body = b"".join(b"--" + mark.encode() + b"\r\n" + field + b"\r\n" for field in fields)
    body += b"--" + mark.encode() + b"--\r\n"
    headers = {"Origin": page.base, "Content-Type": f"multipart/form-data; boundary={mark}"}
    request = urllib.request.Request(page.base + path, body, headers)
    with page._open(request, timeout=60) as answer:
        return answer.geturl(), answer.read().decode()


def test_chats_go_on_after_a_kill_and_no_file_holds_their_text(encrypted: Installation, model):
    encrypted.environment["PROVIDER_URL"] = model.url
    with encrypted.serve() as page:
        page.begin(f"Tell me of the {_SAID}, please")
        assert "Tell me of the" in page.get(f"/search/?q={_SAID}")
        assert "Tell me of the" in page.get("/search/?q=Quetz")
        assert encrypted.find_files_with(_SAID) == []
    # Killed: what was in the write-ahead log is read again.
    assert (encrypted.folder / "memoryapp.sqlite3-wal").exists()
    with encrypted.serve() as page:
        assert "Tell me of the" in page.get(f"/search/?q={_SAID}")
        assert MARK in page.get("/memory/")
    assert encrypted.find_files_with(_SAID) == []


def test_an_upload_waits_encrypted_for_its_import(encrypted: Installation):
    row = {"uuid": "a", "sender": "human", "text": f"On the {_SAID}", "created_at": "2026-01-01T10:00:00Z"}
    chat = {"uuid": "c", "name": "Old", "created_at": "2026-01-01T10:00:00Z", "chat_messages": [row]}
    # Larger than what is kept in memory where nothing is encrypted.
    padding = [{**row, "uuid": str(n), "text": "words " * 1000} for n in range(800)]
    content = json.dumps([{**chat, "chat_messages": [row, *padding]}]).encode()
    assert len(content) > 4_000_000
    with encrypted.serve() as page:
        url, _html = upload(page, "/settings/import/", content)
        assert list((encrypted.folder / "imports").glob("*/*"))
        assert encrypted.find_files_with(_SAID) == []
        page.post(url.removeprefix(page.base), do="import")
        assert encrypted.find_files_with(_SAID) == []
        wait_until(lambda: _SAID in page.get("/search/?q=" + _SAID), 30)


def test_an_export_of_the_page_is_encrypted_and_can_be_imported_again(encrypted: Installation, tmp_path):
    with encrypted.serve() as page:
        settings = page.get("/settings/")
        assert re.search(r'name="encrypted"[^>]*checked', settings)
        assert "with your passphrase only" in settings
        data = urllib.parse.urlencode(
            {"format": "json", "encrypted": "1", "csrfmiddlewaretoken": page._token}
        ).encode()
        request = urllib.request.Request(page.base + "/settings/export/", data, {"Origin": page.base})
        with page._open(request, timeout=60) as answer:
            name, content = answer.headers["Content-Disposition"], answer.read()
        assert ".json.age" in name
        assert content.startswith(b"age-encryption.org/v1\n")
        assert MARK.encode() not in content
        _, html = upload(page, "/settings/import/", content, "mine.json.age")
        assert "an export of memoryapp" in html.lower()
        file = tmp_path / "mine.json.age"
        file.write_bytes(content)
    assert "Nothing was changed" in encrypted.run("import_memory", "--dry-run", str(file)).stdout


def test_exports_of_the_terminal_are_encrypted_unless_plain_ones_are_wanted(encrypted, plain, tmp_path):
    file = tmp_path / "mine.age"
    encrypted.run("export_memory", "--output", str(file), passphrase=PASSPHRASE)
    assert file.read_bytes().startswith(b"age-encryption.org/v1\n")
    assert MARK in encrypted.run("export_memory", "--plain").stdout
    refused = plain.run("import_memory", str(file), check=False)
    assert "encrypted with another passphrase" in refused.stderr
