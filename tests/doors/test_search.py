"""The search box and the search page: what they show, where it leads, and whose it is."""

from __future__ import annotations

import pytest

from chat.actions.messages import finish_reply
from chat.models import Conversation, Message
from chat.views.search import A_PAGE

pytestmark = pytest.mark.django_db


@pytest.fixture
def say(talk):
    """Returns a maker of exchanges with a given reply."""

    def exchange(text: str, answer: str = "All right.", chat: Conversation | None = None) -> Conversation:
        asked, reply = talk(text, chat)
        finish_reply(reply, answer, "complete")
        return asked.conversation

    return exchange


def test_titles_come_first_and_lead_to_the_chat_messages_to_their_place(ours_htmx, say):
    say("Weather", "A boat needs wind.")
    say("My boat")
    page = ours_htmx.get("/search/", {"q": "boat"}).content.decode()
    said = Message.objects.get(content="A boat needs wind.")
    link = f"/c/{said.conversation_id}/?m={said.pk}#m-{said.pk}"
    assert page.index("My <mark>boat</mark>") < page.index("A <mark>boat</mark> needs wind.")
    assert link in page
    assert "3 results" in page


def test_a_memory_stands_among_them_and_leads_to_its_card(ours_htmx, make_fact):
    fact = make_fact("User owns a boat")
    page = ours_htmx.get("/search/", {"q": "boat"}).content.decode()
    assert "Owns a <mark>boat</mark>" in page
    assert f'href="/memory/?found={fact.pk}#fact-{fact.pk}" data-fact="{fact.pk}"' in page


def test_what_was_said_is_text_and_no_markup(ours_htmx, say):
    say("Weather", "<script>alert(1)</script> & **bold** `code`")
    page = ours_htmx.get("/search/", {"q": "alert"}).content.decode()
    assert "&lt;script&gt;<mark>alert</mark>(1)&lt;/script&gt; &amp; bold code" in page


def test_what_is_typed_is_text_and_no_markup(ours):
    page = ours.get("/search/", {"q": '"><script>alert(1)</script>'}).content.decode()
    assert "<script>alert" not in page


def test_nothing_at_all_says_so(ours_htmx, owner):
    assert "Nothing was found." in ours_htmx.get("/search/", {"q": "boat"}).content.decode()


def test_without_words_it_is_the_list(ours_htmx, say):
    say("My boat")
    page = ours_htmx.get("/search/", {"q": "  "}).content.decode()
    assert "My boat" in page
    assert "<mark>" not in page


class TestThePage:
    """The page of its own, for those without scripts and for more than a list has room for."""

    def test_what_was_looked_for_is_in_its_box(self, ours, say):
        say("Weather", "A boat needs wind.")
        page = ours.get("/search/", {"q": "boat"}).content.decode()
        assert "A <mark>boat</mark> needs wind." in page
        assert 'name="q" value="boat"' in page
        assert "Write in the search box" in ours.get("/search/").content.decode()

    def test_its_sidebar_keeps_the_list_and_is_not_asked_for_results(self, ours, say):
        say("Trains")
        say("Weather", "A boat needs wind.")
        page = ours.get("/search/", {"q": "boat"}).content.decode()
        side = page[page.index('id="rooms"') : page.index('id="room"')]
        assert "Trains" in side
        assert "<mark>" not in side
        assert "hx-include" not in side
        assert 'hx-target="#found"' in page

    def test_typing_there_shows_the_results_alone(self, ours_htmx, say):
        say("My boat")
        page = ours_htmx.get("/search/", {"q": "boat"}, headers={"hx-target": "found"}).content.decode()
        assert "My <mark>boat</mark>" in page
        assert "<title>" not in page
        empty = ours_htmx.get("/search/", {"q": ""}, headers={"hx-target": "found"}).content.decode()
        assert "Write in the search box" in empty

    def test_many_results_come_in_pages_that_lead_to_each_other(self, ours, ours_htmx, say):
        chat = say("Weather")
        for n in range(A_PAGE):
            say(f"A boat, number {n}", chat=chat)
        first = ours.get("/search/", {"q": "boat"}).content.decode()
        assert f"{A_PAGE} results" in first
        say("One boat more", chat=chat)
        first = ours.get("/search/", {"q": "boat"}).content.decode()
        assert f"/search/?q=boat&amp;from={A_PAGE}" in first
        second = ours.get("/search/", {"q": "boat", "from": A_PAGE}).content.decode()
        assert f"{A_PAGE + 1}–{A_PAGE + 1}" in second
        assert "/search/?q=boat&amp;from=0" in second
        assert "All results" in ours_htmx.get("/search/", {"q": "boat"}).content.decode()

    @pytest.mark.parametrize("place", ["-1", "x", "٣", "99999999999999999999", "500"])
    def test_a_place_that_is_none_is_no_error(self, ours, say, place):
        say("My boat")
        assert ours.get("/search/", {"q": "boat", "from": place}).status_code == 200


def test_another_user_finds_nothing_of_it_and_a_stranger_has_to_log_in(
    server_mode, logged_in, owner, other, say, client
):
    say("My boat")
    assert "My <mark>boat" in logged_in(owner).get("/search/", {"q": "boat"}).content.decode()
    assert "<mark>" not in logged_in(other).get("/search/", {"q": "boat"}).content.decode()
    assert client.get("/search/", {"q": "boat"}).status_code == 302
