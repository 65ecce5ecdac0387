"""Queries by time, confidence and type use an index: SQLite's own plan of the query says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

import pytest
from django.db import connection
from django.urls import reverse

from chat.actions import decay, export, quotas
from chat.models import OwnerSettings
from tests.api.rest.conftest import with_token

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "sqlite", reason="the plan is SQLite's"),
]


@pytest.fixture
def plans_of() -> Callable[[Callable[[], Any], str], list[str]]:
    """Return a function that runs some work and returns the plans of its queries that contain a text."""

    def run(work: Callable[[], Any], wanted: str) -> list[str]:
        queries: list[tuple[str, Any]] = []

        def keep(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            queries.append((sql, params))
            return execute(sql, params, many, context)

        with connection.execute_wrapper(keep):
            work()
        chosen = [(sql, params) for sql, params in queries if wanted in sql]
        assert chosen, [sql for sql, _params in queries]
        return [" | ".join(explain(sql, params)) for sql, params in chosen]

    return run


def explain(sql: str, params: Any) -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
        yield from (row[3] for row in cursor.fetchall())


@pytest.fixture
def admin_page(ours, owner) -> Callable[[str, str], None]:
    """Return a function that opens a list of the admin site with these parameters."""

    def open_page(name: str, parameters: str) -> None:
        answer = ours.get(f"{reverse(f'admin:chat_{name}_changelist')}?{parameters}")
        assert answer.status_code == 200

    return open_page


def test_decay_reads_only_the_messages_of_the_days_it_counts(owner, make_fact, plans_of):
    make_fact("User likes tea")
    OwnerSettings.objects.update_or_create(owner=owner, defaults={"faded_through": date(2026, 1, 1)})
    [plan] = plans_of(lambda: decay.apply_decay(owner, date(2026, 1, 3)), "chat_message")
    assert "SEARCH chat_message USING INDEX message_time (created_at>? AND created_at<?)" in plan


def test_the_admin_list_of_messages_is_read_in_the_order_of_their_time(admin_page, plans_of, talk):
    talk("Hello")
    plans = plans_of(lambda: admin_page("message", ""), 'ORDER BY "chat_message"."created_at" DESC')
    assert all("SCAN chat_message USING INDEX message_time" in plan for plan in plans)


def test_the_admin_list_of_facts_is_read_in_the_order_of_confidence(admin_page, plans_of, make_fact):
    make_fact("User likes tea")
    plans = plans_of(lambda: admin_page("fact", "o=4"), 'ORDER BY "chat_fact"."confidence"')
    assert all("SCAN chat_fact USING INDEX fact_confidence" in plan for plan in plans)


def test_the_admin_list_of_facts_searches_a_month_by_the_last_mention(admin_page, plans_of, make_fact):
    make_fact("User likes tea")
    month = "last_seen__year=2026&last_seen__month=3"
    plans = plans_of(lambda: admin_page("fact", month), '"chat_fact"."last_seen" >=')
    assert any("USING INDEX fact_last_seen (last_seen>? AND last_seen<?)" in plan for plan in plans)


def test_an_export_reads_app_memories_in_the_order_of_their_creation(owner, plans_of):
    [plan] = plans_of(lambda: list(export.export_apps(owner)), "chat_appmemory")
    assert "USING INDEX app_memory_created (owner_id=?)" in plan
    assert "TEMP B-TREE FOR ORDER BY" not in plan


def test_the_entities_of_one_type_are_searched_by_type_and_read_in_their_order(owner, plans_of):
    program = with_token(owner)
    plans = plans_of(lambda: program("GET", "entities?type=tool"), "chat_entity")
    for plan in plans:
        assert "USING INDEX entity_type (owner_id=? AND type=?)" in plan
        assert "TEMP B-TREE" not in plan


def test_the_limits_of_a_person_are_counted_by_owner_and_time(owner, plans_of, server_mode):
    server_mode.QUOTA_MODEL_SECONDS_A_DAY = 10
    [plan] = plans_of(lambda: quotas.check_messages(owner), "chat_quotause")
    assert "INDEX quota_use_by_time (owner_id=? AND what=? AND created_at>?)" in plan
    [plan] = plans_of(lambda: quotas.check_model_seconds(owner), "chat_usagerecord")
    assert "USING INDEX usage_record_of_owner (owner_id=? AND created_at>?)" in plan
