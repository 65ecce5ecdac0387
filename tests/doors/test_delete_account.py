"""A person deletes their account: undoable for eight seconds, and then nothing of it is left."""

from __future__ import annotations

from pathlib import Path

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.apps import apps
from django.conf import settings as django_settings
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from chat.actions import accounts, deletions
from chat.actions.api_tokens import create_token
from chat.actions.facts import add_fact
from chat.actions.idempotency import CreatedObjects, run_once
from chat.actions.logins import record_failed_login
from chat.actions.messages import finish_reply, send_message
from chat.actions.usage import record_call
from chat.errors import Refused
from chat.jobs.maintenance import finish_deletion
from chat.llm.types import Lane, Usage
from chat.models import Conversation, Deletion, Fact, User
from tests.authenticator_app import show_code, switch_on

from .owned_objects import ORIGIN, OwnedObjects

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


@pytest.fixture
def client(server_mode, other, scripted):
    other.set_password(PASSWORD)
    other.save()
    client = Client(headers={"origin": ORIGIN})
    client.post("/login/", {"login": other.username, "password": PASSWORD})
    return client


def give_everything(user) -> OwnedObjects:
    """Give a person a row of everything that belongs to people."""
    made = OwnedObjects.of(user, "Quillowax")
    record_call(user.pk, "reply", Lane.CHAT, Usage(), "stop")
    record_failed_login(user, "192.0.2.3")
    run_once(user, "a key", b"a request", lambda: CreatedObjects([]))
    gone = deletions.forget_facts(user, [add_fact(user, "I love coffee").pk])
    assert deletions.finish_deletion(gone.pk, gone.expires_at + deletions.UNDO_GRACE)
    EmailAddress.objects.create(user=user, email="me@example.org", verified=True, primary=True)
    SocialAccount.objects.create(user=user, provider="oidc-x", uid="person-1")
    switch_on(user)
    return made


def rows_of(user) -> dict[str, int]:
    """Count the rows of all tables that refer to this person."""
    found = {}
    for model in apps.get_models():
        keys = [f for f in model._meta.concrete_fields if f.is_relation and f.related_model is User]
        for key in keys:
            if count := model._base_manager.filter(**{key.name: user.pk}).count():
                found[model.__name__] = count
    return found


def delete(client, **data):
    return client.post("/account/delete/", {"password": PASSWORD, **data}, follow=True)


def finish() -> None:
    deletion = Deletion.objects.get(account=True)
    assert deletions.finish_deletion(deletion.pk, deletion.expires_at + deletions.UNDO_GRACE)


def test_the_page_says_what_goes_and_offers_the_export_first(client):
    page = client.get("/account/delete/").content.decode()
    assert page.index("What is deleted") < page.index("Export first") < page.index('name="password"')
    export = client.post("/settings/export/", {"format": "json"})
    assert export.status_code == 200


def test_nothing_of_a_deleted_account_is_left(client, owner, other):
    give_everything(other)
    made = OwnedObjects.of(owner, "Brindlefen")
    before, uploads = rows_of(owner), Path(django_settings.DATA_DIR) / "imports" / str(other.pk)
    assert uploads.exists()
    names = set(rows_of(other))
    assert names >= {
        "ApiToken",
        "Authenticator",
        "EmailAddress",
        "SocialAccount",
        "UserSession",
        "UsageRecord",
    }
    assert names >= {
        "LoginFailure",
        "IdempotentRequest",
        "OwnerSettings",
        "Fact",
        "Conversation",
        "Tombstone",
    }
    page = delete(client, code=show_code())
    assert "Your account is deleted" in page.content.decode()
    finish()
    assert not User.objects.filter(pk=other.pk).exists()
    assert rows_of(other) == {}
    assert not Session.objects.exists()
    assert client.get("/memory/").url.startswith("/login/")
    # What belongs to others stays as it is.
    assert rows_of(owner) == before
    assert Fact.objects.filter(pk=made.fact.pk).exists()


@pytest.mark.django_db(transaction=True)
def test_uploaded_files_go_too(client, other):
    OwnedObjects.of(other, "Quillowax")
    uploads = Path(django_settings.DATA_DIR) / "imports" / str(other.pk)
    assert uploads.exists()
    delete(client)
    finish()
    assert not uploads.exists()


def test_undo_brings_everything_back(client, other):
    made = give_everything(other)
    before = rows_of(other)
    delete(client, code=show_code())
    assert not Conversation.objects.for_owner(other).listed().exists()
    deletion = Deletion.objects.get(account=True)
    assert client.post(f"/memory/undo/{deletion.pk}/").status_code in (200, 302)
    finish_deletion({"deletion": str(deletion.pk)})
    assert Conversation.objects.not_deleted().filter(pk=made.conversation.pk).exists()
    after = rows_of(other)
    assert {name: after[name] for name in before if name not in ("FactEvent", "Deletion")} == {
        name: before[name] for name in before if name not in ("FactEvent", "Deletion")
    }


def test_what_was_written_while_it_could_be_undone_goes_too(client, other):
    delete(client)
    _, reply = send_message(other, "One more thing.")
    finish_reply(reply, "Yes?", "complete")
    add_fact(other, "I like rye")
    create_token(other, "late")
    finish()
    assert rows_of(other) == {}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"password": "guess"}, "This is not your password."),
        ({"password": ""}, "This is not your password."),
        ({"code": "000000"}, "This code is wrong"),
        ({"code": ""}, "This code is wrong"),
    ],
)
def test_it_needs_the_password_and_the_code(client, other, given, told):
    switch_on(other)
    data = {"password": PASSWORD, "code": show_code(), **given}
    answer = client.post("/account/delete/", data)
    assert answer.status_code == 422
    assert told in answer.content.decode()
    assert not Deletion.objects.exists()


def test_the_last_admin_cannot_go(server_mode, owner, other):
    with pytest.raises(Refused, match="This is the last admin"):
        accounts.delete_account(owner)
    other.is_staff = other.is_superuser = True
    other.is_active = False
    other.save()
    with pytest.raises(Refused, match="This is the last admin"):
        accounts.delete_account(owner)
    other.is_active = True
    other.save()
    # Nobody can log in to an account without a password and without a linked login.
    with pytest.raises(Refused, match="This is the last admin"):
        accounts.delete_account(owner)
    other.set_password(PASSWORD)
    other.save()
    accounts.delete_account(owner)
    # Nor can the two of them go at the same time.
    with pytest.raises(Refused, match="This is the last admin"):
        accounts.delete_account(other)


def test_a_start_after_a_kill_finishes_what_was_asked_for(client, other, clock):
    give_everything(other)
    delete(client, code=show_code())
    clock(60)
    assert deletions.finish_overdue_deletions(timezone.now()) >= 1
    assert rows_of(other) == {}
    assert deletions.finish_overdue_deletions(timezone.now()) == 0


@pytest.mark.parametrize("action", [deletions.erase_account, accounts.delete_account])
def test_somebody_who_never_opened_a_page_can_delete_too(server_mode, owner, action):
    fresh = User.objects.create_user("fresh")
    deletion = action(fresh)
    assert deletions.finish_deletion(deletion.pk, deletion.expires_at + deletions.UNDO_GRACE)


def test_the_name_can_be_used_again(client, other):
    delete(client)
    finish()
    fresh = User.objects.create_user(other.username)
    assert fresh.pk != other.pk
    assert rows_of(fresh) == {}
