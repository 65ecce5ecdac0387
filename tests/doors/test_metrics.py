"""`/metrics` tells Prometheus numbers, when it is switched on, and only whom they belong to."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families

from chat.actions.messages import finish_reply, send_message
from chat.actions.tokens import create_token, revoke_token
from chat.models import (
    ApiToken,
    AppMemory,
    AppMemoryEvent,
    Energy,
    ExtractionRun,
    Job,
    PromptReport,
    UsageRecord,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def on(settings):
    """The metrics are switched on."""
    settings.METRICS = True


@pytest.fixture
def scraper(owner):
    """A program with a token of the owner's and nothing else."""
    return Client(headers={"authorization": f"Bearer {create_token(owner, 'prometheus')}"})


def numbers(answer) -> dict[tuple[str, ...], float]:
    """Return the samples by name and the values of their labels, by the labels' names."""
    assert answer.status_code == 200, answer.content
    families = text_string_to_metric_families(answer.content.decode())
    return {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}


@pytest.fixture
def busy(owner, make_fact):
    """One of everything that is counted."""
    asked, reply = send_message(owner, "My secret words")
    finish_reply(reply, "Said.", "complete")
    PromptReport.objects.create(reply=reply, facts=["a"], stage=1, first_token_ms=250)
    make_fact("User likes secret words")
    AppMemory.objects.create(owner=owner, app=asked.conversation.app, content="Secret words.")
    for kind in ("add", "evict"):
        AppMemoryEvent.objects.create(owner=owner, app=asked.conversation.app, kind=kind)
    refused = [{"text": "secret", "reason": "secret"}]
    ExtractionRun.objects.create(message=asked, stored=2, reinforced=1, refused=refused)
    for outcome in ("stop", "failed"):
        UsageRecord.objects.create(
            owner=owner,
            purpose="extract",
            lane="background",
            outcome=outcome,
            prompt_tokens=500,
            cached_tokens=400,
            completion_tokens=7,
            energy=1.5,
        )
    return asked


def test_it_is_off_unless_it_is_switched_on(settings, ours, scraper):
    assert settings.METRICS is False
    assert ours.get("/metrics").status_code == 404
    assert scraper.get("/metrics").status_code == 404


def test_what_was_done_is_told_in_numbers(on, scraper, busy):
    told = numbers(scraper.get("/metrics"))
    expected = {
        ("memoryapp_facts", "preference"): 1,
        ("memoryapp_facts", "project"): 0,
        ("memoryapp_app_memories",): 1,
        ("memoryapp_apps",): 1,
        ("memoryapp_apps_with_memories",): 1,
        ("memoryapp_conversations",): 1,
        ("memoryapp_messages",): 2,
        ("memoryapp_day_memories_created", "fact"): 1,
        ("memoryapp_day_memories_created", "app_memory"): 1,
        ("memoryapp_day_replies",): 1,
        ("memoryapp_day_replies_with_memory",): 1,
        ("memoryapp_day_conversations_with_memory",): 1,
        ("memoryapp_day_compactions", "prompt"): 1,
        ("memoryapp_day_compactions", "app_memory"): 1,
        ("memoryapp_day_first_token_seconds", "0.95"): 0.25,
        ("memoryapp_day_extraction_outcomes", "stored"): 2,
        ("memoryapp_day_extraction_outcomes", "refused"): 1,
        ("memoryapp_day_messages_read",): 1,
        ("memoryapp_model_calls_total", "background", "failed", "extract"): 1,
        ("memoryapp_model_tokens_total", "read", "background", "extract"): 200,
        ("memoryapp_model_tokens_total", "cached", "background", "extract"): 800,
        ("memoryapp_model_tokens_total", "written", "background", "extract"): 14,
        ("memoryapp_background_seconds_total", "extract"): 3,
        ("memoryapp_energy_ratio",): 1,
        ("memoryapp_energy_low",): 0,
        ("memoryapp_jobs_deferred", "extract"): 0,
    }
    assert {name: told.get(name) for name in expected} == expected


def test_no_word_of_a_person_is_in_it(on, scraper, busy):
    assert "secret" not in scraper.get("/metrics").content.decode().lower()


def test_what_waits_for_energy_is_told(on, scraper):
    Energy.objects.create(pk=1, level=18, measured_at=timezone.now())
    Job.objects.create(kind="extract", payload={"conversation": "secret"})
    told = numbers(scraper.get("/metrics"))
    assert told["memoryapp_energy_ratio",] == 0.1
    assert told["memoryapp_energy_low",] == 1
    assert told["memoryapp_jobs_deferred", "extract"] == 1


def test_a_scraper_may_ask_for_open_metrics(on, scraper, busy):
    answer = scraper.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    assert {family.name for family in open_families(answer.content.decode())} >= {"memoryapp_model_calls"}


def test_nothing_at_all_is_told_as_zeros(on, scraper):
    told = numbers(scraper.get("/metrics"))
    assert told["memoryapp_day_replies",] == 0
    assert ("memoryapp_day_first_token_seconds", "0.5") not in told


class TestWhoMayAsk:
    """Local mode: this machine's owner, and no page of another site."""

    def test_our_own_page_may(self, on, ours):
        assert ours.get("/metrics").status_code == 200
        assert Client().get("/metrics", headers={"sec-fetch-site": "same-origin"}).status_code == 200

    def test_the_owner_may_from_the_address_bar(self, on):
        assert Client().get("/metrics", headers={"sec-fetch-site": "none"}).status_code == 200

    @pytest.mark.parametrize(
        "headers",
        [
            {},
            {"origin": "https://elsewhere.example"},
            {"origin": "null"},
            {"origin": "http://testserver:8001"},
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},
            {"authorization": "Bearer nonsense"},
            {"authorization": "Basic b3duZXI6"},
        ],
    )
    def test_everybody_else_is_asked_for_a_token(self, on, owner, headers):
        answer = Client().get("/metrics", headers=headers)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert b"memoryapp_" not in answer.content

    def test_a_revoked_token_opens_nothing(self, on, scraper):
        revoke_token(ApiToken.objects.get())
        assert scraper.get("/metrics").status_code == 401

    def test_nothing_but_reading_is_possible(self, on, scraper):
        assert scraper.post("/metrics").status_code == 405


class TestInServerMode:
    """With logins: everybody sees their own numbers."""

    @pytest.fixture(autouse=True)
    def _server(self, on, server_mode):
        pass

    def test_the_owner_sees_theirs_and_another_user_not(self, busy, owner, other, logged_in):
        assert numbers(logged_in(owner).get("/metrics"))["memoryapp_day_replies",] == 1
        assert numbers(logged_in(other).get("/metrics"))["memoryapp_day_replies",] == 0

    def test_a_token_shows_what_belongs_to_its_owner(self, busy, other, scraper):
        theirs = Client(headers={"authorization": f"Bearer {create_token(other, 'theirs')}"})
        assert numbers(scraper.get("/metrics"))["memoryapp_messages",] == 2
        assert numbers(theirs.get("/metrics"))["memoryapp_messages",] == 0

    def test_a_stranger_is_refused_without_being_sent_to_a_login(self, busy):
        answer = Client(headers={"origin": "http://testserver"}).get("/metrics")
        assert answer.status_code == 401

    def test_a_session_is_of_no_use_to_another_sites_page(self, busy, owner, logged_in):
        client = logged_in(owner)
        headers = {"origin": "https://elsewhere.example", "sec-fetch-site": "cross-site"}
        assert client.get("/metrics", headers=headers).status_code == 401
