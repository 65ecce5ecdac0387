"""The admin site shows every model and can change only the owner's settings."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib import admin
from django.urls import reverse
from django.utils import timezone

from chat.actions import deletions
from chat.actions.api_tokens import create_token
from chat.actions.facts import add_fact
from chat.actions.first_account import make_first_link
from chat.actions.idempotency import CreatedObjects, run_once
from chat.actions.invitations import invite
from chat.actions.logins import record_failed_login
from chat.actions.messages import finish_reply, send_message
from chat.actions.people import sign_up
from chat.actions.prompts import record_prompt
from chat.actions.usage import record_call
from chat.context.prompt import build_prompt
from chat.llm.types import Lane, Usage
from chat.models import (
    AppMemory,
    AppMemoryEvent,
    ClockReading,
    Energy,
    ExtractionRun,
    ImportUpload,
    ImportUploadPart,
    Installation,
    MessageWindow,
    OwnerSettings,
    PersonQuota,
    Process,
    Quotation,
    QuotaUse,
    RequestOutcome,
    Topic,
    TopicArchive,
)

pytestmark = pytest.mark.django_db
MODELS = list(apps.get_app_config("chat").get_models())
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: m.__name__)


@pytest.fixture
def filled(owner, scripted):
    """One row of every model."""
    asked, reply = send_message(owner, "I love hiking.")
    finish_reply(reply, "Nice.", "complete")
    record_prompt(asked.conversation, asked, reply, build_prompt(asked.conversation, asked, scripted), 8192)
    record_call(owner.pk, "reply", Lane.CHAT, Usage(), "stop")
    add_fact(owner, "I love hiking")
    deletions.forget_facts(owner, [add_fact(owner, "I love tea").pk])
    gone = deletions.forget_facts(owner, [add_fact(owner, "I love coffee").pk])
    assert deletions.finish_deletion(gone.pk, gone.expires_at + deletions.UNDO_GRACE)
    ExtractionRun.objects.create(message=asked, stored=1)
    RequestOutcome.objects.create(owner=owner, message=asked, kind="nothing")
    topic = Topic.objects.create(conversation=asked.conversation, title="I love hiking.")
    TopicArchive.objects.create(topic=topic, data=b"packed", count=1, sha256="0" * 64)
    create_token(owner, "script")
    record_failed_login(owner, "192.0.2.7")
    make_first_link()
    sign_up("someone-who-waits", "!")
    # It is recorded as an act of the owner.
    invite(owner, "member", "a friend", "7")
    run_once(owner, "a key", b"a request", lambda: CreatedObjects([]))
    AppMemory.objects.create(owner=owner, app=asked.conversation.app, content="The user loves hiking.")
    AppMemoryEvent.objects.create(owner=owner, app=asked.conversation.app, kind="add")
    Energy.objects.create()
    PersonQuota.objects.create(owner=owner, messages_a_minute=5)
    QuotaUse.objects.create(owner=owner, what=QuotaUse.What.MESSAGE)
    ClockReading.objects.create(read_at=timezone.now(), steady_since=timezone.now())
    Installation.objects.get_or_create(pk=1)
    now = timezone.now()
    Process.objects.create(kind="serve", host="here", pid=1, started_at=now, seen_at=now)
    upload = ImportUpload.objects.create(owner=owner, size=3)
    ImportUploadPart.objects.create(upload=upload, number=0, content=b"{ }")
    MessageWindow.objects.create(owner=owner, message=asked, start=0, end=14, vector=b"")
    Quotation.objects.create(message=asked, source=reply, start=0, end=5, place=0)


def address(model, page: str, *args) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


@every_model
def test_every_model_is_registered_with_its_own_columns(model):
    assert admin.site.is_registered(model)
    assert admin.site.get_model_admin(model).list_display != ("__str__",)


@every_model
def test_every_list_and_every_row_opens(ours, filled, model):
    assert model.objects.exists()
    assert ours.get(address(model, "changelist")).status_code == 200
    assert ours.get(address(model, "change", model.objects.first().pk)).status_code == 200


@every_model
def test_every_list_can_be_browsed_by_date(model):
    assert admin.site.get_model_admin(model).date_hierarchy


@every_model
def test_every_filter_of_every_list_works(ours, filled, model):
    page = ours.get(address(model, "changelist"))
    for spec in page.context["cl"].filter_specs:
        for choice in spec.choices(page.context["cl"]):
            answer = ours.get(address(model, "changelist") + choice["query_string"])
            assert answer.status_code == 200, choice


@every_model
def test_searching_every_list_works(ours, filled, model):
    assert ours.get(address(model, "changelist"), {"q": "hiking"}).status_code == 200


@pytest.mark.parametrize("model", [m for m in MODELS if m is not OwnerSettings], ids=lambda m: m.__name__)
def test_all_other_models_are_read_only(ours, filled, model):
    row = model.objects.first()
    before = list(model.objects.order_by("pk").values())
    assert ours.get(address(model, "add")).status_code == 403
    assert ours.post(address(model, "add"), {}).status_code == 403
    assert ours.post(address(model, "change", row.pk), {"text": "x"}).status_code == 403
    assert ours.post(address(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    ours.post(
        address(model, "changelist"),
        {"action": "delete_selected", "_selected_action": [str(row.pk)], "post": "yes"},
    )
    assert list(model.objects.order_by("pk").values()) == before


def test_the_settings_of_an_owner_can_be_changed(ours, owner):
    answer = ours.post(
        address(OwnerSettings, "change", owner.pk),
        {"owner": owner.pk, "time_zone": "Europe/Oslo", "look_after": 5, "prune_after": 0},
    )
    assert answer.status_code == 302
    assert OwnerSettings.objects.get().time_zone == "Europe/Oslo"


def test_the_hash_of_a_token_is_not_shown(ours, filled):
    from chat.models import ApiToken

    token = ApiToken.objects.get()
    assert token.digest not in ours.get(address(ApiToken, "change", token.pk)).content.decode()


def test_the_history_of_a_fact_is_shown_below_it(ours, filled):
    from chat.models import Fact

    page = ours.get(address(Fact, "change", Fact.objects.get(text="I love hiking").pk)).content.decode()
    assert "learned" in page
