"""The memory panel, by htmx and as plain forms."""

from __future__ import annotations

import uuid

import pytest

from chat.actions import deletions
from chat.memory.shown import shown as shown_as
from chat.models import Fact

from .answers import text, triggers

pytestmark = pytest.mark.django_db

AT_LIST = {"hx-target": "memory-list"}


@pytest.fixture
def seen(ours):
    """Returns which of the known facts a panel address shows, in order."""

    def shown(query: str = "") -> list[str]:
        page = ours.get(f"/memory/{query}").content.decode()
        texts = Fact.objects.values_list("text", flat=True)
        places = {t: page.find(f">{shown_as(t)}</a>") for t in texts}
        return sorted((t for t, place in places.items() if place >= 0), key=lambda t: places[t])

    return shown


def test_cards_stand_by_project_preference_identity(known, seen):
    assert seen() == ["User is building a boat", "User likes chess", "User lives in Oslo"]


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
def test_tabs_and_search_choose_the_cards(known, seen, query, shown):
    assert seen(query) == shown


def test_a_search_is_shown_as_text(ours):
    assert "<script>x" not in text(ours.get("/memory/?q=<script>x"))


def test_facts_are_shown_as_text(ours, make_fact):
    make_fact("<img src=x onerror=alert(1)>")
    page = text(ours.get("/memory/"))
    assert "<img src=x" not in page
    assert "&lt;img" in page


def test_what_is_replaced_or_on_its_way_out_is_not_shown(known, seen, owner):
    deletions.forget(owner, [known["chess"].pk])
    Fact.objects.filter(pk=known["oslo"].pk).update(superseded_at="2026-01-01T00:00Z")
    assert seen() == ["User is building a boat"]


@pytest.mark.parametrize(
    ("headers", "has_page", "has_search"),
    [
        ({}, True, True),
        ({"hx-request": "true"}, False, True),
        ({"hx-request": "true", "hx-target": "memory-list"}, False, False),
    ],
)
def test_the_panel_comes_as_a_page_a_sheet_or_a_list(ours, known, headers, has_page, has_search):
    page = text(ours.get("/memory/", headers=headers))
    assert ("<html" in page) is has_page
    assert ('type="search"' in page) is has_search
    assert "Likes chess" in page


def test_an_empty_memory_says_that_it_will_learn(ours, owner):
    assert "No memories yet" in text(ours.get("/memory/"))


def test_the_pill_counts_what_is_known(ours, known, owner):
    assert 'data-count="3"' in text(ours.get("/memory/pill/"))
    deletions.forget(owner, [known["chess"].pk])
    assert 'data-count="2"' in text(ours.get("/memory/pill/"))


@pytest.mark.parametrize(
    ("was", "status", "pulses"), [("2", 200, True), ("3", 204, False), ("4", 200, False)]
)
def test_the_pill_pulses_when_there_was_less_and_rests_when_nothing_is_new(ours, known, was, status, pulses):
    answer = ours.get("/memory/pill/", {"was": was})
    assert (answer.status_code, "pulse" in text(answer)) == (status, pulses)


def test_a_card_that_a_link_leads_to_is_in_the_list_whatever_hides_it(ours, known):
    asked = {"tab": "project", "q": "nothing like it", "found": known["chess"].pk}
    page = text(ours.get("/memory/", asked, headers={"hx-request": "true", "hx-target": "memory-list"}))
    assert "Likes chess" in page
    assert ' found"' in page


class TestAdd:
    """Remember something…"""

    def test_by_htmx_the_list_comes_back_and_memory_changed_is_told(self, ours_htmx, owner):
        answer = ours_htmx.post("/memory/add/", {"text": "I love hiking"})
        assert (answer.status_code, triggers(answer)) == (200, {"memory-changed": {}})
        assert "I love hiking" in text(answer)

    def test_as_a_form_it_leads_back_to_the_panel(self, ours, owner):
        answer = ours.post("/memory/add/", {"text": "I love hiking"})
        assert (answer.status_code, answer.url) == (302, "/memory/")

    def test_what_cannot_be_added_comes_back_in_the_form_with_the_reason(self, ours_htmx, owner):
        long = "x" * 301
        answer = ours_htmx.post("/memory/add/", {"text": long})
        assert answer.status_code == 422
        assert "at most 300 characters" in text(answer)
        assert long in text(answer)

    @pytest.mark.parametrize("given", ["x", "42", "…!", "7 a"])
    def test_what_has_no_word_is_refused_with_a_sentence(self, ours_htmx, owner, given):
        answer = ours_htmx.post("/memory/add/", {"text": given})
        assert answer.status_code == 422
        assert "There is no word in this." in text(answer)
        assert not Fact.objects.exists()

    @pytest.mark.parametrize("given", ["Go", "猫派", "C# and F#"])
    def test_a_short_word_is_a_word(self, ours_htmx, owner, given):
        assert ours_htmx.post("/memory/add/", {"text": given}).status_code == 200

    def test_what_is_known_says_so_and_shows_its_card_whatever_tab_was_open(self, ours_htmx, known):
        answer = ours_htmx.post(
            "/memory/add/", {"text": "user likes CHESS.", "tab": "identity", "q": "oslo"}, headers=AT_LIST
        )
        assert triggers(answer)["toast"]["text"] == "Already remembered."
        assert f'class="card stack found" id="fact-{known["chess"].pk}"' in text(answer)
        assert 'id="q" name="q" value=""' in text(answer)
        assert Fact.objects.count() == 3

    def test_as_a_form_what_is_known_leads_to_its_card(self, ours, known):
        answer = ours.post("/memory/add/", {"text": "User likes chess"}, follow=True)
        assert answer.redirect_chain == [(f"/memory/#fact-{known['chess'].pk}", 302)]
        assert [str(m) for m in answer.context["messages"]] == ["Already remembered."]

    def test_as_a_form_the_reason_is_on_the_next_page(self, ours, owner):
        answer = ours.post("/memory/add/", {"text": " "}, follow=True)
        assert [str(m) for m in answer.context["messages"]] == ["Write what to remember."]


class TestEdit:
    """Quick and full edit."""

    def test_by_htmx_the_card_comes_back_saved(self, ours_htmx, known):
        answer = ours_htmx.post(f"/memory/{known['oslo'].pk}/edit/", {"text": "User lives in Bergen"})
        assert (answer.status_code, triggers(answer)) == (200, {"memory-changed": {}})
        assert "saved" in text(answer)
        assert "Lives in Bergen" in text(answer)

    def test_as_a_form_it_leads_back_to_the_panel(self, ours, known):
        answer = ours.post(f"/memory/{known['oslo'].pk}/edit/", {"text": "User lives in Bergen"})
        assert (answer.status_code, answer.url) == (302, "/memory/")
        assert Fact.objects.filter(text="User lives in Bergen").exists()

    def test_the_quick_form_is_a_line_and_the_full_form_chooses_the_shelf(self, ours_htmx, known):
        address = f"/memory/{known['oslo'].pk}/edit/"
        assert "<textarea" not in text(ours_htmx.get(address))
        full = text(ours_htmx.get(f"{address}?full=1"))
        assert "<textarea" in full
        assert '<option value="identity" selected>' in full

    def test_without_scripts_the_form_is_a_page(self, ours, known):
        page = text(ours.get(f"/memory/{known['oslo'].pk}/edit/"))
        assert "<html" in page
        assert "<textarea" in page

    def test_the_shelf_can_be_changed(self, ours_htmx, known):
        ours_htmx.post(
            f"/memory/{known['oslo'].pk}/edit/", {"text": "User lives in Oslo", "category": "project"}
        )
        assert Fact.objects.get(pk=known["oslo"].pk).category == "project"

    @pytest.mark.parametrize("data", [{"text": ""}, {"text": "x" * 301}, {"text": "a", "category": "secret"}])
    def test_what_cannot_be_saved_comes_back_in_the_form(self, ours_htmx, known, data):
        answer = ours_htmx.post(f"/memory/{known['oslo'].pk}/edit/", data)
        assert answer.status_code == 422
        assert 'role="alert"' in text(answer)
        assert Fact.objects.get(pk=known["oslo"].pk).text == "User lives in Oslo"

    def test_a_fact_on_its_way_out_answers_409_with_a_toast(self, ours_htmx, known, owner):
        deletions.forget(owner, [known["oslo"].pk])
        answer = ours_htmx.post(f"/memory/{known['oslo'].pk}/edit/", {"text": "User lives in Bergen"})
        assert answer.status_code == 409
        assert "being forgotten" in triggers(answer)["toast"]["text"]


@pytest.mark.parametrize("address", ["", "edit/"])
def test_a_forgotten_card_does_not_exist(ours_htmx, known, owner, address):
    deletions.forget(owner, [known["oslo"].pk])
    assert ours_htmx.get(f"/memory/{known['oslo'].pk}/{address}").status_code == 404
    assert ours_htmx.get(f"/memory/{uuid.uuid4()}/{address}").status_code == 404


def test_a_card_shows_what_it_replaced(ours_htmx, make_fact):
    old = make_fact("User lives in Oslo", kind="home", superseded_at="2026-01-01T00:00Z")
    new = make_fact("User lives in Bergen", kind="home", supersedes=old)
    assert "was “Lives in Oslo”" in text(ours_htmx.get(f"/memory/{new.pk}/"))


@pytest.mark.parametrize("address", ["pin/", "delete/"])
def test_looking_at_an_address_that_changes_something_changes_nothing(ours, known, address):
    assert ours.get(f"/memory/{known['oslo'].pk}/{address}").status_code == 405
    assert Fact.objects.live().count() == 3
