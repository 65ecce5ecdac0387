"""Sessions of the Python API are conversations: saved messages are loaded again, per owner."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from chat.actions.messages import finish_reply, send_message
from chat.api import MemoryManager, Message
from chat.llm.scripted import ScriptedProvider
from chat.models import App, Conversation, Job, MemoryMode
from chat.models import Message as Row

from .session_messages import contents_of, make_messages, save_messages

pytestmark = pytest.mark.django_db

CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}


def test_saved_messages_are_loaded_in_order_and_complete(manager):
    session = manager.create_session("You are a calculator.", {"user": "maya", "tags": ["sums"]})
    exchange = [
        Message(role="user", content="1 + 2? \n "),
        Message(role="assistant", content=None, tool_calls=[CALL]),
        Message(role="tool", content="3", tool_call_id="call_1", name="add"),
        Message(role="assistant", content="It is 3."),
    ]
    save_messages(manager, session, *exchange)
    assert manager.load_session(session) == exchange


def test_a_session_is_a_conversation_on_the_page(manager, ours):
    session = manager.create_session()
    save_messages(manager, session, *make_messages("How deep is the Rhine?", "About five metres."))
    page = ours.get(f"/c/{session}/").content.decode()
    assert "<title>How deep is the Rhine?" in page
    assert "About five metres." in page


def test_messages_of_the_page_are_in_the_session_without_unfinished_replies(manager, talk):
    asked, reply = talk("Hello")
    assert contents_of(manager.load_session(str(asked.conversation_id))) == ["Hello"]
    finish_reply(reply, "Good day.", "complete")
    assert contents_of(manager.load_session(str(asked.conversation_id))) == ["Hello", "Good day."]


def test_a_failed_reply_without_text_is_not_in_the_session(manager, talk):
    asked, reply = talk("Hello")
    finish_reply(reply, "", "failed", "No model.")
    assert contents_of(manager.load_session(str(asked.conversation_id))) == ["Hello"]


def test_only_user_messages_are_extracted(manager):
    session = manager.create_session()
    save_messages(
        manager,
        session,
        Message(role="system", content="I live in Rome."),
        *make_messages("I live in Oslo.", "Nice."),
    )
    conversation = Conversation.objects.get(pk=session)
    assert [m.content for m in Row.objects.not_extracted(conversation)] == ["I live in Oslo."]
    assert Job.objects.filter(kind="extract", payload={"conversation": session}).count() == 1


def test_with_memory_off_nothing_is_extracted_later(manager):
    session = manager.create_session()
    Conversation.objects.filter(pk=session).update(memory_mode=MemoryMode.OFF)
    save_messages(manager, session, *make_messages("I live in Oslo."))
    assert not Row.objects.not_extracted(Conversation.objects.get(pk=session)).exists()


def test_sessions_are_listed_with_metadata_and_the_latest_first(manager):
    first = manager.create_session("Be brief.", {"tags": ["a"]})
    second = manager.create_session()
    save_messages(manager, first, *make_messages("Hello", "Hi"))
    listed = manager.list_sessions()
    assert [entry["id"] for entry in listed] == [first, second]
    assert listed[0]["metadata"] == {"tags": ["a"]}
    assert (listed[0]["system_prompt"], listed[0]["title"]) == ("Be brief.", "Hello")
    assert listed[0]["message_count"] == 2
    assert [entry["id"] for entry in manager.list_sessions(limit=1)] == [first]


class TestUnknownSession:
    """Any id can be used as a session."""

    @pytest.mark.parametrize("name", ["user123", "", "00000000-0000-4000-8000-000000000000", "Ü 🙂"])
    def test_an_unknown_id_creates_a_session_and_stays_its_name(self, manager, name, owner):
        assert manager.session_id(name) == ""
        used = manager.save_message(name, make_messages("Hello")[0])
        assert manager.save_message(name, make_messages("Again")[0]) == used
        assert manager.session_id(name) == used
        assert contents_of(MemoryManager().load_session(name)) == ["Hello", "Again"]
        assert contents_of(manager.load_session(used)) == ["Hello", "Again"]
        assert Conversation.objects.for_owner(owner).count() == 1

    def test_loading_an_unknown_session_creates_it_and_logs_that(self, manager, caplog):
        assert manager.load_session("user123") == []
        assert manager.session_id("user123") in caplog.text
        assert len(manager.list_sessions()) == 1

    def test_a_deleted_session_starts_again_empty(self, manager):
        session = manager.create_session()
        save_messages(manager, session, *make_messages("Hello"))
        manager.delete_session(session)
        used = manager.save_message(session, make_messages("Again")[0])
        assert (
            contents_of(manager.load_session(session)) == contents_of(manager.load_session(used)) == ["Again"]
        )

    def test_deleting_an_unknown_session_does_nothing(self, manager):
        manager.delete_session("user123")
        manager.delete_session(str(uuid4()))
        assert manager.list_sessions() == []


class TestOwner:
    """Sessions belong to their owner."""

    def test_the_session_of_another_owner_is_not_found(self, manager, owner, other):
        asked, _ = send_message(other, "A secret")
        theirs = str(asked.conversation_id)
        assert manager.session_id(theirs) == ""
        manager.delete_session(theirs)
        used = manager.save_message(theirs, make_messages("Mine")[0])
        assert used != theirs
        assert contents_of(manager.load_session(theirs)) == ["Mine"]
        assert contents_of(MemoryManager(owner=other).load_session(theirs)) == ["A secret"]
        assert [entry["id"] for entry in manager.list_sessions()] == [used]

    def test_the_same_name_is_another_session_for_another_owner(self, manager, other):
        theirs = MemoryManager(owner=other.username)
        assert manager.save_message("user123", make_messages("Mine")[0]) != theirs.save_message(
            "user123", make_messages("T")[0]
        )
        assert contents_of(manager.load_session("user123")) == ["Mine"]

    def test_pruning_leaves_sessions_of_other_owners(self, manager, other):
        MemoryManager(owner=other).create_session()
        Conversation.objects.update(updated_at=timezone.now() - timedelta(days=99))
        assert manager.prune_old_sessions() == 0

    @pytest.mark.parametrize("days", [0, -1, 0.5, float("nan")])
    def test_pruning_sessions_of_today_is_refused(self, manager, days):
        used = manager.create_session()
        for prune in (manager.prune_old_sessions, lambda d: MemoryManager(auto_prune_days=d)):
            with pytest.raises(ValueError, match="at least 1"):
                prune(days)
        assert manager.session_id(used) == used

    def test_pruning_with_a_very_long_time_deletes_nothing(self, manager):
        manager.create_session()
        assert manager.prune_old_sessions(10**12) == 0

    def test_an_unknown_owner_is_refused(self, owner):
        with pytest.raises(ValueError, match="There is no user called 'nobody'"):
            MemoryManager(owner="nobody")

    def test_in_server_mode_the_owner_is_required(self, server_mode, other):
        with pytest.raises(ValueError, match="owner="):
            MemoryManager()
        assert MemoryManager(owner=other).list_sessions() == []


class TestSettings:
    """Arguments of the constructor."""

    def test_a_disabled_manager_does_nothing(self, owner, tmp_path):
        manager = MemoryManager(tmp_path / "none", enabled=False, auto_prune_days=0)
        assert manager.create_session("x", {}) == manager.save_message("s", make_messages("Hello")[0]) == ""
        assert manager.load_session("s") == manager.get_recent_messages("s") == []
        assert manager.list_sessions() == []
        assert manager.prune_old_sessions(0) == 0
        manager.delete_session("s")
        assert manager.session_id("s") == manager.token_counter == ""
        assert not (tmp_path / "none").exists()
        assert not Conversation.objects.exists()

    def test_the_strategy_is_used_for_new_sessions(self, owner):
        manager = MemoryManager(strategy="simple")
        begun, named = manager.create_session(), manager.save_message("user123", make_messages("Hello")[0])
        assert {Conversation.objects.get(pk=pk).effective_strategy for pk in (begun, named)} == {"simple"}
        App.objects.update(strategy="topics")
        assert Conversation.objects.get(pk=MemoryManager().create_session()).effective_strategy == "topics"

    def test_an_unknown_strategy_is_refused(self, owner):
        with pytest.raises(ValueError, match="hybrid, summarization, simple, topics"):
            MemoryManager(strategy="best")

    def test_old_sessions_are_pruned_at_the_start_if_requested(self, manager):
        old, new = manager.create_session(), manager.create_session()
        Conversation.objects.filter(pk=old).update(updated_at=timezone.now() - timedelta(days=31))
        MemoryManager()
        assert len(manager.list_sessions()) == 2
        MemoryManager(auto_prune_days=30)
        assert [entry["id"] for entry in manager.list_sessions()] == [new]

    def test_one_process_has_one_data_folder(self, owner, settings, tmp_path):
        assert MemoryManager(settings.DATA_DIR).list_sessions() == []
        with pytest.raises(ValueError, match="cannot use"):
            MemoryManager(tmp_path)
        (tmp_path / "memory.db").touch()
        with pytest.raises(ValueError, match="is a file"):
            MemoryManager(tmp_path / "memory.db")


class TestRecentMessages:
    """The newest messages that fit a token limit."""

    def test_without_a_model_four_characters_count_as_a_token(self, manager):
        session = manager.create_session()
        save_messages(manager, session, *make_messages("a" * 40, "b" * 40, "c" * 40))
        assert manager.token_counter == "4 characters a token"
        assert [c[0] for c in contents_of(manager.get_recent_messages(session, 20))] == ["b", "c"]
        assert contents_of(manager.get_recent_messages(session, 9)) == []

    def test_with_a_model_its_tokenizer_counts(self, manager, scripted: ScriptedProvider):
        session = manager.create_session()
        save_messages(manager, session, *make_messages("a" * 40, "b" * 40, "c" * 40))
        assert manager.token_counter == scripted.name
        each = scripted.count_text("a" * 40) + 8
        assert len(manager.get_recent_messages(session, 2 * each)) == 2
        assert len(manager.get_recent_messages(session, 2 * each - 1)) == 1

    def test_the_limit_of_the_manager_is_the_default(self, owner):
        manager = MemoryManager(max_history_tokens=10)
        session = manager.create_session()
        save_messages(manager, session, *make_messages("a" * 40, "b" * 40))
        assert len(manager.get_recent_messages(session)) == 1
        assert len(manager.get_recent_messages(session, 4096)) == 2

    def test_a_tool_call_and_its_result_stay_together(self, manager):
        session = manager.create_session()
        save_messages(
            manager,
            session,
            Message(role="user", content="1 + 2?"),
            Message(role="assistant", tool_calls=[CALL]),
            Message(role="tool", content="3" * 40, tool_call_id="call_1"),
            Message(role="assistant", content="It is 3."),
        )
        assert contents_of(manager.get_recent_messages(session, 15)) == ["It is 3."]
        assert len(manager.get_recent_messages(session, 60)) == 4


def test_a_message_over_the_limit_is_refused_and_not_saved(manager):
    session = manager.create_session()
    with pytest.raises(ValueError, match="Send it in parts"):
        manager.save_message(session, Message(role="user", content="a" * 200_001))
    assert manager.load_session(session) == []


def test_a_time_without_a_zone_is_local_time():
    local = Message(role="user", created_at="2026-03-01 12:00:00").created_at
    assert local.tzinfo is not None
    assert local.hour == 12
