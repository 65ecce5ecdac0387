"""The management commands `export_memory` and `import_memory`."""

from __future__ import annotations

import io
import json
import stat
import sys

import pytest
from django.core.management import CommandError, call_command

from chat.models import Conversation, Fact

from .conftest import SAMPLES, document, wipe
from .sample_data import create_sample_data

pytestmark = pytest.mark.django_db


def run_command(*args, **options):
    out = io.StringIO()
    call_command(*args, stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


def test_an_exported_file_is_private_and_can_be_imported(owner, tmp_path):
    create_sample_data(owner)
    path = tmp_path / "mine.json"
    run_command("export_memory", output=path)
    before = path.read_bytes()
    assert before == document(owner)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["mine.json"]
    wipe(owner)
    lines = run_command("import_memory", path).splitlines()
    assert lines[0] == "mine.json: an export of memoryapp"
    assert "Chats: 1 new" in lines
    assert "Messages: 40 new" in lines
    assert "Memories: 8 new" in lines
    assert lines[-1] == "Done."
    assert document(owner) == before


def test_an_export_without_a_file_is_written_to_standard_output(owner, monkeypatch):
    create_sample_data(owner, messages=2)
    piped = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", piped)
    call_command("export_memory")
    assert json.loads(piped.buffer.getvalue())["format"] == "memoryapp"


def test_the_markdown_export_has_headings_and_lists(owner, tmp_path):
    create_sample_data(owner)
    path = tmp_path / "mine.md"
    run_command("export_memory", format="markdown", output=path)
    text = path.read_text()
    assert text.startswith("# memoryapp\n")
    for line in ("## Memories", "### Preference", "- User likes fjord number 0 (pinned)", "## App: Work"):
        assert line in text.splitlines()
    assert "### Of fjords 🏔" in text
    assert "**You** · " in text


def test_the_markdown_export_has_archived_but_no_replaced_messages(owner, tmp_path):
    create_sample_data(owner)
    path = tmp_path / "mine.md"
    run_command("export_memory", format="markdown", output=path)
    text = path.read_text()
    assert "0-1 „ö“" in text
    assert "0-2 „ö“" not in text


def test_a_dry_run_reports_counts_and_changes_nothing(owner):
    lines = run_command("import_memory", SAMPLES / "chatgpt.json", dry_run=True).splitlines()
    assert "Chats: 2 new" in lines
    assert lines[-1] == "Nothing was changed."
    assert not Conversation.objects.exists()


def test_refused_rows_are_printed_with_their_reason(owner):
    lines = run_command("import_memory", SAMPLES / "mem0.json").splitlines()
    assert "Memories: 2 new, 2 not taken" in lines
    assert "Not taken: Answers in rhymes: It tells of an assistant, not of you." in lines


def test_a_broken_file_is_reported_in_one_sentence(owner, file):
    with pytest.raises(CommandError, match=r"^Nothing was imported\. line 1, column 2: "):
        run_command("import_memory", file(b"[oops]"))


def test_a_missing_file_is_reported(owner, tmp_path):
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        run_command("import_memory", tmp_path / "none.json")


def test_a_missing_output_folder_is_reported(owner, tmp_path):
    with pytest.raises(CommandError, match="cannot be written"):
        run_command("export_memory", output=tmp_path / "none" / "mine.json")


def test_the_owner_option_chooses_another_owner(owner, other):
    run_command("import_memory", SAMPLES / "mem0.json", owner=other.username)
    assert Fact.objects.filter(owner=other).count() == 2
    assert not Fact.objects.filter(owner=owner).exists()


def test_an_unknown_owner_is_reported(owner):
    with pytest.raises(CommandError, match="no user named nobody"):
        run_command("export_memory", owner="nobody")


def test_server_mode_requires_the_owner_option(owner, server_mode):
    with pytest.raises(CommandError, match="--owner NAME"):
        run_command("export_memory")


def test_control_characters_in_a_file_are_not_printed(owner, tmp_path):
    memories = [
        {"id": f"{n}", "memory": "Likes tea", "user_id": f"ada{n}\x1b]52;c;aGE=\x07\nDone."} for n in (1, 2)
    ]
    (tmp_path / "mem0.json").write_text(json.dumps(memories))
    shown = run_command("import_memory", tmp_path / "mem0.json", dry_run=True)
    assert "--person: ada1" in shown
    assert not {"\x1b", "\x07"} & set(shown)
    assert shown.count("\nDone.") == 0
