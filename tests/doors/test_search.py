"""The search box and the search page: results, links, and access."""

from __future__ import annotations

import pytest

from chat.actions.messages import finish_reply
from chat.models import Conversation, Message
from chat.views.search import PAGE_SIZE

pytestmark = pytest.mark.django_db


@pytest.fixture
def make_exchange(talk):
    """Return a function that makes an exchange with a given reply."""

    def exchange(text: str, answer: str = "All right.", chat: Conversation | None = None) -> Conversation:
        asked, reply = talk(text, chat)
        finish_reply(reply, answer, "complete")
        return asked.conversation

    return exchange


def test_titles_come_first_and_messages_link_to_their_place(ours_htmx, make_exchange):
    make_exchange("Weather", "A boat needs wind.")
    make_exchange("My boat")
    page = ours_htmx.get("/search/", {"q": "boat"}).content.decode()
    said = Message.objects.get(content="A boat needs wind.")
    link = f"/c/{said.conversation_id}/?m={said.pk}#m-{said.pk}"
    assert page.index("My <mark>boat</mark>") < page.index("A <mark>boat</mark> needs wind.")
    assert link in page
    assert "3 results" in page


def test_memories_are_found_and_link_to_their_cards(ours_htmx, make_fact):
    fact = make_fact("User owns a boat")
    page = ours_htmx.get("/search/", {"q": "boat"}).content.decode()
    assert "Owns a <mark>boat</mark>" in page
    assert f'href="/memory/?found={fact.pk}#fact-{fact.pk}" data-fact="{fact.pk}"' in page


def test_found_text_is_escaped(ours_htmx, make_exchange):
    make_exchange("Weather", "<script>alert(1)</script> & **bold** `code`")
    page = ours_htmx.get("/search/", {"q": "alert"}).content.decode()
    assert "&lt;script&gt;<mark>alert</mark>(1)&lt;/script&gt; &amp; bold code" in page


def test_the_search_text_is_escaped(ours):
    page = ours.get("/search/", {"q": '"><script>alert(1)</script>'}).content.decode()
    assert "<script>alert" not in page


def test_no_result_says_so(ours_htmx, owner):
    assert "Nothing was found." in ours_htmx.get("/search/", {"q": "boat"}).content.decode()


def test_an_empty_search_shows_the_list_of_conversations(ours_htmx, make_exchange):
    make_exchange("My boat")
    page = ours_htmx.get("/search/", {"q": "  "}).content.decode()
    assert "My boat" in page
    assert "<mark>" not in page


class TestSearchPage:
    """The search page, for browsers without JavaScript and for long results."""

    def test_the_search_text_is_in_the_box(self, ours, make_exchange):
        make_exchange("Weather", "A boat needs wind.")
        page = ours.get("/search/", {"q": "boat"}).content.decode()
        assert "A <mark>boat</mark> needs wind." in page
        assert 'name="q" value="boat"' in page
        assert "Type what you are looking for" in ours.get("/search/").content.decode()

    def test_the_sidebar_keeps_the_list_of_conversations(self, ours, make_exchange):
        make_exchange("Trains")
        make_exchange("Weather", "A boat needs wind.")
        page = ours.get("/search/", {"q": "boat"}).content.decode()
        side = page[page.index('id="conversation-list"') : page.index('id="conversation-menu"')]
        assert "Trains" in side
        assert "<mark>" not in side
        assert "hx-include" not in side
        assert 'hx-target="#search-results"' in page

    def test_typing_on_the_search_page_updates_only_the_results(self, ours_htmx, make_exchange):
        make_exchange("My boat")
        page = ours_htmx.get(
            "/search/", {"q": "boat"}, headers={"hx-target": "search-results"}
        ).content.decode()
        assert "My <mark>boat</mark>" in page
        assert "<title>" not in page
        empty = ours_htmx.get("/search/", {"q": ""}, headers={"hx-target": "search-results"}).content.decode()
        assert "Type what you are looking for" in empty

    def test_many_results_are_split_into_linked_pages(self, ours, ours_htmx, make_exchange):
        chat = make_exchange("Weather")
        for n in range(PAGE_SIZE):
            make_exchange(f"A boat, number {n}", chat=chat)
        first = ours.get("/search/", {"q": "boat"}).content.decode()
        assert f"{PAGE_SIZE} results" in first
        make_exchange("One boat more", chat=chat)
        first = ours.get("/search/", {"q": "boat"}).content.decode()
        assert f"/search/?q=boat&amp;from={PAGE_SIZE}" in first
        second = ours.get("/search/", {"q": "boat", "from": PAGE_SIZE}).content.decode()
        assert f"{PAGE_SIZE + 1}–{PAGE_SIZE + 1}" in second
        assert "/search/?q=boat&amp;from=0" in second
        assert "All results" in ours_htmx.get("/search/", {"q": "boat"}).content.decode()

    @pytest.mark.parametrize("place", ["-1", "x", "٣", "99999999999999999999", "500"])
    def test_an_invalid_offset_is_no_error(self, ours, make_exchange, place):
        make_exchange("My boat")
        assert ours.get("/search/", {"q": "boat", "from": place}).status_code == 200


def test_search_finds_only_own_data_and_needs_a_login(
    server_mode, logged_in, owner, other, make_exchange, client
):
    make_exchange("My boat")
    assert "My <mark>boat" in logged_in(owner).get("/search/", {"q": "boat"}).content.decode()
    assert "<mark>" not in logged_in(other).get("/search/", {"q": "boat"}).content.decode()
    assert client.get("/search/", {"q": "boat"}).status_code == 302
