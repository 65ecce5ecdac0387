"""`export_memory` and `import_memory` at the terminal."""

from __future__ import annotations

import io
import json
import stat
import sys

import pytest
from django.core.management import CommandError, call_command

from chat.models import Conversation, Fact

from .conftest import SAMPLES, document, wipe
from .worlds import build

pytestmark = pytest.mark.django_db


def said(*args, **options):
    out = io.StringIO()
    call_command(*args, stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


def test_an_export_goes_into_a_file_that_only_its_owner_reads_and_comes_back(owner, tmp_path):
    build(owner)
    path = tmp_path / "mine.json"
    said("export_memory", output=path)
    before = path.read_bytes()
    assert before == document(owner)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["mine.json"]
    wipe(owner)
    lines = said("import_memory", path).splitlines()
    assert lines[0] == "mine.json: an export of memoryapp"
    assert "Chats: 1 new" in lines
    assert "Messages: 40 new" in lines
    assert "Memories: 8 new" in lines
    assert lines[-1] == "Done."
    assert document(owner) == before


def test_without_a_file_it_goes_to_where_it_is_piped(owner, monkeypatch):
    build(owner, messages=2)
    piped = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", piped)
    call_command("export_memory")
    assert json.loads(piped.buffer.getvalue())["format"] == "memoryapp"


def test_markdown_is_for_people(owner, tmp_path):
    build(owner)
    path = tmp_path / "mine.md"
    said("export_memory", format="markdown", output=path)
    text = path.read_text()
    assert text.startswith("# memoryapp\n")
    for line in ("## Memories", "### Preference", "- User likes fjord number 0 (pinned)", "## App: Work"):
        assert line in text.splitlines()
    assert "### Of fjords 🏔" in text
    assert "**You** · " in text


def test_markdown_tells_what_was_packed_and_not_what_was_replaced(owner, tmp_path):
    build(owner)
    path = tmp_path / "mine.md"
    said("export_memory", format="markdown", output=path)
    text = path.read_text()
    assert "0-1 „ö“" in text
    assert "0-2 „ö“" not in text


def test_a_dry_run_changes_nothing_and_says_the_same(owner):
    lines = said("import_memory", SAMPLES / "chatgpt.json", dry_run=True).splitlines()
    assert "Chats: 2 new" in lines
    assert lines[-1] == "Nothing was changed."
    assert not Conversation.objects.exists()


def test_what_is_not_taken_is_told_with_its_reason(owner):
    lines = said("import_memory", SAMPLES / "mem0.json").splitlines()
    assert "Memories: 2 new, 2 not taken" in lines
    assert "Not taken: Answers in rhymes: It tells of an assistant, not of you." in lines


def test_a_broken_file_is_told_in_one_sentence(owner, file):
    with pytest.raises(CommandError, match=r"^Nothing was imported\. line 1, column 2: "):
        said("import_memory", file(b"[oops]"))


def test_a_file_that_is_not_there_is_told(owner, tmp_path):
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        said("import_memory", tmp_path / "none.json")


def test_a_folder_that_is_not_there_is_told_and_nothing_is_left(owner, tmp_path):
    with pytest.raises(CommandError, match="cannot be written"):
        said("export_memory", output=tmp_path / "none" / "mine.json")


def test_another_owner_is_named(owner, other):
    said("import_memory", SAMPLES / "mem0.json", owner=other.username)
    assert Fact.objects.filter(owner=other).count() == 2
    assert not Fact.objects.filter(owner=owner).exists()


def test_an_unknown_owner_is_told(owner):
    with pytest.raises(CommandError, match="no user named nobody"):
        said("export_memory", owner="nobody")


def test_where_people_log_in_one_must_be_named(owner, server_mode):
    with pytest.raises(CommandError, match="--owner NAME"):
        said("export_memory")


def test_a_name_in_a_file_cannot_give_the_terminal_orders(owner, tmp_path):
    memories = [
        {"id": f"{n}", "memory": "Likes tea", "user_id": f"ada{n}\x1b]52;c;aGE=\x07\nDone."} for n in (1, 2)
    ]
    (tmp_path / "mem0.json").write_text(json.dumps(memories))
    shown = said("import_memory", tmp_path / "mem0.json", dry_run=True)
    assert "--person: ada1" in shown
    assert not {"\x1b", "\x07"} & set(shown)
    assert shown.count("\nDone.") == 0
