"""On a server the admin site shows no chats and memories, unless the operator wants it and users are told."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.test import Client

from chat.actions.facts import add_fact
from chat.actions.messages import send_message
from chat.admin.base import LOOKED, ReadOnly

pytestmark = pytest.mark.django_db
TOLD = "can read your chats and memories"
# Tables without anything that people have written.
WITHOUT_CONTENTS = {
    *("Job", "UsageRecord", "ClockReading", "Energy", "ApiToken", "LoginFailure", "IdempotentRequest"),
    *("Deletion", "Tombstone", "OwnerSettings", "PersonQuota", "QuotaUse"),
    *("AccountRequest", "AdminAct", "FirstLink", "Invitation", "Installation", "Process"),
}
MODELS = {m.__name__: m for m in apps.get_app_config("chat").get_models()}


@pytest.fixture
def staff(server_mode, owner, other, logged_in) -> Client:
    other.is_staff = other.is_superuser = True
    other.save()
    send_message(owner, "My therapist is called Rosalind")
    add_fact(owner, "I live in Bergen")
    return logged_in(other)


def address(name: str) -> str:
    return f"/admin/chat/{name.lower()}/"


def test_every_table_says_whether_it_holds_contents():
    for name, model in MODELS.items():
        table = admin.site.get_model_admin(model)
        assert getattr(table, "holds_contents", False) == (name not in WITHOUT_CONTENTS), name
        assert isinstance(table, ReadOnly) or name == "OwnerSettings"


@pytest.mark.parametrize("name", sorted(MODELS.keys() - WITHOUT_CONTENTS))
def test_staff_of_a_server_cannot_open_a_table_with_contents(staff, name):
    assert staff.get(address(name)).status_code == 403
    row = MODELS[name].objects.first()
    if row is not None:
        assert staff.get(f"{address(name)}{row.pk}/change/").status_code == 403


def test_staff_sees_the_other_tables_and_no_trace_of_contents(staff):
    index = staff.get("/admin/").content.decode()
    assert "/admin/chat/job/" in index
    assert "/admin/chat/message/" not in index
    for name in sorted(WITHOUT_CONTENTS):
        page = staff.get(address(name))
        assert page.status_code == 200
        assert "Rosalind" not in page.content.decode()
        assert "Bergen" not in page.content.decode()


def test_staff_cannot_export_somebodys_data(staff, owner):
    page = staff.get(address("OwnerSettings")).content.decode()
    assert "Export all" not in page
    sent = staff.post(
        address("OwnerSettings"), {"action": "export", "_selected_action": [owner.pk]}, follow=True
    )
    assert "Rosalind" not in sent.content.decode()


def test_where_the_operator_wants_it_users_are_told_and_each_look_is_recorded(
    staff, owner, logged_in, settings
):
    assert TOLD not in logged_in(owner).get("/settings/").content.decode()
    settings.ADMIN_READS_CHATS = True
    assert TOLD in logged_in(owner).get("/settings/").content.decode()
    message = MODELS["Message"].objects.first()
    assert "Rosalind" in staff.get(f"{address('Message')}?q=Rosalind").content.decode()
    assert staff.get(f"{address('Message')}{message.pk}/change/").status_code == 200
    looks = LogEntry.objects.filter(action_flag=LOOKED).order_by("pk")
    assert [look.change_message for look in looks] == [
        "Looked at the list, filtered.",
        f"Looked at row {message.pk}.",
    ]
    assert "Rosalind" not in str(list(looks.values()))
    assert staff.get("/admin/").status_code == 200


def test_local_mode_stays_open_and_records_nothing(ours, owner, settings):
    add_fact(owner, "I live in Bergen")
    assert "Bergen" in ours.get(address("Fact")).content.decode()
    assert not LogEntry.objects.exists()
    assert TOLD not in ours.get("/settings/").content.decode()
