"""Where a memory came from, its history with the way back, and the archive."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import archive, deletions, facts
from chat.models import Conversation, Fact, FactEventKind

pytestmark = pytest.mark.django_db


@pytest.fixture
def learned(talk, make_fact):
    """A memory with the words that it came from."""
    asked, _ = talk("By the way, I live in Oslo.")
    return make_fact(
        "User lives in Oslo",
        category="identity",
        kind="home",
        quote="By the way, I live in Oslo.",
        source_message=asked,
        source_conversation=asked.conversation,
    )


def text(answer) -> str:
    return " ".join(answer.content.decode().split())


def origin(client, fact) -> str:
    return text(client.get(f"/memory/{fact.pk}/origin/"))


class TestOrigin:
    """Where from."""

    def test_it_shows_the_quote_and_leads_to_the_message(self, ours_htmx, learned):
        shown = origin(ours_htmx, learned)
        assert "“By the way, I live in Oslo.”" in shown
        assert "Said today" in shown
        message = learned.source_message_id
        link = f"/c/{learned.source_conversation_id}/?m={message}#m-{message}"
        assert f'href="{link}"' in shown

    def test_from_a_deleted_conversation_it_says_so_and_leads_nowhere(self, ours_htmx, learned):
        Conversation.objects.all().delete()
        shown = origin(ours_htmx, learned)
        assert "from a deleted conversation" in shown
        assert "#m-" not in shown

    def test_what_was_written_by_hand_says_that(self, ours_htmx, owner):
        assert "Added by hand, today" in origin(ours_htmx, facts.add_fact(owner, "I like chess"))

    def test_without_scripts_it_is_a_page(self, ours, learned):
        shown = origin(ours, learned)
        assert "<html" in shown
        assert "“By the way, I live in Oslo.”" in shown

    def test_of_a_memory_on_its_way_out_there_is_none(self, ours_htmx, learned, owner):
        deletions.forget(owner, [learned.pk])
        assert ours_htmx.get(f"/memory/{learned.pk}/origin/").status_code == 404

    def test_it_stays_open_while_the_list_is_drawn_anew(self, ours_htmx, learned):
        headers = {"hx-target": "memory-list"}
        page = text(ours_htmx.get(f"/memory/?open={learned.pk}", headers=headers))
        assert "“By the way, I live in Oslo.”" in page
        assert 'aria-expanded="true"' in page
        assert "By the way" not in text(ours_htmx.get("/memory/", headers=headers))


class TestHistory:
    """What happened since, each point with the way back."""

    def test_it_tells_each_change_with_who_and_the_newest_first(self, ours_htmx, owner):
        fact = facts.add_fact(owner, "I like chess")
        facts.edit_fact(fact, "I like bebop")
        facts.pin_fact(fact, True)
        facts.add_fact(owner, "I like bebop")
        shown = origin(ours_htmx, fact)
        told = (
            "Said again",
            "Pinned",
            "Changed from “I like chess” to “I like bebop”",
            "Added “I like chess”",
        )
        places = [shown.find(f"{words}<small>by you") for words in told]
        assert all(p >= 0 for p in places)
        assert places == sorted(places)

    def test_what_it_replaced_is_part_of_it_and_leads_back(self, ours_htmx, owner):
        facts.add_fact(owner, "I live in Oslo")
        new = facts.add_fact(owner, "I live in Bergen")
        shown = origin(ours_htmx, new)
        assert "“I live in Oslo” was replaced" in shown
        assert 'aria-label="Restore “I live in Oslo”"' in shown

    def test_the_replaced_one_has_a_page_of_its_own_without_actions(self, ours, owner):
        old = facts.add_fact(owner, "I live in Oslo")
        new = facts.add_fact(owner, "I live in Bergen")
        shown = origin(ours, old)
        assert "I live in Oslo" in shown
        assert (
            f'Replaced by <a class="inline" href="/memory/{new.pk}/origin/">“I live in Bergen”</a>' in shown
        )
        assert f"/memory/{old.pk}/pin/" not in shown

    @pytest.mark.parametrize("htmx", [True, False])
    def test_restoring_brings_the_words_back_and_shows_the_card(self, ours, ours_htmx, owner, htmx):
        fact = facts.add_fact(owner, "I like chess")
        facts.edit_fact(fact, "I like bebop")
        point = fact.events.get(kind=FactEventKind.ADD)
        address = f"/memory/{fact.pk}/restore/{point.pk}/"
        if htmx:
            answer = ours_htmx.post(address, headers={"hx-target": "memory-list"})
            assert json.loads(answer.headers["HX-Trigger"])["toast"]["text"] == "Restored."
            assert f'class="card stack found" id="fact-{fact.pk}"' in text(answer)
        else:
            assert ours.post(address).url == f"/memory/#fact-{fact.pk}"
        assert Fact.objects.get(pk=fact.pk).text == "I like chess"

    def test_the_point_where_it_is_now_has_no_way_back_to_itself(self, ours_htmx, owner):
        assert "Restore" not in origin(ours_htmx, facts.add_fact(owner, "I like chess"))

    def test_a_point_of_another_memory_is_refused(self, ours_htmx, owner):
        fact, stranger = facts.add_fact(owner, "I like chess"), facts.add_fact(owner, "I play the tuba")
        answer = ours_htmx.post(f"/memory/{fact.pk}/restore/{stranger.events.first().pk}/")
        assert answer.status_code == 409

    def test_another_persons_point_does_not_exist(self, ours_htmx, owner, other):
        fact, theirs = facts.add_fact(owner, "I like chess"), facts.add_fact(other, "I play the tuba")
        answer = ours_htmx.post(f"/memory/{fact.pk}/restore/{theirs.events.first().pk}/")
        assert answer.status_code == 404


class TestArchive:
    """What made room or faded comes back for thirty days."""

    @pytest.fixture
    def away(self, make_fact):
        """Returns a maker of memories that were put away."""

        def put(words, kind=FactEventKind.EVICT, at=None):
            fact = make_fact(words)
            archive.put_away([fact], kind, "made room for newer memories", at or timezone.now())
            return fact

        return put

    def test_where_nothing_was_put_away_there_is_no_archive(self, ours, owner):
        assert "Archive" not in text(ours.get("/memory/"))

    @pytest.mark.parametrize(
        ("kind", "why"),
        [(FactEventKind.EVICT, "Made room for others"), (FactEventKind.EXPIRE, "Faded away")],
    )
    def test_it_lists_what_went_and_why(self, ours, ours_htmx, away, kind, why):
        away("User likes chess", kind)
        for page in (ours.get("/memory/"), ours_htmx.get("/memory/archive/")):
            assert "Archive" in text(page)
            assert "Likes chess" in text(page)
            assert why in text(page)

    def test_after_thirty_days_it_is_not_offered(self, ours, away):
        away("User likes chess", at=timezone.now() - timedelta(days=30))
        assert "Likes chess" not in text(ours.get("/memory/"))

    def test_of_another_person_it_shows_nothing(self, server_mode, logged_in, other, away):
        away("User likes chess")
        page = logged_in(other).get("/memory/archive/", headers={"hx-request": "true"})
        assert "chess" not in text(page)

    @pytest.mark.parametrize("htmx", [True, False])
    def test_it_is_brought_back(self, ours, ours_htmx, away, htmx):
        fact = away("User likes chess")
        if htmx:
            answer = ours_htmx.post(f"/memory/{fact.pk}/back/", headers={"hx-target": "memory-list"})
            assert "Likes chess" in text(answer)
        else:
            assert ours.post(f"/memory/{fact.pk}/back/").url == f"/memory/#fact-{fact.pk}"
        assert Fact.objects.live().get() == fact

    def test_what_is_not_there_any_more_is_refused_with_a_sentence(self, ours_htmx, make_fact):
        answer = ours_htmx.post(f"/memory/{make_fact('User likes chess').pk}/back/")
        assert answer.status_code == 409
        assert "no longer in the archive" in text(answer)
