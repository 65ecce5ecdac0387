"""Importing a broken file changes nothing, and the error names the position of the fault."""

from __future__ import annotations

import contextlib
import io
import json
import tracemalloc
import zipfile
from unittest import mock

import pytest

from chat.actions import importing
from chat.errors import BadFile
from chat.models import Conversation, Deletion, Entity, Fact
from chat.porting import files

from .conftest import as_json, document, find_fault, wipe
from .sample_data import create_sample_data

pytestmark = pytest.mark.django_db


@pytest.fixture
def exported(owner):
    """An export whose data has been deleted from the database."""
    create_sample_data(owner, in_a_chat=20)
    found = as_json(owner)
    wipe(owner)
    return found


def find_holder(found, path):
    *steps, last = path
    for step in steps:
        found = found[step]
    return found, last


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (("conversations", 0, "messages", 17, "role"), "robot", "conversations[0].messages[17].role"),
        (("conversations", 0, "messages", 3, "id"), "17", "conversations[0].messages[3].id"),
        (("conversations", 0, "messages", 3, "seq"), 3, "conversations[0].messages[3].seq"),
        (("conversations", 0, "messages", 3, "created_at"), "soon",
         "conversations[0].messages[3].created_at"),
        (("conversations", 0, "messages", 3, "created_at"), "2026-01-01T00:00:00",
         "conversations[0].messages[3].created_at"),
        (("conversations", 0, "messages", 3, "content"), None, "conversations[0].messages[3].content"),
        (("conversations", 0, "messages", 5, "topic"), "0d5f8c1e-7a44-4c0e-8f5d-9d3a2b1c4e6f",
         "conversations[0].messages[5].topic"),
        (("conversations", 0, "messages", 5, "replaced_by"), "0d5f8c1e-7a44-4c0e-8f5d-9d3a2b1c4e6f",
         "conversations[0].messages[5].replaced_by"),
        (("conversations", 0, "messages", 3, "report", "stage"), 9,
         "conversations[0].messages[3].report.stage"),
        (("conversations", 0, "title"), "x" * 121, "conversations[0].title"),
        (("conversations", 0, "messages", 3, "report", "facts"), ["x"],
         "conversations[0].messages[3].report.facts[0]"),
        (("conversations", 0, "messages", 3, "tool_calls"), "x", "conversations[0].messages[3].tool_calls"),
        (("conversations", 0, "cuts"), {"x": 1}, "conversations[0].cuts"),
        (("apps", 0, "memories"), [{}], "apps[0].memories[0].id"),
        (("facts", 2, "history", 1, "after"), {"text": "I like tea"}, "facts[2].history[1].after"),
        (("facts", 2, "history", 1, "after"), {"confidence": "x"}, "facts[2].history[1].after"),
        (("conversations", 0, "memory_mode"), "maybe", "conversations[0].memory_mode"),
        (("conversations", 0, "topics", 1, "importance"), 2, "conversations[0].topics[1].importance"),
        (("facts", 2, "confidence"), 7, "facts[2].confidence"),
        (("facts", 2, "first_seen"), "9999-12-31T23:59:59-05:00", "facts[2].first_seen"),
        (("facts", 2, "first_seen"), "9999-12-31T23:59:59Z", "facts[2].first_seen"),
        (("facts", 2, "first_seen"), "0001-01-01T00:00:00+00:00", "facts[2].first_seen"),
        (("conversations", 0, "created_at"), "0001-01-01T00:00:00+05:00", "conversations[0].created_at"),
        (("facts", 2, "kind"), "weather", "facts[2].kind"),
        (("facts", 2, "text"), "x" * 301, "facts[2].text"),
        (("facts", 2, "history", 1, "kind"), "dance", "facts[2].history[1].kind"),
        (("apps", 0, "slug"), "a b", "apps[0].slug"),
        (("settings", "look_after"), -1, "settings.look_after"),
        (("graph", "relationships", 0, "target"), None, "graph.relationships[0].target"),
        (("version",), 2, "version"),
        (("format",), "other", "format"),
        (("conversations",), {}, "line 1, column "),
    ],
)  # fmt: skip
def test_a_wrong_value_is_reported_with_its_path(owner, exported, file, path, value, where):
    holder, name = find_holder(exported, path)
    holder[name] = value
    chats, facts = len(exported["conversations"]), len(exported["facts"])
    before = document(owner)
    for work in (importing.dry_run, importing.import_file):
        assert find_fault(work, owner, file(exported)).startswith(where)
    # A chat or a memory is left out, and the others come in. Any other fault refuses the file.
    if where.startswith("conversations["):
        assert Conversation.objects.count() == chats - 1
    elif where.startswith("facts["):
        assert Conversation.objects.count() == chats
        assert 0 < Fact.objects.count() < facts
    else:
        assert document(owner) == before
    assert not Deletion.objects.filter(state="staged").exists()


def test_an_infinite_number_is_refused(owner, exported, file):
    text = json.dumps(exported).replace('"metadata": {', '"metadata": {"a": 1e999, ', 1).encode()
    assert b"1e999" in text
    with pytest.raises(BadFile, match="a number that is none"):
        importing.dry_run(owner, file(text))


def test_a_file_with_too_many_rows_is_refused(owner, exported, file, monkeypatch):
    monkeypatch.setattr("chat.actions.importing.run._MAX_HELD", 2)
    with pytest.raises(BadFile, match="more than anybody's memory"):
        importing.dry_run(owner, file(exported))


@pytest.mark.parametrize(
    "node", [{"parent": {}, "message": None}, {"parent": "r", "message": {"author": []}}, 7]
)
def test_an_unexpected_chatgpt_structure_is_reported_with_its_position(owner, file, node):
    chat = {
        "title": "A",
        "create_time": 1.0,
        "mapping": {"r": {"parent": None}, "a": node},
        "current_node": "a",
    }
    with pytest.raises(BadFile, match=r"\[0\]"):
        importing.import_file(owner, file(json.dumps([chat]).encode()))
    assert not Conversation.objects.exists()


def test_a_missing_value_is_reported_with_its_path(owner, exported, file):
    del exported["conversations"][0]["messages"][17]["role"]
    fault = find_fault(importing.import_file, owner, file(exported))
    assert fault.rstrip(".") == "conversations[0].messages[17].role: is missing"


@pytest.mark.parametrize(
    ("rows", "where"),
    [
        (lambda w: w["facts"], "facts[1].id"),
        (lambda w: w["facts"][0]["history"], "facts[0].history[1].id"),
        (lambda w: w["apps"], "apps[1].id"),
        (lambda w: [m for app in w["apps"] for m in app["memories"]], "apps[1].memories[0].id"),
        (lambda w: w["conversations"], "conversations[1].id"),
        (lambda w: [c["messages"][0] for c in w["conversations"]], "conversations[1].messages[0].id"),
        (lambda w: w["conversations"][0]["messages"], "conversations[0].messages[1].id"),
        (lambda w: [c["topics"][0] for c in w["conversations"]], "conversations[1].topics[0].id"),
        (lambda w: w["conversations"][0]["topics"], "conversations[0].topics"),
        (lambda w: w["graph"]["entities"], "graph.entities[1].id"),
        (lambda w: w["graph"]["relationships"], "graph.relationships[1].id"),
    ],
)
def test_a_duplicate_id_is_reported_with_its_path(owner, exported, file, rows, where):
    first, second = rows(exported)[:2]
    content = json.dumps(exported).replace(second["id"], first["id"]).encode()
    assert find_fault(importing.import_file, owner, file(content)).startswith(f"{where}: ")
    left_out = where.startswith(("conversations[", "facts[1].id"))
    assert Conversation.objects.exists() == left_out


def test_long_names_with_the_same_key_become_one_entity(owner, exported, file):
    first, second = exported["graph"]["entities"][:2]
    # Case folding doubles each ß to "ss"; the first 120 characters, which are the key, are equal.
    first["name"], second["name"] = "ß" * 70 + "a", "ß" * 70 + "b"
    importing.import_file(owner, file(exported))
    assert Entity.objects.filter(key="s" * 120).count() == 1


@pytest.mark.parametrize("end", [1, 100, 5000, -2])
def test_a_truncated_file_changes_nothing(owner, exported, file, end):
    text = json.dumps(exported).encode()
    with pytest.raises(BadFile, match=r"line 1, column \d+: the file ends too early|line 1, column \d+: "):
        importing.import_file(owner, file(text[:end]))
    assert not Conversation.objects.exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "not a JSON file"),
        (b"\x89PNG\r\n", "not text in UTF-8"),
        (b"hello", "not a JSON file"),
        (b"[]", "nothing in this file"),
        (b"{}", "none of the files"),
        (b'{"a": 1}', "none of the files"),
        (b"[1, 2]", "none of the files"),
        (b'[{"x": 1}]', "none of the files"),
        (b'{"results": null}', "line 1, column 13: must be a list"),
        (b'[{"id": 1, "memory": "Likes tea", "created_at": "0001-01-01T00:00:00+05:00"}]',
         r"^\[0\]\.created_at: must be a date"),
        (b'{"format": "memoryapp"}', "version: is missing"),
        (b'{"format": "memoryapp", "facts": []}', "version: is missing"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_export_is_refused(owner, file, content, sentence):
    with pytest.raises(BadFile, match=sentence):
        importing.import_file(owner, file(content))


def make_zip(compression=zipfile.ZIP_DEFLATED, **members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


class TestArchives:
    def test_an_archive_with_conversations_json_is_imported(self, owner, file):
        chats = [{"uuid": "a", "name": "A", "created_at": "2026-01-01T10:00:00Z", "chat_messages": []}]
        content = make_zip(**{"data/conversations.json": json.dumps(chats), "users.json": "[]"})
        assert importing.import_file(owner, file(content)).conversations.added == 1

    def test_conversations_in_several_files_are_imported_together(self, owner, file):
        chats = [
            json.dumps(
                [{"uuid": f"{n}", "name": "A", "created_at": "2026-01-01T10:00:00Z", "chat_messages": []}]
            )
            for n in range(2)
        ]
        content = make_zip(**{"conversations-000.json": chats[0], "conversations-001.json": chats[1]})
        assert importing.import_file(owner, file(content)).conversations.added == 2

    def test_an_own_export_in_an_archive_is_imported(self, owner, exported, file):
        content = make_zip(**{"memoryapp-export.json": json.dumps(exported)})
        assert importing.import_file(owner, file(content)).conversations.added == 2

    def test_an_archive_without_conversations_is_refused(self, owner, file):
        with pytest.raises(BadFile, match=r"no conversations\.json"):
            importing.import_file(owner, file(make_zip(**{"a.txt": "a"})))

    def test_an_archive_that_expands_too_far_is_refused(self, owner, file):
        content = make_zip(**{"conversations.json": b"[" + b" " * (64 << 20) + b"]"})
        assert len(content) < 100_000
        with pytest.raises(BadFile, match="too large"):
            importing.import_file(owner, file(content))

    def test_an_archive_member_over_the_size_limit_is_refused(self, owner, file, monkeypatch):
        monkeypatch.setattr(files, "MOST_BYTES", 10)
        with pytest.raises(BadFile, match="too large"):
            importing.import_file(owner, file(make_zip(**{"conversations.json": "[" + "1," * 20 + "1]"})))

    @pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_a_damaged_archive_is_refused(self, owner, file, compression):
        chats = [{"uuid": "a", "name": "A" * 500, "created_at": "2026-01-01T10:00:00Z", "chat_messages": []}]
        content = bytearray(make_zip(compression, **{"conversations.json": json.dumps(chats)}))
        content[60] ^= 0xFF
        with pytest.raises(BadFile, match=r"^conversations\.json: This archive is damaged"):
            importing.import_file(owner, file(bytes(content)))
        assert not Conversation.objects.exists()

    @pytest.mark.parametrize(
        ("second", "sentence"),
        [
            ("[\n oops]", r"^conversations-001\.json: line 2, column 2: this is not JSON"),
            ("", r"^conversations-001\.json: This is not a JSON file"),
        ],
    )  # fmt: skip
    def test_the_error_names_the_broken_file_in_the_archive(self, owner, file, second, sentence):
        chat = [{"mapping": {}, "id": "y"}]
        content = make_zip(**{"conversations-000.json": json.dumps(chat), "conversations-001.json": second})
        with pytest.raises(BadFile, match=sentence):
            importing.import_file(owner, file(content))
        assert not Conversation.objects.exists()


def test_a_plain_file_over_the_size_limit_is_refused(owner, file, monkeypatch):
    monkeypatch.setattr(files, "MOST_BYTES", 10)
    with pytest.raises(BadFile, match="too large"):
        importing.import_file(owner, file(b"[" + b" " * 20))


def test_a_fault_at_the_end_leaves_no_fact_and_no_conversation(owner, exported, file):
    exported["graph"]["relationships"].append({"id": "x"})
    with pytest.raises(BadFile, match=r"^graph\.relationships\[\d+\]\.id: must be a UUID"):
        importing.import_file(owner, file(exported))
    assert not Fact.objects.exists()
    assert not Conversation.objects.exists()


def test_one_broken_chat_among_thousands_is_left_out_and_named(owner, file):
    chats = [
        {"uuid": f"{n}", "name": f"Chat {n}", "created_at": "2026-01-01T10:00:00Z", "chat_messages": []}
        for n in range(2000)
    ]
    chats[1234]["created_at"] = "soon"
    for work in (importing.dry_run, importing.import_file):
        report = work(owner, file(json.dumps(chats).encode()))
        assert (report.conversations.added, report.conversations.refused) == (1999, 1)
        assert [refusal.what for refusal in report.refusals] == ["[1234].created_at"]
    assert Conversation.objects.count() == 1999
    assert not Conversation.objects.filter(title="Chat 1234").exists()


@pytest.mark.parametrize(
    "value",
    [
        "[" + "[]," * 4_000_000 + "[]]",
        "[" + "{}," * 3_000_000 + "{}]",
        "[" + "1," * 6_000_000 + "1]",
        '{"a":' + '[["x",' * 400 + "1" + "]]" * 400 + "}",
    ],
    ids=["lists", "objects", "numbers", "depth"],
)
def test_a_value_of_millions_of_items_is_refused_in_little_memory(owner, file, value):
    content = f'[{{"mapping": {{}}, "id": "x", "more": {value}}}]'.encode()
    path = file(content)
    del content
    tracemalloc.start()
    try:
        with contextlib.suppress(BadFile):
            importing.dry_run(owner, path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 << 20


def test_a_long_chat_full_of_commas_is_imported(owner, file):
    text = 'one, two, [three], {four}, \\ "five", ' * 20_000
    row = {"uuid": "m", "sender": "human", "text": text, "created_at": "2026-01-01T10:00:00Z"}
    chat = {"uuid": "c", "name": "A", "created_at": "2026-01-01T10:00:00Z", "chat_messages": [row]}
    content = json.dumps([chat] * 1).encode()
    with mock.patch("chat.porting.reader.MOST_ITEMS_IN_A_VALUE", 1000):
        report = importing.import_file(owner, file(content + b" " * (2 << 20)))
    assert report.messages.added == 1
