"""A broken file changes nothing, and the sentence says where it is broken."""

from __future__ import annotations

import io
import json
import re
import zipfile

import pytest

from chat.actions import importing
from chat.models import Conversation, Deletion, Entity, Fact
from chat.porting import files
from chat.porting.problems import BadFile

from .conftest import as_json, document, wipe
from .worlds import build

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(owner):
    """An export of a world that is not here any more."""
    build(owner, in_a_chat=20)
    found = as_json(owner)
    wipe(owner)
    return found


def place(found, path):
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
def test_a_wrong_value_is_told_with_its_path(owner, world, file, path, value, where):
    holder, name = place(world, path)
    holder[name] = value
    before = document(owner)
    for work in (importing.dry_run, importing.carry_out):
        with pytest.raises(BadFile) as fault:
            work(owner, file(world))
        assert fault.value.where.startswith(where)
        assert str(fault.value).startswith(where)
    assert document(owner) == before
    assert not Deletion.objects.filter(state="staged").exists()


def test_a_number_that_is_too_large_for_any_is_told(owner, world, file):
    text = json.dumps(world).replace('"metadata": {', '"metadata": {"a": 1e999, ', 1).encode()
    assert b"1e999" in text
    with pytest.raises(BadFile, match="a number that is none"):
        importing.dry_run(owner, file(text))


def test_a_file_that_holds_more_than_a_machine_can_is_not_read_to_its_end(owner, world, file, monkeypatch):
    monkeypatch.setattr("chat.actions.importing.run._HELD", 2)
    with pytest.raises(BadFile, match="more than anybody's memory"):
        importing.dry_run(owner, file(world))


@pytest.mark.parametrize(
    "node", [{"parent": {}, "message": None}, {"parent": "r", "message": {"author": []}}, 7]
)
def test_another_programs_file_of_an_unexpected_form_is_told_with_its_place(owner, file, node):
    chat = {
        "title": "A",
        "create_time": 1.0,
        "mapping": {"r": {"parent": None}, "a": node},
        "current_node": "a",
    }
    with pytest.raises(BadFile, match=r"\[0\]"):
        importing.carry_out(owner, file(json.dumps([chat]).encode()))
    assert not Conversation.objects.exists()


def test_a_missing_value_is_told_with_its_path(owner, world, file):
    del world["conversations"][0]["messages"][17]["role"]
    with pytest.raises(BadFile, match=r"^conversations\[0\]\.messages\[17\]\.role: is missing\.$"):
        importing.carry_out(owner, file(world))


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
def test_an_id_that_stands_there_twice_is_told(owner, world, file, rows, where):
    first, second = rows(world)[:2]
    content = json.dumps(world).replace(second["id"], first["id"]).encode()
    with pytest.raises(BadFile, match=f"^{re.escape(where)}: "):
        importing.carry_out(owner, file(content))
    assert not Conversation.objects.exists()


def test_two_long_names_with_one_beginning_are_one_thing(owner, world, file):
    first, second = world["graph"]["entities"][:2]
    # Folded, each letter is two.
    first["name"], second["name"] = "ß" * 70 + "a", "ß" * 70 + "b"
    importing.carry_out(owner, file(world))
    assert Entity.objects.filter(key="s" * 120).count() == 1


@pytest.mark.parametrize("end", [1, 100, 5000, -2])
def test_a_file_that_was_cut_off_changes_nothing(owner, world, file, end):
    text = json.dumps(world).encode()
    with pytest.raises(BadFile, match=r"line 1, column \d+: the file ends too early|line 1, column \d+: "):
        importing.carry_out(owner, file(text[:end]))
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
        (b'[{"id": 1, "memory": "Likes tea"}, {"id": 1, "memory": "Likes rye"}]', r"^\[1\]\.id: this id"),
        (b'{"format": "memoryapp"}', "version: is missing"),
        (b'{"format": "memoryapp", "facts": []}', "version: is missing"),
    ],
)  # fmt: skip
def test_what_is_no_export_is_refused_in_a_sentence(owner, file, content, sentence):
    with pytest.raises(BadFile, match=sentence):
        importing.carry_out(owner, file(content))


def zipped(packed=zipfile.ZIP_DEFLATED, **members):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", packed) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return held.getvalue()


class TestArchives:
    def test_one_with_conversations_json_is_taken(self, owner, file):
        chats = [{"uuid": "a", "name": "A", "created_at": "2026-01-01T10:00:00Z", "chat_messages": []}]
        content = zipped(**{"data/conversations.json": json.dumps(chats), "users.json": "[]"})
        assert importing.carry_out(owner, file(content)).conversations.added == 1

    def test_chats_in_several_files_are_taken_together(self, owner, file):
        chats = [
            json.dumps(
                [{"uuid": f"{n}", "name": "A", "created_at": "2026-01-01T10:00:00Z", "chat_messages": []}]
            )
            for n in range(2)
        ]
        content = zipped(**{"conversations-000.json": chats[0], "conversations-001.json": chats[1]})
        assert importing.carry_out(owner, file(content)).conversations.added == 2

    def test_our_own_export_may_be_packed(self, owner, world, file):
        content = zipped(**{"memoryapp-export.json": json.dumps(world)})
        assert importing.carry_out(owner, file(content)).conversations.added == 2

    def test_one_without_chats_is_refused(self, owner, file):
        with pytest.raises(BadFile, match=r"no conversations\.json"):
            importing.carry_out(owner, file(zipped(**{"a.txt": "a"})))

    def test_one_that_would_fill_the_disk_is_refused_unread(self, owner, file):
        content = zipped(**{"conversations.json": b"[" + b" " * (64 << 20) + b"]"})
        assert len(content) < 100_000
        with pytest.raises(BadFile, match="too large"):
            importing.carry_out(owner, file(content))

    def test_one_that_claims_to_be_larger_than_the_bound_is_refused(self, owner, file, monkeypatch):
        monkeypatch.setattr(files, "MOST_BYTES", 10)
        with pytest.raises(BadFile, match="too large"):
            importing.carry_out(owner, file(zipped(**{"conversations.json": "[" + "1," * 20 + "1]"})))

    @pytest.mark.parametrize("packed", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_a_damaged_one_is_refused(self, owner, file, packed):
        chats = [{"uuid": "a", "name": "A" * 500, "created_at": "2026-01-01T10:00:00Z", "chat_messages": []}]
        content = bytearray(zipped(packed, **{"conversations.json": json.dumps(chats)}))
        content[60] ^= 0xFF
        with pytest.raises(BadFile, match=r"^conversations\.json: This archive is damaged"):
            importing.carry_out(owner, file(bytes(content)))
        assert not Conversation.objects.exists()

    @pytest.mark.parametrize(
        ("second", "sentence"),
        [
            ('[{"mapping": {"a": 7}, "id": "x"}]', r"^conversations-001\.json\[0\]\.mapping\.a: must be an"),
            ("[\n oops]", r"^conversations-001\.json: line 2, column 2: this is not JSON"),
            ("", r"^conversations-001\.json: This is not a JSON file"),
        ],
    )  # fmt: skip
    def test_of_several_files_the_broken_one_is_named(self, owner, file, second, sentence):
        chat = [{"mapping": {}, "id": "y"}]
        content = zipped(**{"conversations-000.json": json.dumps(chat), "conversations-001.json": second})
        with pytest.raises(BadFile, match=sentence):
            importing.carry_out(owner, file(content))
        assert not Conversation.objects.exists()


def test_a_plain_file_that_is_too_large_is_refused_unread(owner, file, monkeypatch):
    monkeypatch.setattr(files, "MOST_BYTES", 10)
    with pytest.raises(BadFile, match="too large"):
        importing.carry_out(owner, file(b"[" + b" " * 20))


def test_a_fault_at_the_very_end_leaves_no_fact_and_no_chat(owner, world, file):
    world["graph"]["relationships"].append({"id": "x"})
    with pytest.raises(BadFile, match=r"^graph\.relationships\[\d+\]\.id: must be a UUID"):
        importing.carry_out(owner, file(world))
    assert not Fact.objects.exists()
    assert not Conversation.objects.exists()
