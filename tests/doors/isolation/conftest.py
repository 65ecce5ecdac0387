"""The objects of two users, and callers of every kind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.conf import settings as django_settings
from django.utils import timezone

from chat.actions.api_tokens import create_token
from chat.actions.facts import add_fact
from chat.actions.invitations import invite
from chat.actions.people import approve, sign_up
from chat.api.openai import event_stream
from chat.models import Deletion, Entity, ExtractionRun, Fact, Invitation, PromptReport
from tests.doors.owned_objects import OwnedObjects
from tests.full_token import create_full_token
from tests.past_chats.conftest import _multilingual_embedder, embedder, index_all  # noqa: F401 - fixtures

from .callers import Caller

# A word that nothing else contains: all texts of the owner do.
MARK = "Quillowax"
MARK_OF_THE_OTHER = "Brindlefen"


def make_ids(user: Any, mark: str) -> dict[str, str]:
    """Create one object of each kind for a user; return their ids by the names that entries use."""
    made = OwnedObjects.of(user, mark)
    another = add_fact(user, f"I use {mark}.")
    refused = [{"text": f"Refused {mark}", "reason": "question"}]
    ExtractionRun.objects.create(message=made.asked, stored=1, refused=refused)
    PromptReport.objects.filter(reply=made.reply).update(facts=[str(made.fact.pk)])
    heard = {"archived_at": timezone.now(), "heard_once": True}
    Fact.objects.filter(pk=add_fact(user, f"Heard {mark}").pk).update(**heard)
    for kind in (Authenticator.Type.TOTP, Authenticator.Type.RECOVERY_CODES):
        data = {"secret": "A" * 32, "seed": "0" * 80, "used_mask": 0}
        Authenticator.objects.create(user=user, type=kind, data=data)
    # Only the invitations of an admin who can log in are valid.
    user.set_password("a person's password")
    user.save()
    # The time to undo must not end during the test.
    Deletion.objects.for_owner(user).update(expires_at=timezone.now() + timedelta(days=1))
    waiting = sign_up(f"waiting for {user.pk}", "!")
    member = sign_up(f"member {user.pk}", "!")
    approve(user, member)
    invitation_link = invite(user, "member", f"by {user.pk}", "7")
    found = {
        "conversation": made.conversation.pk,
        "message": made.asked.pk,
        "reply": made.reply.pk,
        "fact": made.fact.pk,
        "another_fact": another.pk,
        "archived_fact": made.archived_fact.pk,
        "event": made.fact.events.first().pk,
        "deletion": made.deletion.pk,
        "topic": made.topic.pk,
        "entity": Entity.objects.for_owner(user).filter(name__contains=mark).first().pk,
        "app": made.app.pk,
        "slug": made.app.slug,
        "app_memory": made.app_memory.pk,
        "upload": made.upload,
        "token": made.token.pk,
        "question": made.question.pk,
        "quotation": made.quotation.pk,
        "waiting": waiting.pk,
        "member": member.pk,
        "invitation": Invitation.objects.get(inviter=user).pk,
        "invitation_link": invitation_link,
        "session": UserSession.objects.create(user=user, ip="192.0.2.1", session_key=f"session-{user.pk}").pk,
    }
    return {name: str(key) for name, key in found.items()}


@pytest.fixture
def ids(server_mode: Any, owner: Any, scripted: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The ids of the owner's objects, in server mode with all that can be configured, and without a limit of
    invalid tokens.
    """
    server_mode.METRICS = server_mode.HAS_EMAIL = True
    server_mode.SIGNUP = "approval"
    server_mode.OIDC_ISSUER, server_mode.OIDC_CLIENT_ID = "http://127.0.0.1:9", "memoryapp"
    monkeypatch.setattr("chat.accounts.TOKEN_FAILURES", "100000/m/ip")
    return make_ids(owner, MARK)


@pytest.fixture
def other_ids(ids: Any, other: Any) -> dict[str, str]:
    """The ids of another user's objects."""
    return make_ids(other, MARK_OF_THE_OTHER)


@pytest.fixture
def keep_upload(ids: dict[str, str]) -> Callable[[], None]:
    """Return a function that puts the owner's uploaded file back where a request has removed it."""
    [path] = Path(django_settings.DATA_DIR).rglob(ids["upload"])
    text = path.read_bytes()

    def put_back() -> None:
        path.write_bytes(text)

    return put_back


@pytest.fixture
def make_caller(owner: Any, other: Any) -> Callable[[str], Caller]:
    """Return a function that makes a caller from a description: "the owner by login", "staff by token"."""

    def make(name: str) -> Caller:
        who, _, how = name.partition(" by ")
        user = owner if who == "the owner" else other
        if who == "staff":
            other.is_staff = other.is_superuser = True
            other.save()
        if how == "login":
            return Caller.by_login(user)
        return Caller.by_token((create_full_token if how == "full token" else create_token)(user, name))

    return make


@pytest.fixture(autouse=True)
def _short_stream_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the check of streams, which is asked dozens of times here, send its lines at once."""
    monkeypatch.setattr(event_stream, "CHECK_PAUSE_SECONDS", 0.0)
