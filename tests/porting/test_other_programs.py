"""Exports of ChatGPT, Claude and mem0 become chats and memories of ours, twice the same."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from chat.actions import importing
from chat.actions.facts import add_fact
from chat.actions.messages import Refused
from chat.models import Conversation, Fact, FactEvent, Job, Message, Relationship
from chat.porting.problems import BadFile

from .conftest import SAMPLES, as_json, document, wipe

pytestmark = pytest.mark.django_db


def read(name):
    return json.loads((SAMPLES / name).read_text())


def told(chat):
    return [(m.seq, m.role, m.content) for m in chat.messages.shown()]


class TestChatGpt:
    @pytest.fixture
    def outcome(self, taken):
        return taken(SAMPLES / "chatgpt.json")

    def test_it_is_known_as_what_it_is(self, outcome):
        assert outcome.source == "chatgpt"
        assert (outcome.conversations.added, outcome.messages.added, outcome.refusals) == (2, 6, [])

    def test_the_branch_that_was_shown_is_shown(self, outcome):
        chat = Conversation.objects.get(title="Walnut bread")
        assert told(chat) == [
            (3, "user", "[A picture, which was not imported]\n\nHow do I bake bread with walnuts? 🌰"),
            (4, "assistant", ""),
            (5, "tool", "2"),
            (6, "assistant", "Knead,\n\nrest, bake."),
        ]

    def test_the_branch_that_was_left_is_replaced_by_what_was_said_instead(self, outcome):
        chat = Conversation.objects.get(title="Walnut bread")
        left = chat.messages.filter(replaced_by__isnull=False)
        assert [(m.seq, m.content, m.replaced_by.seq) for m in left] == [
            (1, "How do I bake bred?", 3),
            (2, "Bred is a verb.", 3),
        ]

    def test_a_tool_s_call_and_its_result_go_together(self, outcome):
        call, result = Message.objects.filter(seq__in=(4, 5)).order_by("seq")
        assert call.tool_calls is not None
        assert call.tool_calls[0]["function"] == {"name": "python", "arguments": "print(2)"}
        assert (result.tool_call_id, result.name) == (call.tool_calls[0]["id"], "python")

    def test_ids_and_times_are_its_own(self, outcome):
        chat = Conversation.objects.get(pk="3f1a9f2e-0000-4000-8000-000000000001")
        assert chat.created_at == datetime.fromtimestamp(1767261600.25, UTC)
        assert chat.ended_at == chat.updated_at
        assert Message.objects.get(seq=6).created_at == datetime.fromtimestamp(1767261710, UTC)
        assert chat.metadata == {"imported_from": "chatgpt"}

    def test_it_is_neither_read_nor_told(self, owner, outcome):
        assert not Message.objects.backlog(owner).exists()
        assert not Job.objects.exclude(kind__in=["reindex", "sweep_index"]).exists()

    def test_with_a_tick_it_is_read(self, owner, taken):
        taken(SAMPLES / "chatgpt.json", learn=True)
        assert [m.seq for m in Message.objects.backlog(owner)] == [3]

    def test_a_second_time_adds_nothing(self, owner, outcome, taken):
        before = document(owner)
        assert not taken(SAMPLES / "chatgpt.json").changes
        assert document(owner) == before

    def test_what_it_became_goes_out_and_comes_back(self, owner, outcome, taken):
        before = document(owner)
        wipe(owner)
        taken(before)
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
    def test_a_fault_is_told_with_its_path(self, owner, file, path, value, where):
        found = read("chatgpt.json")
        holder = found[0]["mapping"]
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = value
        with pytest.raises(BadFile) as fault:
            importing.carry_out(owner, file(found))
        assert fault.value.where == f"[0].mapping.{where}"
        assert not Conversation.objects.exists()

    def test_a_chat_of_ten_thousand_messages_in_a_row_is_read(self, owner, file):
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
    def outcome(self, taken):
        return taken(SAMPLES / "claude.json")

    def test_blocks_and_older_texts_are_read_and_attachments_stand_below(self, outcome):
        chat = Conversation.objects.get(title="A harbour poem")
        assert told(chat) == [
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
        assert [m.content for m in chat.messages.shown()] == ["One?", "Second answer.", "Two?"]
        left = chat.messages.get(replaced_by__isnull=False)
        assert (left.content, left.replaced_by.content) == ("First answer.", "Second answer.")

    def test_a_second_time_adds_nothing(self, owner, outcome, taken):
        assert not taken(SAMPLES / "claude.json").changes
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
    def test_a_fault_is_told_with_its_path(self, owner, file, spoil, where):
        found = read("claude.json")
        spoil(found[0])
        with pytest.raises(BadFile, match=f"^{where}: "):
            importing.carry_out(owner, file(found))
        assert not Conversation.objects.exists()


class TestMem0:
    def test_memories_become_facts_that_were_added_by_hand(self, owner, taken):
        outcome = taken(SAMPLES / "mem0.json")
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

    def test_what_is_refused_is_told(self, taken):
        outcome = taken(SAMPLES / "mem0.json")
        assert [(r.what, r.why) for r in outcome.refusals] == [
            ("Answers in rhymes", "It tells of an assistant, not of you."),
            ("42", "There is no word in it."),
        ]

    def test_the_model_sorts_them_later_and_is_not_called_now(self, taken, scripted):
        taken(SAMPLES / "mem0.json")
        assert Job.objects.filter(kind="settle").count() == 2
        assert scripted.calls == []

    def test_a_second_time_adds_nothing(self, taken):
        taken(SAMPLES / "mem0.json")
        outcome = taken(SAMPLES / "mem0.json")
        assert (outcome.changes, outcome.facts.there) == (False, 2)

    def test_what_is_known_is_not_learned_again(self, owner, taken):
        add_fact(owner, "likes green tea.")
        outcome = taken(read("mem0.json")["results"])
        assert (outcome.facts.added, outcome.facts.there) == (1, 1)

    def test_the_same_words_twice_are_one(self, taken):
        rows = read("mem0.json")["results"][:1]
        outcome = taken([*rows, {**rows[0], "id": "another"}])
        assert (outcome.facts.added, outcome.facts.there) == (1, 1)

    def test_of_several_people_the_owner_chooses_one(self, owner, file, taken):
        rows = read("mem0.json")["results"][:2]
        rows[1]["user_id"] = "sam"
        path = file(rows)
        assert importing.dry_run(owner, path).persons == ["alex", "sam"]
        with pytest.raises(Refused, match="several people: alex, sam"):
            importing.carry_out(owner, path)
        assert not Fact.objects.exists()
        assert taken(path, person="sam").facts.added == 1
        assert [f["text"] for f in as_json(owner)["facts"]] == ["Likes green tea"]

    @pytest.mark.parametrize(
        ("change", "where"),
        [
            ({"memory": 7}, r"results\[1\]\.memory"),
            ({"id": None}, r"results\[1\]\.id"),
            ({"created_at": "soon"}, r"results\[1\]\.created_at"),
        ],
    )
    def test_a_fault_is_told_with_its_path(self, owner, file, change, where):
        found = read("mem0.json")
        found["results"][1].update(change)
        with pytest.raises(BadFile, match=f"^{where}: "):
            importing.carry_out(owner, file(found))
        assert not Fact.objects.exists()

    def test_one_that_is_too_long_is_refused(self, taken):
        rows = read("mem0.json")["results"][:1]
        rows[0]["memory"] = "word " * 100
        assert taken(rows).refusals[0].why == "A memory has at most 300 characters."
