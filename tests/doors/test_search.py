"""Searching: titles first, then what was said, never what is deleted, temporary, replaced or another's."""

from __future__ import annotations

import pytest
from django.utils import timezone

from chat.actions import deletions
from chat.actions.messages import finish_reply, send_message
from chat.actions.owners import default_app
from chat.models import Conversation, Message
from chat.views.search import MOST, found, snippet

pytestmark = pytest.mark.django_db


@pytest.fixture
def say(talk):
    """Returns a maker of exchanges with a given reply."""

    def exchange(text: str, answer: str = "All right.", chat: Conversation | None = None) -> Conversation:
        asked, reply = talk(text, chat)
        finish_reply(reply, answer, "complete")
        return asked.conversation

    return exchange


def texts(owner, query: str) -> list[str]:
    return [str(hit.snippet or hit.title) for hit in found(owner, query)]


def test_titles_come_first_and_lead_to_the_chat_messages_to_their_place(ours_htmx, say):
    say("Weather", "A boat needs wind.")
    say("My boat")
    page = ours_htmx.get("/search/", {"q": "boat"}).content.decode()
    said = Message.objects.get(content="A boat needs wind.")
    link = f"/c/{said.conversation_id}/?m={said.pk}#m-{said.pk}"
    assert page.index("My <mark>boat</mark>") < page.index("A <mark>boat</mark> needs wind.")
    assert link in page
    assert "3 results" in page


def test_it_finds_words_in_any_case_and_order_and_all_of_them(owner, say):
    say("Weather", "Wind und Über-Segel, ÄRGER am Boot.")
    for query in ("WIND boot", "boot wind", "über", "ÜBER-SEGEL", "ärger"):
        assert len(texts(owner, query)) == 1, query
    assert texts(owner, "wind mast") == []


def test_what_stands_for_anything_elsewhere_stands_for_itself(owner, say):
    say("Weather", "100 % sure, snake_case and a \\ too")
    assert texts(owner, "%") == ["100 <mark>%</mark> sure, snake_case and a \\ too"]
    assert texts(owner, "e_c") == ["100 % sure, snak<mark>e_c</mark>ase and a \\ too"]
    assert texts(owner, "x%y") == []


def test_what_was_said_is_text_and_no_markup(ours_htmx, say):
    say("Weather", "<script>alert(1)</script> & **bold** `code`")
    page = ours_htmx.get("/search/", {"q": "alert"}).content.decode()
    assert "&lt;script&gt;<mark>alert</mark>(1)&lt;/script&gt; &amp; bold code" in page


def test_a_snippet_is_the_piece_around_the_word():
    text = "word " * 100 + "needle " + "word " * 100
    piece = str(snippet(text, ["needle"]))
    assert piece.startswith("…word")
    assert piece.endswith("…")
    assert "<mark>needle</mark>" in piece
    assert len(piece) < 170


class TestWhatIsNotFound:
    """Only what its owner sees in a list is found."""

    def test_nothing_of_a_deleted_or_temporary_chat(self, owner, say):
        deletions.delete_conversation(say("My boat"))
        send_message(owner, "A boat again", temporary=True)
        assert texts(owner, "boat") == []

    def test_nothing_of_somebody_else(self, other, say):
        say("My boat")
        assert texts(other, "boat") == []

    def test_no_replaced_message(self, owner, say):
        chat = say("Weather", "A boat")
        new = Message.objects.create(conversation=chat, seq=9, role="assistant", content="A raft")
        Message.objects.filter(content="A boat").update(replaced_by=new)
        assert texts(owner, "boat") == []
        assert texts(owner, "raft") == ["A <mark>raft</mark>"]

    def test_nothing_at_all_says_so(self, ours_htmx, owner):
        assert "Nothing was found." in ours_htmx.get("/search/", {"q": "boat"}).content.decode()


class TestTheDoor:
    """In the place of the list, or as a page."""

    def test_without_words_it_is_the_list(self, ours_htmx, say):
        say("My boat")
        page = ours_htmx.get("/search/", {"q": "  "}).content.decode()
        assert "My boat" in page
        assert "<mark>" not in page

    def test_without_scripts_it_is_a_page_with_what_was_looked_for_in_its_box(self, ours, say):
        say("Weather", "A boat needs wind.")
        page = ours.get("/search/", {"q": "boat"}).content.decode()
        assert "A <mark>boat</mark> needs wind." in page
        assert 'name="q" value="boat"' in page
        assert "Write in the search box" in ours.get("/search/").content.decode()

    def test_among_a_thousand_messages_it_is_two_queries_and_thirty_results(
        self, owner, django_assert_num_queries
    ):
        chats = [
            Conversation.objects.create(owner=owner, app=default_app(owner), title=f"Chat {n}")
            for n in range(10)
        ]
        now = timezone.now()
        Message.objects.bulk_create(
            Message(conversation=chat, seq=n, role="user", content=f"A boat, number {n}", created_at=now)
            for chat in chats
            for n in range(1, 101)
        )
        with django_assert_num_queries(2):
            hits = found(owner, "boat number")
        assert len(hits) == MOST
        with django_assert_num_queries(2):
            assert len(found(owner, "chat boat")) == 0
