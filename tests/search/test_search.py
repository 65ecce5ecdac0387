"""What a search finds, in which order, and for which owner."""

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

from chat.actions import deletions, indexing, message_edits
from chat.actions.messages import finish_reply, send_message
from chat.actions.owners import default_app
from chat.llm.registry import registry
from chat.models import Conversation, Fact, Message
from chat.search.search import WINDOW, HitKind, find

from .conftest import find_texts, mark_pieces

pytestmark = pytest.mark.django_db


class TestWords:
    """Words match in any order, case and spelling; the last one may be a prefix."""

    def test_all_words_match_in_any_case_and_order(self, owner, add_exchange):
        add_exchange("Weather", "Wind und Über-Segel, ÄRGER am Boot.")
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
            assert len(find_texts(owner, query)) == 1, query
        assert find_texts(owner, "wind mast") == []

    def test_letters_with_strokes_match_plain_letters(self, owner, add_exchange):
        add_exchange("Weather", "Smørrebrød in Łódź.")
        for query in ("lodz", "Łódź", "smorrebrod", "smoerrebroed", "smørre"):
            assert len(find_texts(owner, query)) == 1, query

    def test_an_umlaut_matches_its_two_letter_spelling(self, owner, add_exchange):
        add_exchange("Weather", "Wir fahren nach Muenchen.")
        assert find_texts(owner, "München") == ["Wir fahren nach [Muenchen]."]

    def test_the_last_word_matches_as_a_prefix(self, owner, add_exchange):
        add_exchange("Weather", "The sailboat needs wind.")
        assert find_texts(owner, "wind sai") == ["The [sai]lboat needs [wind]."]

    def test_a_prefix_after_rare_words_is_found(self, owner, add_exchange, monkeypatch):
        chat = add_exchange("Weather", "Zanzibar has themes, e-mail and air.")
        add_exchange("Sea", "The theory of zanzibar.", chat)
        wanted = {"zanzibar the": 2, "zanzibar them": 1, "zanzibar e-ma": 1, "zanzibar hem": 1, "sea the": 0}
        wanted |= {"zanzibar e-mail a": 0, "zanzibar ai": 1, "nothing the": 0, "zanzibar münchen": 0}
        assert {query: len(find_texts(owner, query)) for query in wanted} == wanted
        # With so small a window the prefix is searched in the index instead of in the candidates.
        monkeypatch.setattr("chat.search.search.WINDOW", 2)
        assert {query: len(find_texts(owner, query)) for query in wanted} == wanted

    def test_quoted_phrases_match_adjacent_words(self, owner, add_exchange):
        add_exchange("Weather", "A fair wind.", add_exchange("Sea", "The wind is fair."))
        assert find_texts(owner, '"fair wind"') == ["A [fair wind]."]
        assert len(find_texts(owner, "fair wind")) == 2

    def test_scripts_without_spaces_are_found(self, owner, add_exchange):
        add_exchange("你好", "我住在上海，周末喜欢看电影。")
        add_exchange("こんにちは", "東京でラーメンを食べました。")
        add_exchange("สวัสดี", "ฉันอยู่ที่กรุงเทพ")
        assert find_texts(owner, "上海") == ["我住在[上海]，周末喜欢看电影。"]
        assert find_texts(owner, "电影 上海") == ["我住在[上海]，周末喜欢看[电影]。"]
        assert find_texts(owner, "海上") == []
        assert find_texts(owner, "ラーメン") == ["東京で[ラーメン]を食べました。"]
        assert len(find_texts(owner, "กรุงเทพ")) == 1

    def test_signs_are_found(self, owner, add_exchange):
        add_exchange("Weather", "100 % sure about C++, not C.")
        assert find_texts(owner, "c++") == ["100 % sure about [C++], not C."]
        assert find_texts(owner, "%") == ["100 [%] sure about C++, not C."]

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from('"*():^-+ aANDORNEAR'))))
    def test_any_query_is_accepted(self, owner, typed):
        found = find(owner, typed)
        assert found.hits == []

    def test_a_query_of_any_length_is_accepted(self, owner, add_exchange):
        add_exchange("My boat")
        assert find(owner, "boat " * 100_000).hits != []
        assert find(owner, "ship-" * 100_000).hits == []
        assert find(owner, "\x00boat").hits != []


class TestOrder:
    """Better matches come first, and newer ones among equals."""

    def test_adjacent_words_rank_over_close_over_distant_ones(self, owner, add_exchange):
        chat = add_exchange("Weather", "A fair wind.")
        add_exchange("Weather", "The wind is fair.", chat)
        add_exchange("Weather", f"Fair {'weather ' * 30} wind.", chat)
        assert [text[:9] for text in find_texts(owner, "fair wind")] == [
            "A [fair] ",
            "The [wind",
            "[Fair] we",
        ]

    def test_a_whole_word_ranks_over_a_prefix(self, owner, add_exchange):
        add_exchange("Weather", "A boathouse.", add_exchange("Sea", "A boat."))
        assert find_texts(owner, "boat") == ["A [boat].", "A [boat]house."]

    def test_newer_messages_come_first_even_if_indexed_earlier(self, owner, add_exchange):
        chat = add_exchange("Weather", "A boat, first.")
        add_exchange("Weather", "A boat, second.", chat)
        old = Message.objects.create(conversation=chat, seq=90, role="user", content="A boat, long ago.")
        Message.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=400))
        indexing.index_messages([old])
        assert find_texts(owner, "boat") == ["A [boat], second.", "A [boat], first.", "A [boat], long ago."]

    def test_facts_rank_over_titles_over_messages(self, owner, add_exchange, make_fact):
        add_exchange("Weather", "A boat.")
        add_exchange("My boat")
        make_fact("User owns a boat")
        kinds = [hit.kind for hit in find(owner, "boat").hits]
        assert kinds == ["fact", "conversation", "message", "message"]

    def test_scores_decrease_and_pages_continue(self, owner, add_exchange):
        chat = add_exchange("Weather")
        for n in range(8):
            add_exchange(f"boat {n}", chat=chat)
        whole = find(owner, "boat", limit=100)
        scores = [hit.score for hit in whole.hits]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)
        pages = [hit for start in range(0, 9, 3) for hit in find(owner, "boat", limit=3, offset=start).hits]
        assert [hit.id for hit in pages] == [hit.id for hit in whole.hits]
        assert whole.total == 8
        assert not whole.many

    def test_of_many_matches_the_newest_and_older_adjacent_ones_are_found(self, owner):
        chat = Conversation.objects.create(owner=owner, app=default_app(owner), title="Sea")
        contents = ["A fair wind."] + [f"The wind is fair, {n}." for n in range(WINDOW + 20)]
        Message.objects.bulk_create(
            Message(conversation=chat, seq=n, role="user", content=text) for n, text in enumerate(contents)
        )
        indexing.fill_index([chat.pk])
        found = find(owner, "fair wind", kinds=[HitKind.MESSAGE])
        assert mark_pieces(found.hits[0]) == "A [fair] [wind]."
        assert mark_pieces(found.hits[1]).endswith(f"{WINDOW + 19}.")
        assert found.many

    def test_other_owners_texts_do_not_change_scores(self, owner, other, add_exchange, talk):
        add_exchange("Weather", "A boat and a boat.", add_exchange("Sea", "Wind and a boat."))
        before = [(hit.id, hit.score) for hit in find(owner, "boat wind b").hits]
        for n in range(20):
            send_message(other, f"boat boat boat {n}")
        assert [(hit.id, hit.score) for hit in find(owner, "boat wind b").hits] == before


class TestVisibility:
    """Only data that the owner can see in a list is found."""

    def test_a_deleted_conversation_is_found_only_after_undo(self, owner, add_exchange):
        deletion = deletions.delete_conversation(add_exchange("My boat"))
        assert find(owner, "boat").hits == []
        deletions.undo_deletion(deletion)
        assert len(find(owner, "boat").hits) == 2

    def test_a_temporary_conversation_is_not_found(self, owner):
        send_message(owner, "A boat again", temporary=True)
        assert find(owner, "boat").hits == []

    def test_other_owners_and_anonymous_users_find_nothing(self, owner, other, add_exchange, make_fact):
        add_exchange("My boat")
        make_fact("User owns a boat")
        assert find(other, "boat").hits == []
        assert find(AnonymousUser(), "boat").hits == []
        assert find(None, "boat").hits == []

    def test_replaced_messages_are_not_found(self, owner, add_exchange):
        chat = add_exchange("Weather", "A boat")
        new = message_edits.retry_reply(Message.objects.get(content="A boat"))
        finish_reply(new, "A raft", "complete")
        assert find_texts(owner, "boat") == []
        assert find_texts(owner, "raft") == ["A [raft]"]
        asked = Message.objects.get(conversation=chat, content="Weather")
        message_edits.resend_message(asked, "Climate")
        assert find_texts(owner, "raft") == []
        assert [mark_pieces(hit) for hit in find(owner, "climate", kinds=[HitKind.CONVERSATION]).hits] == [
            "[Climate]"
        ]
        assert find(owner, "weather").hits == []

    def test_deleted_superseded_and_archived_facts_are_not_found(self, owner, make_fact):
        deletions.forget_facts(owner, [make_fact("User owns a boat").pk])
        make_fact("User owns a boat", superseded_at=timezone.now())
        make_fact("User owns a boat", archived_at=timezone.now())
        assert find(owner, "boat").hits == []

    def test_system_and_tool_messages_are_not_found(self, owner, add_exchange):
        chat = add_exchange("Weather")
        for n, role in enumerate(("system", "tool"), start=50):
            row = Message.objects.create(conversation=chat, seq=n, role=role, content="A boat")
            indexing.index_messages([row])
        indexing.fill_index([chat.pk])
        assert find_texts(owner, "boat") == []


class _StubEmbedder:
    """An embedder that gives texts on boats, ships and vessels one vector and all others another."""

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
    """Facts are found by words, and by meaning if there are vectors."""

    @pytest.fixture
    def ship_fact(self, make_fact) -> Fact:
        vector = np.array([1, 0, 0, 0], dtype=np.float32).tobytes()
        make_fact("User is fond of the old bakery", embedding=None)
        return make_fact("User owns a small ship", embedding=vector, embedder="minilm-l6-int8")

    def test_a_fact_is_found_by_its_displayed_words(self, owner, ship_fact):
        [hit] = find(owner, "small ship").hits
        assert (hit.kind, hit.id, mark_pieces(hit)) == ("fact", ship_fact.pk, "Owns a [small] [ship]")
        assert hit.conversation is None
        assert find(owner, "user").hits == []

    def test_the_query_is_embedded_during_the_index_search(self, owner, ship_fact, monkeypatch):
        asked = threading.Event()

        class WaitingEmbedder(_StubEmbedder):
            def embed(self, texts):
                assert asked.wait(10)
                return super().embed(texts)

        def watch_queries(execute, sql, params, many, context):
            if "chat_searchwords" in sql or "tsquery" in sql:
                asked.set()
            return execute(sql, params, many, context)

        monkeypatch.setattr(registry, "_embedder", WaitingEmbedder())
        with connection.execute_wrapper(watch_queries):
            assert find_texts(owner, "boat", "message", "fact") == ["Owns a small ship"]

    def test_a_fact_is_found_by_its_meaning(self, owner, ship_fact, scripted, monkeypatch):
        asked = "what is the name of my vessel"
        assert find(owner, asked).hits == []
        monkeypatch.setattr(registry, "_embedder", _StubEmbedder())
        assert [hit.id for hit in find(owner, asked).hits] == [ship_fact.pk]

    def test_facts_of_the_same_domain_only_are_not_found(self, owner, make_fact):
        make_fact("User prefers tea")
        make_fact("User is vegetarian", kind="diet")
        bread = make_fact("User bakes bread")
        assert [hit.id for hit in find(owner, "bread").hits] == [bread.pk]
        assert find(owner, "Suggest a dinner").hits == []

    def test_facts_below_the_similarity_threshold_are_not_found(self, owner, make_fact, monkeypatch):
        monkeypatch.setattr(registry, "_embedder", _StubEmbedder())
        for text, cosine in (("User prefers tea", 0.34), ("User owns a dinghy", 0.36)):
            vector = np.array([cosine, 0, (1 - cosine**2) ** 0.5, 0], dtype=np.float32).tobytes()
            make_fact(text, embedding=vector, embedder="minilm-l6-int8")
        assert [mark_pieces(hit) for hit in find(owner, "vessel").hits] == ["Owns a dinghy"]

    def test_a_fact_found_by_words_and_meaning_comes_first(
        self, owner, ship_fact, make_fact, add_exchange, scripted, monkeypatch
    ):
        add_exchange("Weather", "The ship has a name.")
        make_fact("User sold a ship")
        monkeypatch.setattr(registry, "_embedder", _StubEmbedder())
        assert find(owner, "the small ship of mine or a ship").total >= 1
        assert find(owner, "ship").hits[0].kind == HitKind.FACT


def test_an_archived_message_is_found_with_its_text(owner, add_exchange, django_assert_num_queries):
    from chat.models import Topic, TopicArchive
    from chat.topics.pack import pack_contents

    chat = add_exchange("Weather", "A boat needs wind.")
    row = Message.objects.get(content="A boat needs wind.")
    topic = Topic.objects.create(conversation=chat, title="Boats")
    stored = pack_contents({row.seq: row.content})
    archive = TopicArchive.objects.create(topic=topic, data=stored.data, sha256=stored.sha256, count=1)
    Message.objects.filter(pk=row.pk).update(content="", archive=archive, topic=topic)
    assert find_texts(owner, "boat") == ["A [boat] needs wind."]


def test_a_search_among_a_thousand_messages_uses_a_fixed_number_of_queries(owner, django_assert_num_queries):
    chats = [
        Conversation.objects.create(owner=owner, app=default_app(owner), title=f"Chat {n}") for n in range(10)
    ]
    Message.objects.bulk_create(
        Message(conversation=chat, seq=n, role="user", content=f"A boat, number {n}")
        for chat in chats
        for n in range(1, 101)
    )
    indexing.fill_index([chat.pk for chat in chats])
    # Queries: titles, titles with parts of words, messages, adjacent matches, the rows of both, the time
    # zone, facts, and the data that the page shows.
    with django_assert_num_queries(9):
        assert len(find(owner, "boat number").hits) == 30
    # Queries: the index twice for titles and twice for messages, titles that match the prefix, parts of words
    # in both, the time zone, and facts.
    with django_assert_num_queries(9):
        assert find(owner, "chat boat").hits == []
