"""`/metrics` reports numbers to Prometheus if it is enabled, and only the data of the user who asks."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families

from chat.actions.api_tokens import create_token, revoke_token
from chat.actions.messages import finish_reply, send_message
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
def metrics_enabled(settings):
    """METRICS is on."""
    settings.METRICS = True


@pytest.fixture
def scraper(owner):
    """A client with a token of the owner and no cookies."""
    return Client(headers={"authorization": f"Bearer {create_token(owner, 'prometheus')}"})


def sample_values(answer) -> dict[tuple[str, ...], float]:
    """Return the samples, keyed by name and label values (in the order of the label names)."""
    assert answer.status_code == 200, answer.content
    families = text_string_to_metric_families(answer.content.decode())
    return {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}


@pytest.fixture
def busy(owner, make_fact):
    """One row of everything that is counted."""
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


def test_it_is_off_by_default(settings, ours, scraper):
    assert settings.METRICS is False
    assert ours.get("/metrics").status_code == 404
    assert scraper.get("/metrics").status_code == 404


def test_activity_is_reported_in_numbers(metrics_enabled, scraper, busy):
    told = sample_values(scraper.get("/metrics"))
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


def test_no_text_of_the_user_is_reported(metrics_enabled, scraper, busy):
    assert "secret" not in scraper.get("/metrics").content.decode().lower()


def test_jobs_that_wait_for_energy_are_reported(metrics_enabled, scraper):
    Energy.objects.create(pk=1, level=18, measured_at=timezone.now())
    Job.objects.create(kind="extract", payload={"conversation": "secret"})
    told = sample_values(scraper.get("/metrics"))
    assert told["memoryapp_energy_ratio",] == 0.1
    assert told["memoryapp_energy_low",] == 1
    assert told["memoryapp_jobs_deferred", "extract"] == 1


def test_the_openmetrics_format_can_be_requested(metrics_enabled, scraper, busy):
    answer = scraper.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
    assert {family.name for family in open_families(answer.content.decode())} >= {"memoryapp_model_calls"}


def test_without_activity_counts_are_zero(metrics_enabled, scraper):
    told = sample_values(scraper.get("/metrics"))
    assert told["memoryapp_day_replies",] == 0
    assert ("memoryapp_day_first_token_seconds", "0.5") not in told


class TestLocalModeAccess:
    """In local mode our own page and the address bar may ask, and no page of another site."""

    def test_our_own_page_may_ask(self, metrics_enabled, ours):
        assert ours.get("/metrics").status_code == 200
        assert Client().get("/metrics", headers={"sec-fetch-site": "same-origin"}).status_code == 200

    def test_the_address_bar_may_ask(self, metrics_enabled):
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
    def test_every_other_request_needs_a_token(self, metrics_enabled, owner, headers):
        answer = Client().get("/metrics", headers=headers)
        assert answer.status_code in (401, 403)
        assert answer.headers.get("WWW-Authenticate") == ("Bearer" if answer.status_code == 401 else None)
        assert b"memoryapp_" not in answer.content

    def test_a_revoked_token_is_refused(self, metrics_enabled, scraper):
        revoke_token(ApiToken.objects.get())
        assert scraper.get("/metrics").status_code == 401

    def test_other_methods_are_not_allowed(self, metrics_enabled, scraper):
        assert scraper.post("/metrics").status_code == 405


class TestServerModeAccess:
    """With logins each user sees their own numbers."""

    @pytest.fixture(autouse=True)
    def _server(self, metrics_enabled, server_mode):
        pass

    def test_each_user_sees_their_own_numbers(self, busy, owner, other, logged_in):
        assert sample_values(logged_in(owner).get("/metrics"))["memoryapp_day_replies",] == 1
        assert sample_values(logged_in(other).get("/metrics"))["memoryapp_day_replies",] == 0

    def test_a_token_shows_the_numbers_of_its_owner(self, busy, other, scraper):
        theirs = Client(headers={"authorization": f"Bearer {create_token(other, 'theirs')}"})
        assert sample_values(scraper.get("/metrics"))["memoryapp_messages",] == 2
        assert sample_values(theirs.get("/metrics"))["memoryapp_messages",] == 0

    def test_a_request_without_login_gets_401_and_no_redirect(self, busy):
        answer = Client(headers={"origin": "http://testserver"}).get("/metrics")
        assert answer.status_code == 401

    def test_a_request_from_another_site_is_refused_despite_a_session(self, busy, owner, logged_in):
        client = logged_in(owner)
        headers = {"origin": "https://elsewhere.example", "sec-fetch-site": "cross-site"}
        assert client.get("/metrics", headers=headers).status_code == 403
