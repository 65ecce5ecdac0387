"""Pinning and forgetting a memory, by htmx and with plain forms."""

from __future__ import annotations

import pytest

from chat.actions import deletions
from chat.actions import facts as actions
from chat.models import Deletion, Fact

from .responses import text_of, triggered_events

pytestmark = pytest.mark.django_db

AT_LIST = {"hx-target": "memory-list"}


class TestPin:
    """Pinning; at most ten memories can be pinned."""

    def test_pinning_toggles_and_returns_the_list(self, ours_htmx, known):
        address = f"/memory/{known['oslo'].pk}/pin/"
        answer = ours_htmx.post(address)
        assert (answer.status_code, triggered_events(answer)) == (200, {"memory-changed": {}})
        assert Fact.objects.get(pk=known["oslo"].pk).pinned
        ours_htmx.post(address)
        assert not Fact.objects.get(pk=known["oslo"].pk).pinned

    def test_the_list_stays_on_the_open_tab(self, ours_htmx, known):
        answer = ours_htmx.post(f"/memory/{known['oslo'].pk}/pin/", {"tab": "identity"})
        assert "Lives in Oslo" in text_of(answer)
        assert "Likes chess" not in text_of(answer)

    @pytest.fixture
    def full(self, known, make_fact):
        """Ten pinned memories; the one about chess was pinned first but learned last."""
        actions.pin_fact(known["chess"], False)
        actions.pin_fact(known["chess"], True)
        for i in range(9):
            actions.pin_fact(make_fact(f"User likes number {i}", first_seen="2020-01-01T00:00Z"), True)
        return known

    def test_the_eleventh_pin_offers_to_unpin_the_oldest_on_its_card(self, ours_htmx, full):
        answer = ours_htmx.post(f"/memory/{full['oslo'].pk}/pin/")
        assert answer.status_code == 422
        assert answer.headers["HX-Retarget"] == f"#fact-{full['oslo'].pk}"
        assert "10 memories are pinned" in text_of(answer)
        assert "Unpin the oldest, “Likes chess”?" in text_of(answer)
        assert not Fact.objects.get(pk=full["oslo"].pk).pinned

    def test_by_form_the_offer_is_shown_on_the_panel(self, ours, full):
        answer = ours.post(f"/memory/{full['oslo'].pk}/pin/")
        assert answer.status_code == 409
        assert "<html" in text_of(answer)
        assert text_of(answer).count("Unpin the oldest, “Likes chess”?") == 1

    @pytest.mark.parametrize("client", ["ours", "ours_htmx"])
    def test_accepting_the_offer_unpins_the_oldest_and_pins_the_new_one(self, request, full, client):
        page = request.getfixturevalue(client)
        answer = page.post(f"/memory/{full['oslo'].pk}/pin/", {"instead": str(full["chess"].pk)})
        assert answer.status_code in (200, 302)
        assert Fact.objects.get(pk=full["oslo"].pk).pinned
        assert not Fact.objects.get(pk=full["chess"].pk).pinned
        assert Fact.objects.filter(pinned=True).count() == 10

    def test_the_offer_skips_a_pin_that_is_being_forgotten(self, ours_htmx, full, owner):
        deletions.forget_facts(owner, [full["chess"].pk])
        assert "Unpin the oldest, “Likes number 0”?" in text_of(
            ours_htmx.post(f"/memory/{full['oslo'].pk}/pin/")
        )

    def test_a_pin_of_another_user_cannot_be_replaced(self, ours_htmx, full, other):
        theirs = actions.add_fact(other, "I like their things")
        answer = ours_htmx.post(f"/memory/{full['oslo'].pk}/pin/", {"instead": str(theirs.pk)})
        assert answer.status_code == 404
        assert ours_htmx.post(f"/memory/{full['oslo'].pk}/pin/", {"instead": "x"}).status_code == 404

    def test_pinning_by_form_leads_back_to_the_panel(self, ours, known):
        answer = ours.post(f"/memory/{known['oslo'].pk}/pin/")
        assert (answer.status_code, answer.url) == (302, "/memory/")

    def test_pinning_a_fact_that_is_being_forgotten_answers_409(self, ours_htmx, known, owner):
        deletions.forget_facts(owner, [known["oslo"].pk])
        assert ours_htmx.post(f"/memory/{known['oslo'].pk}/pin/").status_code == 409


class TestForget:
    """Forgetting is immediate and can be undone for four seconds."""

    def test_forgetting_by_htmx_removes_the_card_and_reports_the_deletion(self, ours_htmx, known):
        answer = ours_htmx.post(f"/memory/{known['oslo'].pk}/delete/")
        pk = str(Deletion.objects.get().pk)
        told = {"id": pk, "text": "Forgot “Lives in Oslo”", "seconds": 4, "gone": 0, "all": False}
        told |= {"facts": [str(known["oslo"].pk)], "undo": f"/memory/undo/{pk}/"}
        assert (answer.status_code, text_of(answer)) == (200, "")
        assert triggered_events(answer) == {"memory-changed": {}, "forgot": told}

    def test_after_forgetting_by_form_the_next_page_offers_undo(self, ours, known):
        answer = ours.post(f"/memory/{known['oslo'].pk}/delete/", follow=True)
        assert answer.redirect_chain == [("/memory/", 302)]
        assert f'action="/memory/undo/{Deletion.objects.get().pk}/"' in text_of(answer)

    def test_forgetting_twice_answers_409(self, ours_htmx, known):
        ours_htmx.post(f"/memory/{known['oslo'].pk}/delete/")
        assert ours_htmx.post(f"/memory/{known['oslo'].pk}/delete/").status_code == 409
        assert Deletion.objects.count() == 1

    def test_undo_restores_the_card(self, ours_htmx, known):
        ours_htmx.post(f"/memory/{known['oslo'].pk}/delete/")
        answer = ours_htmx.post(f"/memory/undo/{Deletion.objects.get().pk}/")
        assert (answer.status_code, triggered_events(answer)) == (204, {"memory-changed": {}})
        assert Fact.objects.live().count() == 3

    def test_undo_by_form_leads_back_to_the_panel(self, ours, known):
        ours.post(f"/memory/{known['oslo'].pk}/delete/")
        answer = ours.post(f"/memory/undo/{Deletion.objects.get().pk}/")
        assert (answer.status_code, answer.url) == (302, "/memory/")

    def test_undo_after_the_deadline_answers_409_with_a_toast(self, ours_htmx, known, clock):
        ours_htmx.post(f"/memory/{known['oslo'].pk}/delete/")
        clock(5)
        answer = ours_htmx.post(f"/memory/undo/{Deletion.objects.get().pk}/")
        assert answer.status_code == 409
        assert "too late" in triggered_events(answer)["toast"]["text"]

    def test_a_page_opened_later_offers_undo_until_the_deadline(self, ours, ours_htmx, known, clock):
        clock(0)
        ours_htmx.post(f"/memory/{known['oslo'].pk}/delete/")
        assert "Forgot “Lives in Oslo”" in text_of(ours.get("/"))
        clock(5)
        assert "Forgot “User" not in text_of(ours.get("/"))


def test_a_page_offers_undo_once_and_a_fragment_does_not(ours, ours_htmx, known):
    deletion = deletions.forget_facts(known["oslo"].owner, [known["oslo"].pk])
    assert text_of(ours.get("/memory/")).count(f'data-deletion="{deletion.pk}"') == 1
    assert str(deletion.pk) not in text_of(ours_htmx.get("/memory/"))
