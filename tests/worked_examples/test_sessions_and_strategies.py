"""The worked examples of the design for sessions and strategies: agent, strategies, commands, settings."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import OperationalError
from django.utils import timezone

from chat.api import MemoryManager, Message
from chat.api import manager as manager_module
from chat.api.sessions import Sessions
from chat.models import Conversation
from chat.models import Message as Row
from memoryapp.base.env import ROOT
from tests.api.session_messages import contents_of, make_messages, save_messages
from tests.scripted_summary import summarise_turns
from tests.terminal.conftest import type_lines

pytestmark = pytest.mark.django_db

SETTINGS = {"enabled": True, "max_history_tokens": 4096, "auto_prune_days": 30, "strategy": "simple"}


def estimate_tokens(message: Message) -> int:
    """The example for token estimation: about four characters are a token, arguments of tools count."""
    text = message.content or ""
    if message.tool_calls:
        for tc in message.tool_calls:
            text += json.dumps(tc["arguments"])
    return len(text) // 4


def talk(count: int) -> list[Message]:
    """Return so many messages of ten tokens each."""
    return make_messages(
        *(f"so it goes, line {'abcdefghij'[n % 10]} {n} ".ljust(40, ".") for n in range(count))
    )


class TestMemoryManager:
    """The seven methods, called as the design declares them."""

    def test_a_session_is_created_with_a_uuid_and_keeps_prompt_and_metadata(self, manager):
        session_id = manager.create_session(
            system_prompt="You are helpful.", metadata={"user": "maya", "tags": ["first"]}
        )
        assert str(UUID(session_id)) == session_id
        [listed] = manager.list_sessions(limit=10)
        assert listed["id"] == session_id
        assert listed["system_prompt"] == "You are helpful."
        assert listed["metadata"] == {"user": "maya", "tags": ["first"]}
        assert listed["created_at"] <= listed["updated_at"]

    def test_a_message_of_each_role_is_loaded_as_it_was_saved(self, manager):
        session_id = manager.create_session("", {})
        call = {"id": "call_1", "name": "add", "arguments": {"a": 1, "b": 2}}
        history = [
            Message(role="system", content="Be exact."),
            Message(role="user", content="1 + 2?"),
            Message(role="assistant", content=None, tool_calls=[call]),
            Message(role="tool", content="3", tool_call_id="call_1", name="add"),
            Message(role="assistant", content="It is 3."),
        ]
        save_messages(manager, session_id, *history)
        assert manager.load_session(session_id) == history
        assert manager.get_recent_messages(session_id, max_tokens=4096) == history

    def test_ten_sessions_are_listed_by_default(self, manager):
        for number in range(12):
            manager.create_session("", {"number": number})
        assert [entry["metadata"]["number"] for entry in manager.list_sessions()] == [*range(11, 1, -1)]

    def test_a_deleted_session_is_gone_with_all_its_messages(self, manager):
        session_id = manager.create_session("", {})
        save_messages(manager, session_id, *talk(4))
        assert manager.delete_session(session_id) is None
        assert (manager.list_sessions(), Row.objects.count()) == ([], 0)

    def test_sessions_older_than_thirty_days_are_pruned_and_counted(self, manager):
        old, older, new = (manager.create_session("", {}) for _ in range(3))
        for days, session_id in ((31, old), (99, older), (29, new)):
            changed = timezone.now() - timedelta(days=days)
            Conversation.objects.filter(pk=session_id).update(updated_at=changed)
        assert manager.prune_old_sessions(days=30) == 2
        assert [entry["id"] for entry in manager.list_sessions()] == [new]


class AgentState:
    """The messages of an agent."""

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages

    def add_user_message(self, query: str) -> None:
        self.messages.append(Message(role="user", content=query))


class Agent:
    """The design's class: it loads a session's history, and saves each question and each response."""

    def __init__(
        self, llm, tools, memory_manager: MemoryManager | None = None, session_id: str | None = None
    ):
        self.llm = llm
        self.memory = memory_manager
        self.session_id = session_id
        if self.memory and self.session_id:
            self.state = AgentState(self.memory.load_session(self.session_id))
        else:
            self.state = AgentState([])

    async def run(self, query: str) -> str:
        self.state.add_user_message(query)
        await self._save()
        response = self.llm(self.state.messages)
        self.state.messages.append(Message(role="assistant", content=response))
        await self._save()
        return response

    async def _save(self) -> None:
        # The design calls it in the event loop; `MemoryManager` writes to a database and asks for a thread.
        if self.memory:
            await asyncio.to_thread(self.memory.save_message, self.session_id, self.state.messages[-1])


def count_questions(messages: list[Message]) -> str:
    """Stand for a model: say how many questions the agent knows."""
    return f"That was question {sum(m.role == 'user' for m in messages)}."


@pytest.mark.django_db(transaction=True)
class TestAgent:
    """An agent continues where another one stopped."""

    def test_an_agent_continues_the_session_of_an_earlier_one(self, manager):
        session_id = manager.create_session("You are helpful.", {})
        first = Agent(count_questions, [], memory_manager=manager, session_id=session_id)
        assert asyncio.run(first.run("How deep is the Rhine?")) == "That was question 1."
        second = Agent(count_questions, [], memory_manager=MemoryManager(), session_id=session_id)
        assert asyncio.run(second.run("And how long?")) == "That was question 2."
        assert contents_of(manager.load_session(session_id)) == [
            "How deep is the Rhine?",
            "That was question 1.",
            "And how long?",
            "That was question 2.",
        ]

    def test_an_agent_without_memory_works_and_stores_nothing(self, manager):
        agent = Agent(count_questions, [])
        assert asyncio.run(agent.run("How deep is the Rhine?")) == "That was question 1."
        assert manager.list_sessions() == []


class TestSimpleWindowing:
    """`simple`: the most recent messages that fit."""

    @staticmethod
    def get_recent_messages(messages: list[Message], max_tokens: int) -> list[Message]:
        """The example code, with the last hundred messages already loaded."""
        result = []
        total_tokens = 0
        for msg in messages[-100:]:  # Oldest to newest
            tokens = estimate_tokens(msg)
            if total_tokens + tokens > max_tokens:
                break
            result.append(msg)
            total_tokens += tokens
        return result

    @pytest.fixture
    def session_id(self, owner):
        session_id = MemoryManager(strategy="simple").create_session("", {})
        save_messages(MemoryManager(), session_id, *talk(30))
        return session_id

    @pytest.mark.parametrize("max_tokens", [300, 4096])
    def test_what_fits_is_what_the_example_code_returns(self, manager, session_id, max_tokens):
        history = manager.load_session(session_id)
        assert manager.get_recent_messages(session_id, max_tokens) == history
        assert self.get_recent_messages(history, max_tokens) == history

    @pytest.mark.parametrize("max_tokens", [0, 9, 10, 95, 100, 299])
    def test_above_the_limit_the_newest_stay(self, manager, session_id, max_tokens):
        history = manager.load_session(session_id)
        as_many = len(self.get_recent_messages(history, max_tokens))
        # The example code keeps the oldest; the design's text says the newest. designs.md, 1.11, has both.
        assert manager.get_recent_messages(session_id, max_tokens) == history[len(history) - as_many :]


class TestSummarization:
    """`summarization`: a summary, then the twenty newest messages."""

    @pytest.fixture
    def manager(self, owner, scripted):
        scripted.default_completion = summarise_turns
        return MemoryManager(strategy="summarization")

    @staticmethod
    def get_context_with_summary(history: list[Message], summary: str) -> list[tuple[str, str]]:
        """The example code where the history exceeds the limit, as roles and texts."""
        recent_msgs = history[-20:]
        context = [Message(role="system", content=f"Previous context: {summary}"), *recent_msgs]
        return [(m.role, m.content) for m in context]

    def test_a_history_within_the_limit_is_returned_as_it_is(self, manager):
        session_id = manager.create_session("", {})
        save_messages(manager, session_id, *talk(45))
        assert manager.get_recent_messages(session_id, 4096) == manager.load_session(session_id)

    def test_a_longer_history_is_a_summary_and_its_last_twenty_messages(self, manager):
        session_id = manager.create_session("", {})
        save_messages(manager, session_id, *talk(45))
        context = manager.get_recent_messages(session_id, 600)
        summary = Conversation.objects.get(pk=session_id).summary
        assert summary.startswith("The user: so it goes")
        assert [(m.role, m.content) for m in context] == self.get_context_with_summary(
            manager.load_session(session_id), summary
        )


def test_hybrid_keeps_what_its_four_rules_name(owner, scripted, program):
    scripted.default_completion = summarise_turns
    manager = MemoryManager(strategy="hybrid")
    session_id = manager.create_session("", {})
    system = Message(role="system", content="Answer in rhymes.")
    decision = Message(role="user", content="We decided to pay 1,500 euros on 3 May.")
    flagged = Message(role="assistant", content="so it goes, and this one was marked by hand.")
    routine = talk(60)
    save_messages(manager, session_id, system, routine[0], routine[1], decision, flagged, *routine[2:])
    program("PATCH", f"messages/{Row.objects.get(seq=5).pk}", {"flagged": True})
    summary, *kept = manager.get_recent_messages(session_id, 600)
    assert (summary.role, summary.content.startswith("Previous context: ")) == ("system", True)
    assert contents_of(kept[:3]) == [system.content, decision.content, flagged.content]
    newest = kept[3:]
    assert len(newest) >= 10
    assert contents_of(newest) == contents_of(routine[-len(newest) :])


class TestTokenEstimation:
    """Without a model, four characters are a token; the last token may have fewer."""

    @pytest.mark.parametrize(("characters", "tokens"), [(4, 1), (40, 10), (16_384, 4096)])
    def test_a_text_takes_as_many_tokens_as_in_the_example_code(self, manager, characters, tokens):
        message = Message(role="user", content="a" * characters)
        assert estimate_tokens(message) == tokens
        session_id = manager.create_session("", {})
        manager.save_message(session_id, message)
        assert len(manager.get_recent_messages(session_id, tokens)) == 1
        assert manager.get_recent_messages(session_id, tokens - 1) == []

    def test_the_arguments_of_tools_count(self, manager):
        call = {"name": "write", "arguments": {"text": "a" * 400}}
        message = Message(role="assistant", content="", tool_calls=[call])
        session_id = manager.create_session("", {})
        manager.save_message(session_id, message)
        assert manager.get_recent_messages(session_id, estimate_tokens(message)) == []
        # The names and marks around the arguments count too.
        assert len(manager.get_recent_messages(session_id, estimate_tokens(message) + 20)) == 1


class TestErrorHandling:
    """Four errors, each with what the design does about it."""

    def test_session_not_found_creates_a_new_session_automatically(self, manager):
        manager.save_message("never-created", Message(role="user", content="Hello"))
        assert contents_of(manager.load_session("never-created")) == ["Hello"]
        assert len(manager.list_sessions()) == 1

    @pytest.mark.django_db(transaction=True)
    def test_a_locked_database_is_tried_again_with_growing_pauses(self, manager, monkeypatch):
        session_id = manager.create_session("", {})
        save, attempts = Sessions.save, []
        pauses: list[float] = []

        def refuse_three_times(*args):
            attempts.append(args)
            if len(attempts) <= 3:
                raise OperationalError("database is locked")
            return save(*args)

        monkeypatch.setattr(Sessions, "save", refuse_three_times)
        monkeypatch.setattr(manager_module.random, "uniform", lambda low, high: 1.0)
        monkeypatch.setattr(manager_module.time, "sleep", pauses.append)
        manager.save_message(session_id, Message(role="user", content="Hello"))
        assert pauses == [0.05, 0.1, 0.2]
        assert contents_of(manager.load_session(session_id)) == ["Hello"]

    def test_token_limit_exceeded_falls_back_to_the_most_recent_messages(self, manager):
        session_id = manager.create_session("", {})
        save_messages(manager, session_id, *talk(30))
        assert contents_of(manager.get_recent_messages(session_id, 50)) == contents_of(talk(30)[-5:])

    def test_corrupted_data_is_logged_and_the_rest_is_used(self, manager, caplog):
        session_id = manager.create_session("", {})
        save_messages(manager, session_id, *make_messages("One", "Two", "Three"))
        Row.objects.filter(content="Two").update(tool_calls="no list of calls")
        assert contents_of(manager.load_session(session_id)) == ["One", "Three"]
        assert "cannot be read and is left out" in caplog.text


class TestConfiguration:
    """The settings of the example file, as arguments of `MemoryManager`."""

    def test_the_settings_of_the_example_are_accepted_and_apply(self, owner, settings):
        manager = MemoryManager(storage_path=settings.DATA_DIR, **SETTINGS)
        session_id = manager.create_session("", {})
        save_messages(manager, session_id, *make_messages("a" * 8000, "b" * 8000, "c" * 8000))
        # Two of 2,000 tokens each fit into 4,096; `simple` adds no summary.
        assert [text[0] for text in contents_of(manager.get_recent_messages(session_id))] == ["b", "c"]
        Conversation.objects.update(updated_at=timezone.now() - timedelta(days=31))
        MemoryManager(**SETTINGS)
        assert not Conversation.objects.exists()

    def test_the_data_is_at_the_path_of_the_example(self, tmp_path):
        # Here the path names a folder: "In Python, without the web" lists the arguments.
        script = (
            "from chat.api import MemoryManager, Message\n"
            "memory = MemoryManager(storage_path='~/.harombe/memory.db')\n"
            "memory.save_message('one', Message(role='user', content='Hello'))\n"
            "print(memory.load_session('one')[0].content)\n"
        )
        env = {k: v for k, v in os.environ.items() if k not in ("DJANGO_SETTINGS_MODULE", "DATA_DIR")}
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**env, "HOME": str(tmp_path)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "Hello\n"), done.stderr
        assert any((tmp_path / ".harombe" / "memory.db").glob("*.sqlite3"))

    @pytest.mark.parametrize("strategy", ["simple", "summarization", "hybrid"])
    def test_each_strategy_of_the_example_is_accepted(self, owner, strategy):
        session_id = MemoryManager(strategy=strategy).create_session("", {})
        assert Conversation.objects.get(pk=session_id).effective_strategy == strategy

    def test_enabled_false_stores_nothing(self, owner):
        manager = MemoryManager(**{**SETTINGS, "enabled": False})
        manager.save_message("one", Message(role="user", content="Hello"))
        assert not Conversation.objects.exists()


class TestCommands:
    """The six commands of the terminal, with what the design says about each."""

    @pytest.fixture
    def terminal(self, talk_of, owner):
        """A terminal in which two chats were begun."""
        terminal = talk_of(owner)
        type_lines(terminal, "About bread", "/new", "About boats")
        return terminal

    def test_sessions_lists_recent_conversation_sessions(self, terminal):
        shown = type_lines(terminal, "/sessions")
        assert shown.index("About boats") < shown.index("About bread")

    def test_load_loads_and_continues_a_previous_session(self, terminal):
        assert type_lines(terminal, "/load bread") == "About bread\n› About bread\n  Understood.\n"
        type_lines(terminal, "More")
        assert Row.objects.filter(conversation__title="About bread").count() == 4

    def test_save_says_that_all_is_saved_already(self, terminal):
        # Messages are saved at once, so nothing is left to force: designs.md, 1.26.
        assert "saved already" in type_lines(terminal, "/save")

    def test_history_shows_the_conversation_history_of_the_current_session(self, terminal):
        assert type_lines(terminal, "/history") == "› About boats\n  Understood.\n"

    def test_clear_clears_the_history_but_keeps_it_in_the_database(self, terminal, scripted):
        type_lines(terminal, "/clear", "And now?")
        assert "About boats" not in str(scripted.calls[-1].turns)
        assert Row.objects.filter(conversation__title="About boats").count() == 4
        assert "› About boats" in type_lines(terminal, "/history")

    def test_forget_deletes_the_current_session_from_memory(self, terminal):
        type_lines(terminal, "/forget")
        shown = type_lines(terminal, "/sessions")
        assert "About boats" not in shown
        assert "About bread" in shown
