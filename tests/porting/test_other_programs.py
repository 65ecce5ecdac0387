"""Exports of ChatGPT, Claude and mem0 become conversations and facts; a second import adds nothing."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest

from chat.actions import importing
from chat.actions.facts import add_fact
from chat.errors import Refused
from chat.models import Conversation, Fact, FactEvent, Job, Message, Relationship

from .conftest import SAMPLES, as_json, document, find_fault, wipe

pytestmark = pytest.mark.django_db


def read_sample(name):
    return json.loads((SAMPLES / name).read_text())


def list_messages(chat):
    return [(m.seq, m.role, m.content) for m in chat.messages.current_branch()]


class TestChatGpt:
    @pytest.fixture
    def outcome(self, import_document):
        return import_document(SAMPLES / "chatgpt.json")

    def test_the_format_is_recognised(self, outcome):
        assert outcome.source == "chatgpt"
        assert (outcome.conversations.added, outcome.messages.added, outcome.refusals) == (2, 6, [])

    def test_the_branch_shown_in_chatgpt_is_the_current_branch(self, outcome):
        chat = Conversation.objects.get(title="Walnut bread")
        assert list_messages(chat) == [
            (3, "user", "[A picture, which was not imported]\n\nHow do I bake bread with walnuts? 🌰"),
            (4, "assistant", ""),
            (5, "tool", "2"),
            (6, "assistant", "Knead,\n\nrest, bake."),
        ]

    def test_messages_of_the_other_branch_are_replaced(self, outcome):
        chat = Conversation.objects.get(title="Walnut bread")
        left = chat.messages.filter(replaced_by__isnull=False)
        assert [(m.seq, m.content, m.replaced_by.seq) for m in left] == [
            (1, "How do I bake bred?", 3),
            (2, "Bred is a verb.", 3),
        ]

    def test_a_tool_call_is_linked_to_its_result(self, outcome):
        call, result = Message.objects.filter(seq__in=(4, 5)).order_by("seq")
        assert call.tool_calls is not None
        assert call.tool_calls[0]["function"] == {"name": "python", "arguments": "print(2)"}
        assert (result.tool_call_id, result.name) == (call.tool_calls[0]["id"], "python")

    def test_a_chat_that_must_not_be_remembered_is_never_read_by_memory(self, owner, import_document):
        found = read_sample("chatgpt.json")
        found[0]["is_do_not_remember"], found[1]["is_do_not_remember"] = True, None
        import_document(found, learn=True)
        marked = Conversation.objects.get(title=found[0]["title"])
        assert marked.memory_mode == "off"
        assert Conversation.objects.exclude(pk=marked.pk).get().memory_mode == "on"
        assert not Message.objects.backlog(owner).filter(conversation=marked).exists()
        assert not Job.objects.filter(dedupe_key=f"extract:{marked.pk}").exists()

    def test_ids_and_times_come_from_the_file(self, outcome):
        chat = Conversation.objects.get(pk="3f1a9f2e-0000-4000-8000-000000000001")
        assert chat.created_at == datetime.fromtimestamp(1767261600.25, UTC)
        assert chat.ended_at == chat.updated_at
        assert Message.objects.get(seq=6).created_at == datetime.fromtimestamp(1767261710, UTC)
        assert chat.metadata == {"imported_from": "chatgpt"}

    def test_imported_messages_are_not_extracted(self, owner, outcome):
        assert not Message.objects.backlog(owner).exists()
        assert not Job.objects.exclude(kind__in=["index_windows", "reindex", "sweep_index"]).exists()

    def test_imported_messages_are_extracted_if_the_owner_chooses(self, owner, import_document):
        import_document(SAMPLES / "chatgpt.json", learn=True)
        assert [m.seq for m in Message.objects.backlog(owner)] == [3]

    def test_a_second_import_adds_nothing(self, owner, outcome, import_document):
        before = document(owner)
        assert not import_document(SAMPLES / "chatgpt.json").changes
        assert document(owner) == before

    def test_the_imported_data_survives_an_export_and_import(self, owner, outcome, import_document):
        before = document(owner)
        wipe(owner)
        import_document(before)
        assert document(owner) == before

    @pytest.mark.parametrize(
        ("path", "value", "where"),
        [
            (["b1", "parent"], "nowhere", "b1.parent"),
            (["root", "parent"], "sys", "a1.parent"),
            (["b1", "message", "author", "role"], "robot", "b1.message.author.role"),
            (["b1", "message", "create_time"], "soon", "b1.message.create_time"),
            (["b1", "message", "content", "parts"], "x", "b1.message.content.parts"),
            (["b1"], 7, "b1"),
        ],
    )
    def test_a_fault_is_reported_with_its_path(self, owner, file, path, value, where):
        found = read_sample("chatgpt.json")
        holder = found[0]["mapping"]
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = value
        fault = find_fault(importing.import_file, owner, file(found))
        assert fault.startswith(f"[0].mapping.{where}: ")
        assert Conversation.objects.count() == len(found) - 1

    def test_a_conversation_of_ten_thousand_messages_is_imported(self, owner, file):
        mapping = {
            f"n{n}": {
                "parent": f"n{n - 1}" if n else None,
                "message": {"author": {"role": "user"}, "content": {"parts": [f"Message {n}"]}},
            }
            for n in range(10_000)
        }
        chat = {"id": "long", "title": "Long", "create_time": 1767261600, "mapping": mapping}
        outcome = importing.dry_run(owner, file([{**chat, "current_node": "n9999"}]))
        assert outcome.messages.added == 10_000


class TestClaude:
    @pytest.fixture
    def outcome(self, import_document):
        return import_document(SAMPLES / "claude.json")

    def test_blocks_older_texts_and_attachments_are_imported(self, outcome):
        chat = Conversation.objects.get(title="A harbour poem")
        assert list_messages(chat) == [
            (
                1,
                "user",
                "Write a poem.\n\nnotes.txt\n\n````\nThe ```sea```.\n````\n\n"
                "[The file “harbour.png”, which was not imported]",
            ),
            (2, "assistant", "Ships come home.\n\nLamps are lit."),
            (3, "user", "Shorter, please."),
        ]

    def test_branches_follow_the_parents(self, outcome):
        chat = Conversation.objects.get(title="")
        assert [m.content for m in chat.messages.current_branch()] == ["One?", "Second answer.", "Two?"]
        left = chat.messages.get(replaced_by__isnull=False)
        assert (left.content, left.replaced_by.content) == ("First answer.", "Second answer.")

    def test_a_second_import_adds_nothing(self, owner, outcome, import_document):
        assert not import_document(SAMPLES / "claude.json").changes
        assert outcome.source == "claude"

    @pytest.mark.parametrize(
        ("spoil", "where"),
        [
            (lambda c: c["chat_messages"][1].update(sender="robot"), r"\[0\]\.chat_messages\[1\]\.sender"),
            (lambda c: c["chat_messages"][1].update(uuid=""), r"\[0\]\.chat_messages\[1\]\.uuid"),
            (lambda c: c.update(created_at=None), r"\[0\]\.created_at"),
            (lambda c: c.update(chat_messages={}), r"\[0\]\.chat_messages"),
        ],
    )
    def test_a_fault_is_reported_with_its_path(self, owner, file, spoil, where):
        found = read_sample("claude.json")
        spoil(found[0])
        assert re.match(f"{where}: ", find_fault(importing.import_file, owner, file(found)))
        assert Conversation.objects.count() == len(found) - 1


class TestMem0:
    def test_memories_become_facts_of_origin_manual(self, owner, import_document):
        outcome = import_document(SAMPLES / "mem0.json")
        assert (outcome.source, outcome.facts.added, outcome.facts.refused) == ("mem0", 2, 2)
        home, tea = Fact.objects.order_by("first_seen")
        assert (home.text, home.kind, home.origin, home.confidence) == (
            "Lives in Bergen",
            "home",
            "manual",
            0.6,
        )
        assert tea.last_seen == datetime(2026, 1, 12, 15, tzinfo=UTC)
        assert FactEvent.objects.get(fact=home).reason == "imported from mem0"
        assert Relationship.objects.filter(source_fact=tea).exists()

    def test_refused_rows_are_reported_with_a_reason(self, import_document):
        outcome = import_document(SAMPLES / "mem0.json")
        assert [(r.what, r.why) for r in outcome.refusals] == [
            ("Answers in rhymes", "It tells of an assistant, not of you."),
            ("42", "There is no word in it."),
        ]

    def test_classification_is_queued_and_the_model_is_not_called(self, import_document, scripted):
        import_document(SAMPLES / "mem0.json")
        assert Job.objects.filter(kind="settle").count() == 2
        assert scripted.calls == []

    def test_a_second_import_adds_nothing(self, import_document):
        import_document(SAMPLES / "mem0.json")
        outcome = import_document(SAMPLES / "mem0.json")
        assert (outcome.changes, outcome.facts.there) == (False, 2)

    def test_a_known_fact_is_not_added_again(self, owner, import_document):
        add_fact(owner, "likes green tea.")
        outcome = import_document(read_sample("mem0.json")["results"])
        assert (outcome.facts.added, outcome.facts.there) == (1, 1)

    def test_equal_texts_become_one_fact(self, import_document):
        rows = read_sample("mem0.json")["results"][:1]
        outcome = import_document([*rows, {**rows[0], "id": "another"}])
        assert (outcome.facts.added, outcome.facts.there) == (1, 1)

    def test_the_owner_chooses_one_of_several_people(self, owner, file, import_document):
        rows = read_sample("mem0.json")["results"][:2]
        rows[1]["user_id"] = "sam"
        path = file(rows)
        assert importing.dry_run(owner, path).persons == ["alex", "sam"]
        with pytest.raises(Refused, match="several people: alex, sam"):
            importing.import_file(owner, path)
        assert not Fact.objects.exists()
        assert import_document(path, person="sam").facts.added == 1
        assert [f["text"] for f in as_json(owner)["facts"]] == ["Likes green tea"]

    @pytest.mark.parametrize(
        ("change", "where"),
        [
            ({"memory": 7}, r"results\[1\]\.memory"),
            ({"id": None}, r"results\[1\]\.id"),
            ({"created_at": "soon"}, r"results\[1\]\.created_at"),
        ],
    )
    def test_a_fault_is_reported_with_its_path(self, owner, file, change, where):
        found = read_sample("mem0.json")
        found["results"][1].update(change)
        assert re.match(f"{where}: ", find_fault(importing.import_file, owner, file(found)))
        assert Fact.objects.exists()

    def test_a_memory_that_is_too_long_is_refused(self, import_document):
        rows = read_sample("mem0.json")["results"][:1]
        rows[0]["memory"] = "word " * 100
        assert import_document(rows).refusals[0].why == "A memory has at most 300 characters."
