"""The memory panel, by htmx and with plain forms."""

from __future__ import annotations

import uuid
from datetime import date

import pytest

from chat.actions import deletions
from chat.memory.formatting import format_for_display as shown_as
from chat.models import Fact

from .responses import text_of, triggered_events

pytestmark = pytest.mark.django_db

AT_LIST = {"hx-target": "memory-list"}


@pytest.fixture
def shown_facts(ours):
    """Return a function that lists the facts that a panel address shows, in order."""

    def shown(query: str = "") -> list[str]:
        page = ours.get(f"/memory/{query}").content.decode()
        texts = Fact.objects.values_list("text", flat=True)
        places = {t: page.find(f">{shown_as(t)}</a>") for t in texts}
        return sorted((t for t, place in places.items() if place >= 0), key=lambda t: places[t])

    return shown


def test_cards_are_ordered_by_project_preference_identity(known, shown_facts):
    assert shown_facts() == ["User is building a boat", "User likes chess", "User lives in Oslo"]


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("?tab=project", ["User is building a boat"]),
        ("?tab=preference", ["User likes chess"]),
        ("?tab=identity", ["User lives in Oslo"]),
        ("?tab=pinned", ["User likes chess"]),
        ("?tab=nonsense", ["User is building a boat", "User likes chess", "User lives in Oslo"]),
        ("?q=CHESS", ["User likes chess"]),
        ("?q=oslo&tab=preference", []),
        ("?q=user+likes", ["User likes chess"]),
        ("?q=%20", ["User is building a boat", "User likes chess", "User lives in Oslo"]),
        ("?q=nothing+like+this", []),
    ],
)
def test_tabs_and_search_filter_the_cards(known, shown_facts, query, shown):
    assert shown_facts(query) == shown


def test_the_search_text_is_escaped(ours):
    assert "<script>x" not in text_of(ours.get("/memory/?q=<script>x"))


def test_facts_are_escaped(ours, make_fact):
    make_fact("<img src=x onerror=alert(1)>")
    page = text_of(ours.get("/memory/"))
    assert "<img src=x" not in page
    assert "&lt;img" in page


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"holds_until": date(2026, 4, 12)}, "until 12 Apr"),
        ({"holds_until": date(2027, 4, 12)}, "until 12 Apr 2027"),
        ({"said_on": date(2024, 11, 20)}, "said in November 2024"),
    ],
)
def test_a_card_tells_until_when_a_fact_holds_and_when_an_age_was_said(ours, make_fact, clock, fields, told):
    make_fact("User's son is 3", **fields)
    page = " ".join(ours.get("/memory/").content.decode().split())
    assert f"· {told}<" in page.replace(" <", "<")


def test_replaced_and_forgotten_facts_are_not_shown(known, shown_facts, owner):
    deletions.forget_facts(owner, [known["chess"].pk])
    Fact.objects.filter(pk=known["oslo"].pk).update(superseded_at="2026-01-01T00:00Z")
    assert shown_facts() == ["User is building a boat"]


@pytest.mark.parametrize(
    ("headers", "has_page", "has_search"),
    [
        ({}, True, True),
        ({"hx-request": "true"}, False, True),
        ({"hx-request": "true", "hx-target": "memory-list"}, False, False),
    ],
)
def test_the_panel_comes_as_a_page_a_sheet_or_a_list(ours, known, headers, has_page, has_search):
    page = text_of(ours.get("/memory/", headers=headers))
    assert ("<html" in page) is has_page
    assert ('type="search"' in page) is has_search
    assert "Likes chess" in page


def test_an_empty_memory_says_so(ours, owner):
    assert "No memories yet" in text_of(ours.get("/memory/"))


def test_the_pill_counts_the_facts(ours, known, owner):
    assert 'data-count="3"' in text_of(ours.get("/memory/pill/"))
    deletions.forget_facts(owner, [known["chess"].pk])
    assert 'data-count="2"' in text_of(ours.get("/memory/pill/"))


@pytest.mark.parametrize(
    ("was", "status", "pulses"), [("2", 200, True), ("3", 204, False), ("4", 200, False)]
)
def test_the_pill_pulses_only_when_the_count_has_grown(ours, known, was, status, pulses):
    answer = ours.get("/memory/pill/", {"was": was})
    assert (answer.status_code, "pulse" in text_of(answer)) == (status, pulses)


def test_a_linked_card_is_listed_despite_filters(ours, known):
    asked = {"tab": "project", "q": "nothing like it", "found": known["chess"].pk}
    page = text_of(ours.get("/memory/", asked, headers={"hx-request": "true", "hx-target": "memory-list"}))
    assert "Likes chess" in page
    assert ' found"' in page


class TestAdd:
    """The form "Remember something…"."""

    def test_adding_by_htmx_returns_the_list_and_reports_the_change(self, ours_htmx, owner):
        answer = ours_htmx.post("/memory/add/", {"text": "I love hiking"})
        assert (answer.status_code, triggered_events(answer)) == (200, {"memory-changed": {}})
        assert "I love hiking" in text_of(answer)

    def test_as_a_form_it_leads_back_to_the_panel(self, ours, owner):
        answer = ours.post("/memory/add/", {"text": "I love hiking"})
        assert (answer.status_code, answer.url) == (302, "/memory/")

    def test_a_refused_text_comes_back_in_the_form_with_the_reason(self, ours_htmx, owner):
        long = "x" * 301
        answer = ours_htmx.post("/memory/add/", {"text": long})
        assert answer.status_code == 422
        assert "at most 300 characters" in text_of(answer)
        assert long in text_of(answer)

    @pytest.mark.parametrize("given", ["x", "42", "…!", "7 a"])
    def test_a_text_without_a_word_is_refused_with_a_message(self, ours_htmx, owner, given):
        answer = ours_htmx.post("/memory/add/", {"text": given})
        assert answer.status_code == 422
        assert "This contains no words. Write what to remember as a sentence." in text_of(answer)
        assert not Fact.objects.exists()

    @pytest.mark.parametrize("given", ["Go", "猫派", "C# and F#"])
    def test_a_short_word_is_accepted(self, ours_htmx, owner, given):
        assert ours_htmx.post("/memory/add/", {"text": given}).status_code == 200

    def test_a_known_fact_says_so_and_shows_its_card_on_any_tab(self, ours_htmx, known):
        answer = ours_htmx.post(
            "/memory/add/", {"text": "user likes CHESS.", "tab": "identity", "q": "oslo"}, headers=AT_LIST
        )
        assert triggered_events(answer)["toast"]["text"] == "Already remembered."
        assert f'class="card stack found" id="fact-{known["chess"].pk}"' in text_of(answer)
        assert 'id="q" name="q" value=""' in text_of(answer)
        assert Fact.objects.count() == 3

    def test_adding_a_known_fact_by_form_leads_to_its_card(self, ours, known):
        answer = ours.post("/memory/add/", {"text": "User likes chess"}, follow=True)
        assert answer.redirect_chain == [(f"/memory/#fact-{known['chess'].pk}", 302)]
        assert [str(m) for m in answer.context["messages"]] == ["Already remembered."]

    def test_a_refusal_of_the_form_is_shown_on_the_next_page(self, ours, owner):
        answer = ours.post("/memory/add/", {"text": " "}, follow=True)
        assert [str(m) for m in answer.context["messages"]] == ["Write what to remember."]


class TestEdit:
    """The quick and the full form that edit a fact."""

    def test_saving_by_htmx_returns_the_card(self, ours_htmx, known):
        answer = ours_htmx.post(f"/memory/{known['oslo'].pk}/edit/", {"text": "User lives in Bergen"})
        assert (answer.status_code, triggered_events(answer)) == (200, {"memory-changed": {}})
        assert "saved" in text_of(answer)
        assert "Lives in Bergen" in text_of(answer)

    def test_as_a_form_it_leads_back_to_the_panel(self, ours, known):
        answer = ours.post(f"/memory/{known['oslo'].pk}/edit/", {"text": "User lives in Bergen"})
        assert (answer.status_code, answer.url) == (302, "/memory/")
        assert Fact.objects.filter(text="User lives in Bergen").exists()

    def test_the_quick_form_is_one_line_and_the_full_form_has_the_category(self, ours_htmx, known):
        address = f"/memory/{known['oslo'].pk}/edit/"
        assert "<textarea" not in text_of(ours_htmx.get(address))
        full = text_of(ours_htmx.get(f"{address}?full=1"))
        assert "<textarea" in full
        assert '<option value="identity" selected>' in full

    def test_without_javascript_the_form_is_a_page(self, ours, known):
        page = text_of(ours.get(f"/memory/{known['oslo'].pk}/edit/"))
        assert "<html" in page
        assert "<textarea" in page

    def test_the_category_can_be_changed(self, ours_htmx, known):
        ours_htmx.post(
            f"/memory/{known['oslo'].pk}/edit/", {"text": "User lives in Oslo", "category": "project"}
        )
        assert Fact.objects.get(pk=known["oslo"].pk).category == "project"

    @pytest.mark.parametrize("data", [{"text": ""}, {"text": "x" * 301}, {"text": "a", "category": "secret"}])
    def test_invalid_input_comes_back_in_the_form(self, ours_htmx, known, data):
        answer = ours_htmx.post(f"/memory/{known['oslo'].pk}/edit/", data)
        assert answer.status_code == 422
        assert 'role="alert"' in text_of(answer)
        assert Fact.objects.get(pk=known["oslo"].pk).text == "User lives in Oslo"

    def test_a_fact_that_is_being_forgotten_answers_409_with_a_toast(self, ours_htmx, known, owner):
        deletions.forget_facts(owner, [known["oslo"].pk])
        answer = ours_htmx.post(f"/memory/{known['oslo'].pk}/edit/", {"text": "User lives in Bergen"})
        assert answer.status_code == 409
        assert "being forgotten" in triggered_events(answer)["toast"]["text"]


@pytest.mark.parametrize("address", ["", "edit/"])
def test_a_forgotten_card_is_not_found(ours_htmx, known, owner, address):
    deletions.forget_facts(owner, [known["oslo"].pk])
    assert ours_htmx.get(f"/memory/{known['oslo'].pk}/{address}").status_code == 404
    assert ours_htmx.get(f"/memory/{uuid.uuid4()}/{address}").status_code == 404


def test_a_card_shows_what_it_replaced(ours_htmx, make_fact):
    old = make_fact("User lives in Oslo", kind="home", superseded_at="2026-01-01T00:00Z")
    new = make_fact("User lives in Bergen", kind="home", supersedes=old)
    assert "was “Lives in Oslo”" in text_of(ours_htmx.get(f"/memory/{new.pk}/"))


@pytest.mark.parametrize("address", ["pin/", "delete/"])
def test_a_get_request_to_an_action_changes_nothing(ours, known, address):
    assert ours.get(f"/memory/{known['oslo'].pk}/{address}").status_code == 405
    assert Fact.objects.live().count() == 3
