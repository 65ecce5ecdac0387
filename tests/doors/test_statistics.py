"""The statistics page shows the owner's own counts, and the machine's energy to every user."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions.messages import finish_reply, send_message
from chat.models import AppMemory, AppMemoryEvent, Energy, ExtractionRun, Job, PromptReport, UsageRecord

from .responses import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def exchange(owner):
    """Return a function that makes an answered message with its prompt report."""

    def make(conversation=None, *, user=owner, ago=timedelta(), **report):
        asked, reply = send_message(user, "How long is the Rhine?", conversation)
        finish_reply(reply, "1,230 kilometres.", "complete")
        PromptReport.objects.create(reply=reply, window=4096, created_at=timezone.now() - ago, **report)
        return asked

    return make


def record_usage(user, purpose="reply", lane="chat", **fields):
    return UsageRecord.objects.create(
        owner=user, purpose=purpose, lane=lane, outcome=fields.pop("outcome", "stop"), **fields
    )


def visible_text(answer) -> str:
    return " ".join(re.sub("<[^>]*>", " ", text_of(answer)).split())


def row(answer, label: str) -> list[str]:
    """Return the non-empty cells of the table row with this label."""
    for line in re.findall(r"<tr>(.*?)</tr>", answer.content.decode(), re.S):
        cells = [
            " ".join(re.sub("<.*?>", "", c).split()) for c in re.findall(r"<t[hd].*?</t[hd]>", line, re.S)
        ]
        if cells[0] == label:
            return [cell for cell in cells[1:] if cell]
    raise AssertionError(label)


def test_an_empty_page_says_so_and_shows_the_energy(ours):
    page = visible_text(ours.get("/statistics/"))
    assert "Nothing to count yet." in page
    assert "Energy for background work: 100 %. Nothing waits." in page


def test_new_memories_are_shown_with_their_rate(ours, owner, clock, make_fact):
    now = clock(0)
    make_fact("User likes tea", first_seen=now - timedelta(hours=2))
    make_fact("User likes jazz", first_seen=now - timedelta(days=3))
    app = send_message(owner, "Hi")[0].conversation.app
    AppMemory.objects.create(owner=owner, app=app, content="The Rhine.")
    AppMemoryEvent.objects.create(owner=owner, app=app, kind="add")
    # The current hour has just begun, so 23 hours have passed.
    day = visible_text(ours.get("/statistics/"))
    assert "New 2 0.09 an hour" in day
    assert "Apps with memories 1 of 1 100 %" in day
    assert "New 3" in visible_text(ours.get("/statistics/?span=month"))


def test_the_share_of_replies_and_chats_with_memories_is_shown(ours, exchange):
    first = exchange(facts=["a"], sections={"memory": 12})
    exchange(first.conversation, facts=[], sections={"memory": 0, "note": 0})
    exchange(facts=[], sections={})
    exchange(facts=["a"], ago=timedelta(days=2))
    page = visible_text(ours.get("/statistics/"))
    assert "With memories 1 of 3 replies 33 %" in page
    assert "Chats with memories 1 of 2 50 %" in page


def test_compactions_are_shown_per_app(ours, exchange, clock):
    clock(0)
    asked = exchange(stage=1)
    exchange(asked.conversation, stage=2)
    exchange(asked.conversation)
    answer = ours.get("/statistics/?span=month")
    assert row(answer, "General") == ["0", "0", "3", "2"]
    assert "Prompts compacted 2 67 %" in visible_text(answer)
    assert "App memories compacted 0 0 an app a day" in visible_text(answer)


def test_app_memories_are_counted_when_written_even_if_they_are_evicted_later(ours, owner, clock):
    clock(0)
    app = send_message(owner, "Hi")[0].conversation.app
    for kind, number in {"add": 12, "update": 5, "absorb": 1, "evict": 2}.items():
        for _ in range(number):
            AppMemoryEvent.objects.create(owner=owner, app=app, kind=kind)
    answer = ours.get("/statistics/?span=month")
    assert "New 13" in visible_text(answer)
    assert "App memories compacted 3 0.10 an app a day" in visible_text(answer)
    assert row(answer, "General") == ["0", "3", "0", "0"]


def test_background_work_is_shown_in_seconds_per_hour_and_as_a_share_of_the_time(ours, owner, clock):
    clock(0)
    record_usage(owner, "extract", "background", energy=230)
    record_usage(owner, "extract", "background", energy=0, outcome="failed")
    record_usage(owner, "reply", energy=0)
    answer = ours.get("/statistics/")
    assert "10.0 seconds an hour, 0.3 % of the time" in visible_text(answer)
    assert row(answer, "Reading messages") == ["2", "1", "230.0 s"]
    assert row(answer, "Replies") == ["1", "0", "0.0 s"]


def test_tokens_read_and_cached_are_shown(ours, owner):
    record_usage(owner, prompt_tokens=1000, cached_tokens=900, completion_tokens=50)
    page = visible_text(ours.get("/statistics/"))
    assert "100 read, 900 from the cache" in page
    assert "90 % from the cache, 50 written" in page


def test_the_time_to_the_first_word_is_shown_as_percentiles(ours, exchange):
    chat = None
    for ms in [400] * 18 + [1000, 5000]:
        chat = exchange(chat, first_token_ms=ms).conversation
    assert "half within 0.40 s, 19 of 20 within 1.00 s" in visible_text(ours.get("/statistics/"))


def test_extraction_outcomes_are_shown(ours, exchange):
    asked = exchange()
    no = {"text": "x", "reason": "not said"}
    ExtractionRun.objects.create(message=asked, stored=2, reinforced=1, refused=[no, no, no])
    ExtractionRun.objects.create(message=asked, ended=1, error="The model gave no answer.")
    answer = ours.get("/statistics/")
    assert "Messages read 2" in visible_text(answer)
    told = {name: row(answer, name) for name in ("Learned", "Known already", "No longer true", "Refused")}
    assert told == {
        "Learned": ["2"],
        "Known already": ["1"],
        "No longer true": ["1"],
        "Refused": ["3"],
    }
    assert row(answer, "Errors") == ["1"]


def test_each_chart_has_a_name_and_a_description_and_a_table(ours, owner, clock, make_fact):
    now = clock(0)
    make_fact("User likes tea", first_seen=now - timedelta(hours=2))
    answer = ours.get("/statistics/")
    page = answer.content.decode()
    assert page.count('role="img"') == page.count("<figcaption") >= 3
    assert "<title" in page
    assert "Facts: at most 1, 03/01/2026 10 a.m.</desc>" in page
    assert row(answer, "03/01/2026 10 a.m.") == ["1", "0"]


def test_the_number_of_queries_does_not_grow_with_the_data(
    ours, exchange, owner, django_assert_max_num_queries
):
    chat = None
    for n in range(12):
        chat = exchange(chat, ago=timedelta(hours=n), first_token_ms=300, facts=["a"]).conversation
        record_usage(owner, "extract", "background", energy=1, created_at=timezone.now() - timedelta(hours=n))
    with django_assert_max_num_queries(16):
        ours.get("/statistics/")


def test_each_user_sees_only_their_own_counts(server_mode, owner, other, logged_in, exchange, make_fact):
    exchange(facts=["a"], stage=1)
    make_fact("User likes tea")
    record_usage(owner, "extract", "background", energy=3)
    assert "Nothing to count yet." in visible_text(logged_in(other).get("/statistics/"))
    assert "Nothing to count yet." not in visible_text(logged_in(owner).get("/statistics/"))


class TestGauge:
    """The gauge shows the energy and what waits for it."""

    @pytest.fixture
    def low(self, clock):
        now = clock(0)
        Energy.objects.create(pk=1, level=0, measured_at=now)
        for _ in range(3):
            Job.objects.create(kind="extract", run_after=now)

    def test_the_gauge_is_on_every_page_and_links_to_the_statistics(self, ours):
        for page in ("/", "/settings/", "/memory/"):
            body = ours.get(page).content.decode()
            assert 'id="gauge" href="/statistics/"' in body
            assert 'aria-valuenow="100"' in body
            assert "data-full" not in body

    def test_it_says_what_waits_and_until_when(self, ours_htmx, low):
        body = ours_htmx.get("/statistics/energy/").content.decode()
        assert 'title="Background work waits until 12:12 p.m.: reading messages (3)."' in body
        assert "data-full" in body

    def test_it_does_not_say_which_data_the_jobs_are_about(self, server_mode, other, logged_in, low):
        Job.objects.update(payload={"conversation": "secret"}, owner=other)
        Energy.objects.update(owner=other)
        page = logged_in(other).get("/statistics/").content.decode()
        assert "reading messages (3)" in page
        assert "secret" not in page

    def test_a_person_sees_their_own_energy_and_jobs(self, server_mode, owner, other, logged_in, low):
        Job.objects.update(owner=owner)
        Energy.objects.update(owner=owner)
        page = logged_in(other).get("/statistics/").content.decode()
        assert "reading messages" not in page
        assert 'aria-valuenow="100"' in page

    def test_without_htmx_its_url_leads_to_the_page(self, ours):
        assert ours.get("/statistics/energy/").url == "/statistics/"

    def test_it_takes_two_queries(self, ours_htmx, low, django_assert_max_num_queries):
        ours_htmx.get("/statistics/energy/")
        # One more query each for the user and their settings.
        with django_assert_max_num_queries(4):
            ours_htmx.get("/statistics/energy/")
