"""A damaged row is logged and left out; its session stays usable."""

from __future__ import annotations

import logging

import pytest
from django.db import connection

from chat.models import Message as Row

from .session_messages import contents_of, make_messages, save_messages

pytestmark = pytest.mark.django_db


def damage(table: str, column: str, value: str | bytes, where: str) -> None:
    """Write an invalid value past all checks of the database."""
    written = "CAST(%s AS TEXT)" if isinstance(value, bytes) else "%s"
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA ignore_check_constraints = ON")
        cursor.execute(f"UPDATE chat_{table} SET {column} = {written} WHERE {where}", [value])  # noqa: S608
        cursor.execute("PRAGMA ignore_check_constraints = OFF")


class TestDamage:
    """A damaged row is logged and skipped."""

    @pytest.fixture
    def session(self, manager):
        session = manager.create_session()
        save_messages(manager, session, *make_messages("One", "Two", "Three"))
        return session

    @pytest.mark.parametrize(
        ("column", "value"),
        [
            ("tool_calls", '{"id": '),
            ("tool_calls", '"no list"'),
            ("role", "'robot'"),
            ("content", b"\xff\xfe"),
            ("created_at", "2026-13-45 00:00:00"),
            ("created_at", "yesterday"),
            ("topic_id", "no key"),
        ],
    )
    def test_a_damaged_message_is_left_out(self, manager, session, caplog, column, value):
        damage("message", column, value, "content = 'Two'")
        with caplog.at_level(logging.ERROR):
            assert contents_of(manager.load_session(session)) == ["One", "Three"]
        assert "cannot be read and is left out" in caplog.text
        assert manager.save_message(session, make_messages("Four")[0]) == session
        assert contents_of(manager.load_session(session)) == ["One", "Three", "Four"]
        manager.delete_session(session)
        assert not Row.objects.exists()

    def test_damaged_metadata_of_a_session_is_left_out(self, manager, session, caplog):
        damage("conversation", "metadata", "{", "title = 'One'")
        assert [(entry["id"], entry["metadata"]) for entry in manager.list_sessions()] == [(session, {})]
        assert "metadata" in caplog.text
        assert contents_of(manager.load_session(session)) == ["One", "Two", "Three"]

    def test_a_session_with_damaged_dates_is_left_out(self, manager, session, caplog):
        whole = manager.create_session()
        damage("conversation", "ended_at", "2026-13-45 00:00:00", "title = 'One'")
        assert [entry["id"] for entry in manager.list_sessions()] == [whole]
        assert f"session {session} cannot be read" in caplog.text
