"""What is found, in which order, and whose."""

from __future__ import annotations

import threading
from datetime import timedelta

import numpy as np
import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat.actions import branches, deletions, indexing
from chat.actions.messages import finish_reply, send_message
from chat.actions.owners import default_app
from chat.llm.registry import registry
from chat.models import Conversation, Fact, Message
from chat.search.finding import WINDOW, Kind, find

from .conftest import texts, told

pytestmark = pytest.mark.django_db


class TestWords:
    """Words in any order, case and spelling; the last may be a beginning."""

    def test_in_any_case_and_order_and_all_of_them(self, owner, say):
        say("Weather", "Wind und Über-Segel, ÄRGER am Boot.")
        for query in (
            "WIND boot",
            "boot wind",
            "über",
            "uber",
            "ÜBER-SEGEL",
            "arger",
            "aerger",
            "segel über",
        ):
            assert len(texts(owner, query)) == 1, query
        assert texts(owner, "wind mast") == []

    def test_letters_that_lack_on_most_keyboards(self, owner, say):
        say("Weather", "Smørrebrød in Łódź.")
        for query in ("lodz", "Łódź", "smorrebrod", "smoerrebroed", "smørre"):
            assert len(texts(owner, query)) == 1, query

    def test_a_word_written_out_is_found_by_its_umlaut(self, owner, say):
        say("Weather", "Wir fahren nach Muenchen.")
        assert texts(owner, "München") == ["Wir fahren nach [Muenchen]."]

    def test_while_the_last_word_is_typed(self, owner, say):
        say("Weather", "The sailboat needs wind.")
        assert texts(owner, "wind sai") == ["The [sai]lboat needs [wind]."]
        assert texts(owner, "win sailboat") == []
        assert texts(owner, '"sai"') == []

    def test_a_beginning_after_words_that_stand_in_few_messages(self, owner, say, monkeypatch):
        chat = say("Weather", "Zanzibar has themes, e-mail and air.")
        say("Sea", "The theory of zanzibar.", chat)
        wanted = {"zanzibar the": 2, "zanzibar them": 1, "zanzibar e-ma": 1, "zanzibar hem": 0, "sea the": 0}
        wanted |= {"zanzibar e-mail a": 0, "zanzibar ai": 1, "nothing the": 0, "zanzibar münchen": 0}
        assert {query: len(texts(owner, query)) for query in wanted} == wanted
        # As many as are looked at: then the index is asked.
        monkeypatch.setattr("chat.search.finding.WINDOW", 2)
        assert {query: len(texts(owner, query)) for query in wanted} == wanted

    def test_phrases_in_quotes(self, owner, say):
        say("Weather", "A fair wind.", say("Sea", "The wind is fair."))
        assert texts(owner, '"fair wind"') == ["A [fair wind]."]
        assert len(texts(owner, "fair wind")) == 2

    def test_chinese_japanese_and_thai_without_blanks(self, owner, say):
        say("你好", "我住在上海，周末喜欢看电影。")
        say("こんにちは", "東京でラーメンを食べました。")
        say("สวัสดี", "ฉันอยู่ที่กรุงเทพ")
        assert texts(owner, "上海") == ["我住在[上海]，周末喜欢看电影。"]
        assert texts(owner, "电影 上海") == ["我住在[上海]，周末喜欢看[电影]。"]
        assert texts(owner, "海上") == []
        assert texts(owner, "ラーメン") == ["東京で[ラーメン]を食べました。"]
        assert len(texts(owner, "กรุงเทพ")) == 1

    def test_signs(self, owner, say):
        say("Weather", "100 % sure about C++, not C.")
        assert texts(owner, "c++") == ["100 % sure about [C++], not C."]
        assert texts(owner, "%") == ["100 [%] sure about C++, not C."]

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    @given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from('"*():^-+ aANDORNEAR'))))
    def test_nothing_that_is_typed_is_an_error(self, owner, typed):
        found = find(owner, typed)
        assert found.hits == []

    def test_a_query_of_any_length_is_answered(self, owner, say):
        say("My boat")
        assert find(owner, "boat " * 100_000).hits != []
        assert find(owner, "ship-" * 100_000).hits == []
        assert find(owner, "\x00boat").hits != []


class TestOrder:
    """The best first, and the newer among equals."""

    def test_side_by_side_before_close_before_anywhere_whatever_is_newer(self, owner, say):
        chat = say("Weather", "A fair wind.")
        say("Weather", "The wind is fair.", chat)
        say("Weather", f"Fair {'weather ' * 30} wind.", chat)
        assert [text[:9] for text in texts(owner, "fair wind")] == ["A [fair] ", "The [wind", "[Fair] we"]

    def test_a_whole_word_before_a_beginning(self, owner, say):
        say("Weather", "A boathouse.", say("Sea", "A boat."))
        assert texts(owner, "boat") == ["A [boat].", "A [boat]house."]

    def test_the_newer_among_equals_also_where_the_older_was_indexed_later(self, owner, say):
        chat = say("Weather", "A boat, first.")
        say("Weather", "A boat, second.", chat)
        old = Message.objects.create(conversation=chat, seq=90, role="user", content="A boat, long ago.")
        Message.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=400))
        indexing.said([old])
        assert texts(owner, "boat") == ["A [boat], second.", "A [boat], first.", "A [boat], long ago."]

    def test_a_memory_that_has_to_do_with_it_then_titles_then_what_was_said(self, owner, say, make_fact):
        say("Weather", "A boat.")
        say("My boat")
        make_fact("User owns a boat")
        kinds = [hit.kind for hit in find(owner, "boat").hits]
        assert kinds == ["fact", "conversation", "message", "message"]

    def test_scores_fall_and_pages_follow_each_other(self, owner, say):
        chat = say("Weather")
        for n in range(8):
            say(f"boat {n}", chat=chat)
        whole = find(owner, "boat", limit=100)
        scores = [hit.score for hit in whole.hits]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)
        pages = [hit for start in range(0, 9, 3) for hit in find(owner, "boat", limit=3, offset=start).hits]
        assert [hit.id for hit in pages] == [hit.id for hit in whole.hits]
        assert whole.total == 8
        assert not whole.many

    def test_of_very_many_the_newest_and_of_older_ones_those_side_by_side(self, owner):
        chat = Conversation.objects.create(owner=owner, app=default_app(owner), title="Sea")
        said = ["A fair wind."] + [f"The wind is fair, {n}." for n in range(WINDOW + 20)]
        Message.objects.bulk_create(
            Message(conversation=chat, seq=n, role="user", content=text) for n, text in enumerate(said)
        )
        indexing.fill([chat.pk])
        found = find(owner, "fair wind", kinds=[Kind.MESSAGE])
        assert told(found.hits[0]) == "A [fair] [wind]."
        assert told(found.hits[1]).endswith(f"{WINDOW + 19}.")
        assert found.many

    def test_others_texts_do_not_weigh(self, owner, other, say, talk):
        say("Weather", "A boat and a boat.", say("Sea", "Wind and a boat."))
        before = [(hit.id, hit.score) for hit in find(owner, "boat wind b").hits]
        for n in range(20):
            send_message(other, f"boat boat boat {n}")
        assert [(hit.id, hit.score) for hit in find(owner, "boat wind b").hits] == before


class TestWhatIsNotFound:
    """Only what its owner sees in a list is found."""

    def test_nothing_of_a_deleted_chat_and_all_of_it_after_undo(self, owner, say):
        deletion = deletions.delete_conversation(say("My boat"))
        assert find(owner, "boat").hits == []
        deletions.undo(deletion)
        assert len(find(owner, "boat").hits) == 2

    def test_nothing_of_a_temporary_chat(self, owner):
        send_message(owner, "A boat again", temporary=True)
        assert find(owner, "boat").hits == []

    def test_nothing_of_somebody_else_and_nothing_for_strangers(self, owner, other, say, make_fact):
        say("My boat")
        make_fact("User owns a boat")
        assert find(other, "boat").hits == []
        assert find(AnonymousUser(), "boat").hits == []
        assert find(None, "boat").hits == []

    def test_nothing_that_was_replaced(self, owner, say):
        chat = say("Weather", "A boat")
        new = branches.retry_reply(Message.objects.get(content="A boat"))
        finish_reply(new, "A raft", "complete")
        assert texts(owner, "boat") == []
        assert texts(owner, "raft") == ["A [raft]"]
        asked = Message.objects.get(conversation=chat, content="Weather")
        branches.resend(asked, "Climate")
        assert texts(owner, "raft") == []
        assert [told(hit) for hit in find(owner, "climate", kinds=[Kind.CONVERSATION]).hits] == ["[Climate]"]
        assert find(owner, "weather").hits == []

    def test_no_memory_that_is_being_forgotten_superseded_or_archived(self, owner, make_fact):
        deletions.forget(owner, [make_fact("User owns a boat").pk])
        make_fact("User owns a boat", superseded_at=timezone.now())
        make_fact("User owns a boat", archived_at=timezone.now())
        assert find(owner, "boat").hits == []

    def test_no_system_prompt_and_no_tools_output(self, owner, say):
        chat = say("Weather")
        for n, role in enumerate(("system", "tool"), start=50):
            row = Message.objects.create(conversation=chat, seq=n, role=role, content="A boat")
            indexing.said([row])
        indexing.fill([chat.pk])
        assert texts(owner, "boat") == []


class _Meanings:
    """An embedder for which boats and ships are alike, and nothing else is."""

    name = "minilm-l6-int8"
    dimensions = 4

    def embed(self, texts):
        return np.array(
            [
                [1, 0, 0, 0] if any(w in text.lower() for w in ("boat", "ship", "vessel")) else [0, 1, 0, 0]
                for text in texts
            ],
            dtype=np.float32,
        )


class TestMemories:
    """Facts are found by words, and by what they mean where there are vectors."""

    @pytest.fixture
    def sailor(self, make_fact) -> Fact:
        vector = np.array([1, 0, 0, 0], dtype=np.float32).tobytes()
        make_fact("User is fond of the old bakery", embedding=None)
        return make_fact("User owns a small ship", embedding=vector, embedder="minilm-l6-int8")

    def test_by_its_words_as_a_card_has_them(self, owner, sailor):
        [hit] = find(owner, "small ship").hits
        assert (hit.kind, hit.id, told(hit)) == ("fact", sailor.pk, "Owns a [small] [ship]")
        assert hit.conversation is None
        assert find(owner, "user").hits == []

    def test_its_meaning_is_worked_out_while_the_index_is_asked(self, owner, sailor, monkeypatch):
        asked = threading.Event()

        class Patient(_Meanings):
            def embed(self, texts):
                assert asked.wait(10)
                return super().embed(texts)

        def watched(execute, sql, params, many, context):
            if "chat_searchwords" in sql or "tsquery" in sql:
                asked.set()
            return execute(sql, params, many, context)

        monkeypatch.setattr(registry, "_embedder", Patient())
        with connection.execute_wrapper(watched):
            assert texts(owner, "boat", "message", "fact") == ["Owns a small ship"]

    def test_by_its_meaning_where_there_is_an_embedder(self, owner, sailor, scripted, monkeypatch):
        asked = "what is the name of my vessel"
        assert find(owner, asked).hits == []
        monkeypatch.setattr(registry, "_embedder", _Meanings())
        assert [hit.id for hit in find(owner, asked).hits] == [sailor.pk]

    def test_what_only_lies_in_the_same_field_of_life_is_not_found(self, owner, make_fact):
        make_fact("User prefers tea")
        make_fact("User is vegetarian", kind="diet")
        bread = make_fact("User bakes bread")
        assert [hit.id for hit in find(owner, "bread").hits] == [bread.pk]
        assert find(owner, "Suggest a dinner").hits == []

    def test_what_means_something_near_but_not_the_same_is_not_found(self, owner, make_fact, monkeypatch):
        monkeypatch.setattr(registry, "_embedder", _Meanings())
        for text, cosine in (("User prefers tea", 0.34), ("User owns a dinghy", 0.36)):
            vector = np.array([cosine, 0, (1 - cosine**2) ** 0.5, 0], dtype=np.float32).tobytes()
            make_fact(text, embedding=vector, embedder="minilm-l6-int8")
        assert [told(hit) for hit in find(owner, "vessel").hits] == ["Owns a dinghy"]

    def test_what_both_find_leads(self, owner, sailor, make_fact, say, scripted, monkeypatch):
        say("Weather", "The ship has a name.")
        make_fact("User sold a ship")
        monkeypatch.setattr(registry, "_embedder", _Meanings())
        assert find(owner, "the small ship of mine or a ship").total >= 1
        assert find(owner, "ship").hits[0].kind == Kind.FACT


def test_what_was_packed_away_is_found_with_its_text(owner, say, django_assert_num_queries):
    from chat.models import Topic, TopicArchive
    from chat.topics.pack import pack

    chat = say("Weather", "A boat needs wind.")
    row = Message.objects.get(content="A boat needs wind.")
    topic = Topic.objects.create(conversation=chat, title="Boats")
    stored = pack({row.seq: row.content})
    archive = TopicArchive.objects.create(topic=topic, data=stored.data, sha256=stored.sha256, count=1)
    Message.objects.filter(pk=row.pk).update(content="", archive=archive, topic=topic)
    assert texts(owner, "boat") == ["A [boat] needs wind."]


def test_among_a_thousand_messages_it_takes_a_fixed_number_of_queries(owner, django_assert_num_queries):
    chats = [
        Conversation.objects.create(owner=owner, app=default_app(owner), title=f"Chat {n}") for n in range(10)
    ]
    Message.objects.bulk_create(
        Message(conversation=chat, seq=n, role="user", content=f"A boat, number {n}")
        for chat in chats
        for n in range(1, 101)
    )
    indexing.fill([chat.pk for chat in chats])
    # Titles, messages, those side by side, and the rows of both; facts; what the page shows.
    with django_assert_num_queries(7):
        assert len(find(owner, "boat number").hits) == 30
    # For titles and messages two times the index, and the titles in which the last word may begin; facts.
    with django_assert_num_queries(6):
        assert find(owner, "chat boat").hits == []
