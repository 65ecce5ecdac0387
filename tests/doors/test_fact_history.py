"""The origin of a memory, its history with restore, and the archive."""

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
    """A memory with its quote and its source message."""
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
    """The origin of a memory."""

    def test_the_origin_shows_the_quote_and_links_to_the_message(self, ours_htmx, learned):
        shown = origin(ours_htmx, learned)
        assert "“By the way, I live in Oslo.”" in shown
        assert "Said today" in shown
        message = learned.source_message_id
        link = f"/c/{learned.source_conversation_id}/?m={message}#m-{message}"
        assert f'href="{link}"' in shown

    def test_the_origin_in_a_deleted_conversation_has_no_link(self, ours_htmx, learned):
        Conversation.objects.all().delete()
        shown = origin(ours_htmx, learned)
        assert "from a deleted conversation" in shown
        assert "#m-" not in shown

    def test_a_memory_added_by_hand_says_so(self, ours_htmx, owner):
        assert "Added by hand, today" in origin(ours_htmx, facts.add_fact(owner, "I like chess"))

    def test_without_javascript_the_origin_is_a_page(self, ours, learned):
        shown = origin(ours, learned)
        assert "<html" in shown
        assert "“By the way, I live in Oslo.”" in shown

    def test_a_memory_that_is_being_forgotten_has_no_origin_page(self, ours_htmx, learned, owner):
        deletions.forget_facts(owner, [learned.pk])
        assert ours_htmx.get(f"/memory/{learned.pk}/origin/").status_code == 404

    def test_an_open_origin_stays_open_when_the_list_is_redrawn(self, ours_htmx, learned):
        headers = {"hx-target": "memory-list"}
        page = text(ours_htmx.get(f"/memory/?open={learned.pk}", headers=headers))
        assert "“By the way, I live in Oslo.”" in page
        assert 'aria-expanded="true"' in page
        assert "By the way" not in text(ours_htmx.get("/memory/", headers=headers))


class TestHistory:
    """The history lists each change; an earlier state can be restored."""

    def test_the_history_lists_each_change_with_its_author_and_the_newest_first(self, ours_htmx, owner):
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

    def test_the_history_includes_the_replaced_memory_and_offers_to_restore_it(self, ours_htmx, owner):
        facts.add_fact(owner, "I live in Oslo")
        new = facts.add_fact(owner, "I live in Bergen")
        shown = origin(ours_htmx, new)
        assert "“I live in Oslo” was replaced" in shown
        assert 'aria-label="Restore “I live in Oslo”"' in shown

    def test_a_replaced_memory_has_its_own_page_without_actions(self, ours, owner):
        old = facts.add_fact(owner, "I live in Oslo")
        new = facts.add_fact(owner, "I live in Bergen")
        shown = origin(ours, old)
        assert "I live in Oslo" in shown
        assert (
            f'Replaced by <a class="inline" href="/memory/{new.pk}/origin/">“I live in Bergen”</a>' in shown
        )
        assert f"/memory/{old.pk}/pin/" not in shown

    @pytest.mark.parametrize("htmx", [True, False])
    def test_restoring_brings_an_earlier_text_back_and_shows_the_card(self, ours, ours_htmx, owner, htmx):
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

    def test_the_current_state_offers_no_restore(self, ours_htmx, owner):
        assert "Restore" not in origin(ours_htmx, facts.add_fact(owner, "I like chess"))

    def test_an_event_of_another_memory_is_refused(self, ours_htmx, owner):
        fact, stranger = facts.add_fact(owner, "I like chess"), facts.add_fact(owner, "I play the tuba")
        answer = ours_htmx.post(f"/memory/{fact.pk}/restore/{stranger.events.first().pk}/")
        assert answer.status_code == 409

    def test_an_event_of_another_user_is_not_found(self, ours_htmx, owner, other):
        fact, theirs = facts.add_fact(owner, "I like chess"), facts.add_fact(other, "I play the tuba")
        answer = ours_htmx.post(f"/memory/{fact.pk}/restore/{theirs.events.first().pk}/")
        assert answer.status_code == 404


class TestArchive:
    """Evicted and faded memories can be restored for thirty days."""

    @pytest.fixture
    def archived(self, make_fact):
        """Return a function that makes an archived memory."""

        def put(words, kind=FactEventKind.EVICT, at=None):
            fact = make_fact(words)
            archive.archive_facts([fact], kind, "made room for newer memories", at or timezone.now())
            return fact

        return put

    def test_without_archived_memories_there_is_no_archive(self, ours, owner):
        assert "Archive" not in text(ours.get("/memory/"))

    @pytest.mark.parametrize(
        ("kind", "why"),
        [(FactEventKind.EVICT, "Made room for others"), (FactEventKind.EXPIRE, "Faded away")],
    )
    def test_the_archive_lists_each_memory_with_the_reason(self, ours, ours_htmx, archived, kind, why):
        archived("User likes chess", kind)
        for page in (ours.get("/memory/"), ours_htmx.get("/memory/archive/")):
            assert "Archive" in text(page)
            assert "Likes chess" in text(page)
            assert why in text(page)

    def test_after_thirty_days_a_memory_is_not_offered(self, ours, archived):
        archived("User likes chess", at=timezone.now() - timedelta(days=30))
        assert "Likes chess" not in text(ours.get("/memory/"))

    def test_the_archive_shows_no_memories_of_another_user(self, server_mode, logged_in, other, archived):
        archived("User likes chess")
        page = logged_in(other).get("/memory/archive/", headers={"hx-request": "true"})
        assert "chess" not in text(page)

    @pytest.mark.parametrize("htmx", [True, False])
    def test_an_archived_memory_is_restored(self, ours, ours_htmx, archived, htmx):
        fact = archived("User likes chess")
        if htmx:
            answer = ours_htmx.post(f"/memory/{fact.pk}/back/", headers={"hx-target": "memory-list"})
            assert "Likes chess" in text(answer)
        else:
            assert ours.post(f"/memory/{fact.pk}/back/").url == f"/memory/#fact-{fact.pk}"
        assert Fact.objects.live().get() == fact

    def test_restoring_a_memory_that_is_not_archived_is_refused_with_a_message(self, ours_htmx, make_fact):
        answer = ours_htmx.post(f"/memory/{make_fact('User likes chess').pk}/back/")
        assert answer.status_code == 409
        assert "no longer in the archive" in text(answer)
