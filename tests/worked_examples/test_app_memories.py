"""The worked examples of the design for app memories: prompt, interface, decisions, errors, scenarios."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from django.utils import timezone

from chat.actions import app_memories, energy
from chat.errors import ProviderError, Unfinished
from chat.jobs.runner import run_due
from chat.llm import time_limit
from chat.llm.scripted import Reply
from chat.llm.types import Usage
from chat.models import App, AppMemory, Energy, Job, UsageRecord

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("immediate_app_memories")]

MEETINGS = "User prefers meetings after 2pm on weekdays."
PHOENIX = 'User is working on a project called "Phoenix" with deadline Nov 1.'
DATABASE = "User experienced database connection issues, resolved by restarting service."
# What a user says, and the memory that a model writes of it.
SAID = 'I am working on a project called "Phoenix" with deadline Nov 1. My sister Ewa helps me.'
WRITTEN = 'The user is working on a project called "Phoenix" with deadline Nov 1. Their sister Ewa helps.'
MOVED = "The user moved the deadline of the project Phoenix to Nov 15."


@pytest.fixture
def calendar(owner, program):
    """The app of the examples; "General" is another one."""
    program("POST", "apps", {"name": "Calendar"})
    return App.objects.get(slug="calendar")


@pytest.fixture
def add_memory(owner, calendar):
    """Return a function that stores a memory of the app, created and changed at a time."""

    def add(content: str, when: str, **fields) -> AppMemory:
        moment = datetime.fromisoformat(when)
        return AppMemory.objects.create(
            **{"owner": owner, "app": calendar, **fields},
            content=content,
            created_at=moment,
            updated_at=moment,
        )

    return add


@pytest.fixture
def open_chat(program):
    """Return a function that begins a conversation in an app with a message; it returns the path."""

    def begin(app: str, text: str, *, reply: bool = True) -> str:
        path = f"conversations/{program('POST', 'conversations', {'app': app}).json()['id']}"
        program("POST", f"{path}/messages", {"content": text, "reply": reply})
        return path

    return begin


@pytest.fixture
def end_chat(program, scripted):
    """Return a function that ends a conversation; the model then writes this memory about it."""

    def end(path: str, written: Reply = WRITTEN) -> None:
        assert program("POST", f"{path}/end").json() == {"ended": True}
        # Memories are written after the facts were extracted.
        Job.objects.filter(kind="extract").delete()
        scripted.app_memories.append(written)
        run_due({"app_memory"})

    return end


def list_memories(program, app: str = "calendar") -> list[str]:
    """Return the texts that the interface lists for an app, in its order."""
    return [memory["content"] for memory in program("GET", f"apps/{app}/memories").json()["memories"]]


@pytest.mark.django_db(transaction=True)
class TestScenarios:
    """The six scenarios of the design's test strategy, run through the REST API."""

    def test_it_creates_a_memory_when_a_conversation_ends(self, program, calendar, open_chat, end_chat):
        end_chat(open_chat("calendar", SAID))
        [memory] = program("GET", "apps/calendar/memories").json()["memories"]
        assert memory["content"] == WRITTEN
        assert AppMemory.objects.get().content == WRITTEN

    def test_it_includes_memories_in_the_context_of_the_same_app(self, add_memory, open_chat, scripted):
        add_memory(MEETINGS, "2025-10-10T14:30Z")
        open_chat("calendar", "When should we meet?")
        assert MEETINGS in scripted.calls[-1].turns[0].content

    def test_it_isolates_memories_between_apps(self, add_memory, open_chat, scripted):
        add_memory(MEETINGS, "2025-10-10T14:30Z")
        open_chat("general", "When should we meet?")
        assert not any(MEETINGS in turn.content for turn in scripted.calls[-1].turns)

    def test_it_compacts_memories_when_the_limit_is_reached(self, program, calendar, open_chat, end_chat):
        subjects = ["bread", "tents", "taxes", "ferries", "violins", "bees", "chess", "glass", "maps", "wool"]
        subjects.append("roofs")
        for count, subject in enumerate(subjects, start=1):
            said = f"I would like to know everything about {subject}, please tell me all of it."
            end_chat(open_chat("calendar", said, reply=False), f"The user wants to know about {subject}.")
            assert len(list_memories(program)) == min(count, 10)
        assert list_memories(program)[0] == "The user wants to know about roofs."

    def test_it_retains_memories_after_the_app_is_uninstalled(self, program, add_memory):
        add_memory(MEETINGS, "2025-10-10T14:30Z")
        assert program("POST", "apps/calendar/archive", {}).status_code == 200
        assert list_memories(program) == [MEETINGS]

    def test_it_purges_memories_on_request(self, program, add_memory):
        add_memory(MEETINGS, "2025-10-10T14:30Z")
        program("DELETE", "apps/calendar/memories")
        assert list_memories(program) == []


@pytest.mark.django_db(transaction=True)
def test_the_context_has_the_format_of_the_example(add_memory, open_chat, scripted):
    add_memory(DATABASE, "2025-10-08T09:00Z")
    add_memory(MEETINGS, "2025-10-10T09:00Z")
    add_memory(PHOENIX, "2025-10-09T09:00Z")
    open_chat("calendar", "What is next?")
    assert (
        scripted.calls[-1]
        .turns[0]
        .content.endswith(
            "(memories for app: Calendar)\n"
            "The following are memories from previous conversations with this app:\n"
            "\n"
            "1. [Created: 2025-10-10] User prefers meetings after 2pm on weekdays.\n"
            '2. [Created: 2025-10-09] User is working on a project called "Phoenix" with deadline Nov 1.\n'
            "3. [Created: 2025-10-08] User experienced database connection issues, resolved by restarting "
            "service.\n"
            "\n"
            "Use these memories to provide context-aware responses."
        )
    )


class TestAdminInterface:
    """The three endpoints, with the members and values of the examples; addresses begin with /api."""

    def test_get_lists_the_memories_of_an_app(self, program, add_memory):
        memory = add_memory("...", "2025-10-10T14:30Z")
        answer = program("GET", "/api/apps/calendar/memories").json()
        assert answer.keys() == {"memories"}
        # An id is a UUID here.
        assert (
            answer["memories"][0].items()
            >= {
                "id": str(memory.pk),
                "content": "...",
                "createdAt": "2025-10-10T14:30:00Z",
                "updatedAt": "2025-10-10T14:30:00Z",
            }.items()
        )

    def test_the_last_changed_memory_comes_first_and_ten_at_most(self, program, add_memory):
        for day in range(1, 11):
            add_memory(f"Day {day}.", f"2025-10-{day:02}T14:30Z")
        AppMemory.objects.filter(content="Day 3.").update(updated_at=timezone.now())
        assert list_memories(program) == ["Day 3.", *(f"Day {n}." for n in (10, 9, 8, 7, 6, 5, 4, 2, 1))]

    def test_delete_purges_all_memories_of_an_app(self, program, add_memory):
        for day in range(1, 9):
            add_memory(f"Day {day}.", f"2025-10-{day:02}T14:30Z")
        answer = program("DELETE", "/api/apps/calendar/memories").json()
        assert answer.items() >= {"success": True, "deletedCount": 8}.items()
        assert list_memories(program) == []

    def test_delete_deletes_a_specific_memory(self, program, add_memory):
        add_memory("Kept.", "2025-10-09T14:30Z")
        memory = add_memory("...", "2025-10-10T14:30Z")
        answer = program("DELETE", f"/api/apps/calendar/memories/{memory.pk}").json()
        assert answer["success"] is True
        assert list_memories(program) == ["Kept."]

    @pytest.mark.parametrize("purge_memories", [False, True])
    def test_an_app_is_uninstalled_with_or_without_its_memories(self, program, add_memory, purge_memories):
        add_memory(MEETINGS, "2025-10-10T14:30Z")
        program("POST", "apps/calendar/archive", {"purge": purge_memories})
        assert list_memories(program) == ([] if purge_memories else [MEETINGS])


class TestCreation:
    """What the model is asked, and what is stored."""

    def test_the_model_reads_both_sides_and_its_memory_has_metadata(
        self, program, calendar, open_chat, end_chat, scripted
    ):
        path = open_chat("calendar", SAID, reply=False)
        reply = {"content": "I will plan it backwards from Nov 1.", "role": "assistant"}
        program("POST", f"{path}/messages", reply)
        end_chat(path)
        [asked] = [call for call in scripted.calls if call.slot == "app_memory"]
        assert f"User: {SAID}\nAssistant: {reply['content']}" in asked.turns[-1].content
        assert "two to four short sentences" in asked.turns[0].content
        [memory] = program("GET", "apps/calendar/memories").json()["memories"]
        assert memory["sourceConversationId"] == path.removeprefix("conversations/")
        assert 0 <= memory["metadata"]["importance"] <= 10
        assert "phoenix" in memory["metadata"]["tags"]
        assert memory["metadata"]["related_conversations"] == []
        assert program("GET", path).json()["app"] == "calendar"

    def test_a_memory_has_about_200_characters_at_most(self, program, calendar, open_chat, end_chat):
        end_chat(open_chat("calendar", SAID, reply=False), f"{WRITTEN} {WRITTEN} {WRITTEN}")
        assert len(f"{WRITTEN} {WRITTEN}") < 200
        assert list_memories(program) == [f"{WRITTEN} {WRITTEN}"]


@pytest.fixture
def full(ten_memories, calendar):
    """Ten memories of the app, the oldest first; the third is about the project."""
    AppMemory.objects.update(app=calendar)
    ten_memories[2].content = PHOENIX
    ten_memories[2].save(update_fields=["content"])
    return ten_memories


@pytest.fixture
def add_eleventh(open_chat, end_chat, scripted):
    """Return a function that adds another memory while the model decides so; returns the chat's path."""

    def add(decision: str | Exception) -> str:
        scripted.app_choices.append(decision)
        said = "The deadline of my project Phoenix moved from Nov 1 to Nov 15, please note that."
        path = open_chat("calendar", said, reply=False)
        end_chat(path, MOVED)
        return path

    return add


class TestCompaction:
    """The two decisions about eleven memories. The model writes "delete 4" for the JSON of the example,
    because a grammar restricts that to what is possible: designs.md, 3.10.
    """

    def test_the_model_sees_all_eleven(self, full, add_eleventh, scripted):
        add_eleventh("delete 4")
        [asked] = [call for call in scripted.calls if call.slot == "app_choice"]
        listed = [f"{n}. {memory.content}" for n, memory in enumerate(full, 1)]
        assert asked.turns[-1].content == "\n".join([*listed, f"New: {MOVED}"])

    def test_delete_removes_the_target(self, program, full, add_eleventh):
        add_eleventh("delete 4")
        assert full[3].content not in list_memories(program)
        assert list_memories(program)[0] == MOVED
        assert len(list_memories(program)) == 10

    def test_edit_gives_the_target_its_merged_content(self, program, full, add_eleventh):
        add_eleventh("edit 3")
        assert list_memories(program)[0] == f"{PHOENIX} {MOVED}"
        assert len(list_memories(program)) == 10

    @pytest.mark.parametrize(
        "decision",
        [
            ProviderError("verbatim", sentence="The server is away."),
            "delete 99",
            '{"action": "delete", "targetMemoryId": 4, "reason": "It is outdated."}',
        ],
        ids=["an error of the model", "an invalid decision", "another format"],
    )
    def test_an_error_or_an_invalid_decision_falls_back_to_the_oldest(
        self, program, full, add_eleventh, decision
    ):
        add_eleventh(decision)
        assert full[0].content not in list_memories(program)
        assert full[3].content in list_memories(program)
        assert len(list_memories(program)) == 10


class TestCreationFailures:
    """What goes wrong while a memory is created changes nothing else."""

    def test_after_an_error_of_the_model_the_conversation_still_ends(
        self, program, calendar, open_chat, end_chat, caplog
    ):
        path = open_chat("calendar", SAID, reply=False)
        end_chat(path, ProviderError("verbatim", sentence="The server is away."))
        assert program("GET", path).json()["ended_at"] is not None
        assert list_memories(program) == []
        assert "the app memory could not be written" in caplog.text
        assert not Job.objects.filter(kind="app_memory").exists()

    @pytest.mark.parametrize(("errors", "stored"), [(1, [WRITTEN]), (2, [])])
    def test_an_error_of_the_database_is_logged_and_tried_once_more(
        self, program, calendar, open_chat, end_chat, monkeypatch, caplog, errors, stored
    ):
        store, attempts = app_memories.store_app_memory, []

        def refuse_first(*args):
            attempts.append(args)
            if len(attempts) <= errors:
                raise OperationalError("database is locked")
            return store(*args)

        monkeypatch.setattr(app_memories, "store_app_memory", refuse_first)
        end_chat(open_chat("calendar", SAID, reply=False))
        assert (list_memories(program), len(attempts)) == (stored, 2)
        assert "the app memory could not be stored, trying again" in caplog.text
        # The job is not skipped after two errors but runs again later: designs.md, 3.21.
        assert Job.objects.filter(kind="app_memory").exists() is (errors == 2)

    def test_after_thirty_seconds_the_memory_is_skipped(
        self, program, calendar, open_chat, end_chat, monkeypatch
    ):
        timer = Mock()
        monkeypatch.setattr(time_limit.threading, "Timer", timer)

        def work_too_long(turns):
            seconds, stop_model = timer.call_args.args
            assert seconds == 30
            stop_model()
            raise Unfinished(Usage(worked_seconds=29.0))

        end_chat(open_chat("calendar", SAID, reply=False), work_too_long)
        assert list_memories(program) == []
        assert not Job.objects.filter(kind="app_memory").exists()


class TestEnergy:
    """A unit is a second of model time: what a memory costs, and when it waits."""

    def test_a_creation_costs_what_the_model_takes_for_it(self, calendar, open_chat, end_chat, scripted):
        scripted.seconds = lambda call: 12.0
        before = energy.read_level(timezone.now())
        end_chat(open_chat("calendar", SAID, reply=False))
        assert before - energy.read_level(timezone.now()) == pytest.approx(12, abs=0.5)
        assert UsageRecord.objects.get(purpose="app_memory").energy == 12

    def test_with_a_compaction_it_costs_both_calls(self, full, add_eleventh, scripted):
        scripted.seconds = lambda call: 12.0
        before = energy.read_level(timezone.now())
        add_eleventh("delete 4")
        assert before - energy.read_level(timezone.now()) == pytest.approx(24, abs=0.5)

    @pytest.mark.parametrize(("percent", "runs"), [(5, False), (20, False), (21, True), (100, True)])
    def test_it_runs_only_above_twenty_percent(
        self, program, calendar, open_chat, end_chat, clock, percent, runs
    ):
        Energy.objects.create(pk=1, level=1.8 * percent, measured_at=clock(0))
        end_chat(open_chat("calendar", SAID, reply=False))
        assert list_memories(program) == ([WRITTEN] if runs else [])
        Job.objects.update(run_after=clock(timedelta(hours=1).total_seconds()))
        run_due({"app_memory"})
        assert list_memories(program) == [WRITTEN]


@pytest.mark.django_db(transaction=True)
class TestLog:
    """The log lines of the example, with their ids and counts and without icons."""

    @pytest.fixture
    def find_line(self, caplog):
        """Return a function that returns the one record with this message."""
        caplog.set_level(logging.INFO)

        def find(message: str):
            [line] = [record for record in caplog.records if record.message.startswith(message)]
            return line

        return find

    def test_creation_names_app_and_conversation(self, calendar, open_chat, end_chat, find_line):
        path = open_chat("calendar", SAID, reply=False)
        end_chat(path)
        line = find_line("app memory created")
        assert (line.app, line.conversation) == (str(calendar.pk), path.removeprefix("conversations/"))

    def test_compaction_names_app_action_and_target(self, calendar, full, add_eleventh, find_line):
        add_eleventh("delete 4")
        line = find_line("app memories compacted: one deleted")
        assert (line.app, line.app_memory) == (str(calendar.pk), str(full[3].pk))

    @pytest.mark.usefixtures("scripted")
    def test_retrieval_has_the_count(self, calendar, add_memory, open_chat, find_line):
        add_memory(MEETINGS, "2025-10-10T14:30Z")
        add_memory(PHOENIX, "2025-10-09T14:30Z")
        open_chat("calendar", "What is next?")
        line = find_line("app memories retrieved for a prompt")
        assert (line.count, line.app) == (2, str(calendar.pk))

    def test_an_error_names_the_conversation_and_says_what_happened(
        self, calendar, open_chat, end_chat, find_line
    ):
        path = open_chat("calendar", SAID, reply=False)
        end_chat(path, ProviderError("verbatim", sentence="The server is away."))
        line = find_line("the app memory could not be written")
        assert line.conversation == path.removeprefix("conversations/")
        assert "The server is away." in line.message
