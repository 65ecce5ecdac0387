"""The facts that memory found in a conversation, and those in a text that is not stored, as JSON."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from chat.actions import deletions, graph, text_extraction
from chat.actions.extraction import record_extraction
from chat.errors import ConnectionLost, ProviderError
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry
from chat.llm.types import Lane
from chat.memory.candidates import Extraction, FactCandidate, RefusedFact
from chat.memory.kinds import KINDS, get_extraction_type
from chat.models import Conversation, Fact, FactEvent, Message, UsageRecord
from tests.doors.isolation.watch import read_rows

pytestmark = pytest.mark.django_db
TEXT = "I'm building a zeppelin. I hate marzipan."
# The model is asked about each sentence by itself.
ANSWERS = ["building: User is building a zeppelin", "dislikes: User hates marzipan"]


def candidate(text: str, kind: str) -> FactCandidate:
    return FactCandidate(text, kind, KINDS[kind].category, "", hedged=False, quote=text)


@pytest.fixture
def record(talk):
    """Return a function that records what was found in a new message, and returns the message."""

    def found(*candidates: FactCandidate, conversation=None, **more) -> Message:
        asked, reply = talk("Something that I say.", conversation)
        Message.objects.filter(pk=reply.pk).update(state="complete")
        extraction = Extraction(list(candidates), **more)
        record_extraction(asked, extraction, [None] * len(candidates), "", 0.5)
        return asked

    return found


class TestOfAConversation:
    def test_each_message_has_the_facts_that_were_found_in_it(self, program, record):
        asked = record(
            candidate("User is building Selene", "building"),
            candidate("User runs on Mondays", "habit"),
            candidate("User lives in Oslo", "home"),
            candidate("User prefers local-first", "likes"),
            refused=[RefusedFact("User may move", "is-hedged")],
        )
        page = program("GET", f"conversations/{asked.conversation_id}/extractions").json()
        assert (page["total"], page["next"]) == (1, None)
        [found] = page["items"]
        assert found["facts"] == [
            {"fact": "User is building Selene", "type": "context", "confidence": 0.75},
            {"fact": "User runs on Mondays", "type": "pattern", "confidence": 0.75},
            {"fact": "User lives in Oslo", "type": "fact", "confidence": 0.75},
            {"fact": "User prefers local-first", "type": "preference", "confidence": 0.75},
        ]
        assert found["refused"] == [{"fact": "User may move", "reason": "the user was not sure"}]
        assert (found["message"], found["stored"], found["error"]) == (str(asked.pk), 4, "")

    def test_a_known_fact_was_found_as_well(self, program, record):
        record(candidate("User likes tea", "likes"))
        asked = record(candidate("User likes tea", "likes"))
        [found] = program("GET", f"conversations/{asked.conversation_id}/extractions").json()["items"]
        assert found["facts"] == [{"fact": "User likes tea", "type": "preference", "confidence": 0.9}]
        assert (found["stored"], found["reinforced"]) == (0, 1)

    def test_an_earlier_wording_is_told_as_it_was_found(self, program, record):
        asked = record(candidate("User likes tea", "likes"))
        program("PATCH", f"facts/{Fact.objects.get().pk}", {"text": "User likes green tea"}, if_match="*")
        [found] = program("GET", f"conversations/{asked.conversation_id}/extractions").json()["items"]
        assert [fact["fact"] for fact in found["facts"]] == ["User likes tea"]

    def test_a_fact_that_is_being_deleted_or_was_deleted_is_left_out(self, program, record, owner):
        asked = record(candidate("User likes tea", "likes"))
        path = f"conversations/{asked.conversation_id}/extractions"
        deletion = deletions.forget_facts(owner, [Fact.objects.get().pk])
        assert program("GET", path).json()["items"][0]["facts"] == []
        deletions.finish_deletion(deletion.pk, timezone.now() + timedelta(minutes=1))
        assert program("GET", path).json()["items"][0]["facts"] == []

    def test_a_text_erased_from_the_history_is_left_out(self, program, record):
        asked = record(candidate("User likes tea", "likes"))
        FactEvent.objects.update(after={"category": "preference", "kind": "likes"})
        [found] = program("GET", f"conversations/{asked.conversation_id}/extractions").json()["items"]
        assert found["facts"] == []

    def test_the_list_is_in_the_order_of_the_messages_and_has_pages(self, program, record):
        first = record(candidate("User likes tea", "likes"))
        chat = first.conversation
        second = record(candidate("User likes rum", "likes"), conversation=chat)
        page = program("GET", f"conversations/{chat.pk}/extractions?limit=1").json()
        assert [run["message"] for run in page["items"]] == [str(first.pk)]
        rest = program("GET", page["next"]).json()
        assert [run["message"] for run in rest["items"]] == [str(second.pk)]
        assert [fact["fact"] for fact in rest["items"][0]["facts"]] == ["User likes rum"]

    def test_ten_messages_need_as_many_queries_as_one(self, program, record, django_assert_max_num_queries):
        asked = record(candidate("User likes tea", "likes"))
        for number in range(9):
            record(candidate(f"User likes rum {number}", "likes"), conversation=asked.conversation)
        path = f"conversations/{asked.conversation_id}/extractions"
        program("GET", path)
        with django_assert_max_num_queries(7):
            assert len(program("GET", path).json()["items"]) == 10

    def test_a_failed_extraction_has_its_error_as_a_sentence(self, program, record):
        asked = record(error="extraction-unreadable")
        [found] = program("GET", f"conversations/{asked.conversation_id}/extractions").json()["items"]
        assert found["facts"] == []
        assert found["error"].startswith("The model's answer could not be read twice")

    def test_another_conversation_is_not_in_the_list(self, program, record):
        record(candidate("User likes tea", "likes"))
        other = record()
        [found] = program("GET", f"conversations/{other.conversation_id}/extractions").json()["items"]
        assert found["facts"] == []

    @pytest.mark.parametrize("query", ["limit=0", "limit=101", "offset=-1", "limit=many"])
    def test_bad_parameters_are_refused(self, program, record, query):
        asked = record()
        answer = program("GET", f"conversations/{asked.conversation_id}/extractions?{query}")
        assert answer.status_code == 422

    def test_a_deleted_or_unknown_conversation_has_none(self, program, record):
        asked = record()
        deletions.delete_conversation(asked.conversation)
        assert program("GET", f"conversations/{asked.conversation_id}/extractions").status_code == 404
        assert program("GET", "conversations/nothing/extractions").status_code == 404


def everything() -> dict[Any, Any]:
    return {key: row for key, row in read_rows().items() if key[0] not in ("UsageRecord", "Job")}


class TestOfAText:
    def test_the_facts_in_a_text_are_returned_and_nothing_is_stored(self, program, scripted):
        scripted.completions.extend(ANSWERS)
        before = everything()
        answer = program("POST", "extract", {"text": TEXT})
        assert answer.status_code == 200
        assert answer.json()["facts"] == [
            {"fact": "User is building a zeppelin", "type": "context", "confidence": 0.75},
            {"fact": "User hates marzipan", "type": "preference", "confidence": 0.75},
        ]
        assert answer.json()["error"] == ""
        assert everything() == before
        assert not Conversation.objects.exists()

    def test_the_calls_are_interactive_and_only_their_cost_is_recorded(self, program, scripted, owner):
        scripted.completions.extend(ANSWERS)
        program("POST", "extract", {"text": TEXT})
        assert {call.lane for call in scripted.calls} == {Lane.INTERACTIVE}
        records = UsageRecord.objects.filter(owner=owner)
        assert {(row.purpose, row.lane) for row in records} == {("extract", "interactive")}
        assert records.count() == len(scripted.calls)

    def test_a_question_gives_a_short_answer_its_meaning(self, program, scripted):
        scripted.completions.append("health: User is allergic to peanuts")
        body = {"text": "Yes, peanuts.", "question": "Do you have any allergies?"}
        answer = program("POST", "extract", body)
        assert [fact["fact"] for fact in answer.json()["facts"]] == ["User is allergic to peanuts"]
        assert "Do you have any allergies?" in scripted.calls[0].turns[-1].content

    def test_what_is_not_in_the_words_is_refused_with_a_reason(self, program, scripted):
        scripted.completions.extend(["home: User lives in Oslo"] * 3)
        answer = program("POST", "extract", {"text": "I have lived in a quiet place for years."}).json()
        assert answer["facts"] == []
        assert answer["refused"][0]["fact"] == "User lives in Oslo"
        assert answer["refused"][0]["reason"]

    def test_a_sentence_about_a_project_of_the_owner_is_read_as_in_a_message(
        self, program, scripted, make_fact, owner
    ):
        fact = make_fact("User is building Selene", kind="building", category="project")
        graph.sync_facts(owner, [fact])
        scripted.completions.append("tools: Selene is written in TypeScript")
        answer = program("POST", "extract", {"text": "Selene is written in TypeScript."}).json()
        assert [found["fact"] for found in answer["facts"]] == ["Selene is written in TypeScript"]

    def test_secrets_are_redacted(self, program, scripted):
        scripted.completions.append("none")
        program("POST", "extract", {"text": "I live in Oslo and my password is hunter2-Rope!"})
        assert "hunter2" not in str([call.turns for call in scripted.calls])

    def test_an_answer_that_cannot_be_read_gives_no_facts_and_the_error(self, program, scripted):
        scripted.completions.extend(["what?", "what?"])
        answer = program("POST", "extract", {"text": TEXT})
        assert (answer.status_code, answer.json()["facts"]) == (200, [])
        assert answer.json()["error"].startswith("The model's answer could not be read twice")

    def test_a_text_too_long_for_the_window_gives_the_error(self, program, scripted):
        scripted.context_window = 100
        answer = program("POST", "extract", {"text": TEXT})
        assert answer.json()["error"] == "This conversation is longer than the model's window."

    @pytest.mark.django_db(transaction=True)
    def test_no_transaction_is_open_while_the_model_works(self, program, scripted):
        open_transactions = []

        def answer(turns) -> str:
            open_transactions.append(connection.in_atomic_block)
            return ANSWERS[0]

        scripted.completions.append(answer)
        program("POST", "extract", {"text": TEXT})
        assert open_transactions == [False]

    def test_nothing_of_the_text_is_logged(self, program, scripted, caplog):
        caplog.set_level(logging.DEBUG)
        scripted.completions.extend([*ANSWERS, ProviderError("verbatim", sentence="away")])
        program("POST", "extract", {"text": TEXT})
        program("POST", "extract", {"text": TEXT})
        logged = caplog.text.lower()
        assert "zeppelin" not in logged
        assert "marzipan" not in logged

    @pytest.mark.parametrize("state", [ModelState.MISSING, ModelState.LOADING, ModelState.AWAY])
    def test_without_a_model_the_answer_is_a_problem(self, program, state):
        registry.set_status(ModelStatus(state))
        answer = program("POST", "extract", {"text": TEXT})
        assert answer.status_code == 503
        assert answer.json()["type"].endswith("no-model")

    def test_a_slow_model_is_stopped_and_the_answer_says_when_to_try_again(
        self, program, scripted, monkeypatch
    ):
        monkeypatch.setattr(text_extraction, "MAX_SECONDS", 0.0)

        def wait_for_the_limit(turns) -> str:
            time.sleep(0.2)
            return "what?"

        scripted.completions.append(wait_for_the_limit)
        answer = program("POST", "extract", {"text": TEXT})
        assert (answer.status_code, answer.json()["detail"]) == (503, "The model took too long.")
        assert answer.json()["type"].endswith("busy")
        assert answer.headers["Retry-After"] == "5"

    @pytest.mark.parametrize(
        ("error", "kind"),
        [(ConnectionLost(), "busy"), (ProviderError("engine-failed", what="OSError"), "no-model")],
    )
    def test_a_failing_model_is_a_problem(self, program, scripted, error, kind):
        scripted.completions.append(error)
        answer = program("POST", "extract", {"text": TEXT})
        assert answer.status_code == 503
        assert answer.json()["type"].endswith(kind)

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"text": ""},
            {"text": 7},
            {"text": "x" * 20_001},
            {"text": TEXT, "question": "x" * 2_001},
            {"text": TEXT, "store": True},
        ],
    )
    def test_a_bad_body_is_refused_and_the_model_is_not_asked(self, program, scripted, body):
        answer = program("POST", "extract", body)
        assert answer.status_code == 422
        assert answer.json()["errors"]
        assert scripted.calls == []

    def test_only_post_is_supported(self, program):
        assert program("GET", "extract").status_code == 405

    @pytest.mark.parametrize("text", ["How are you?", "   ", "```\nx = 1\n```"])
    def test_a_text_that_states_nothing_is_not_sent_to_the_model(self, program, scripted, text):
        assert program("POST", "extract", {"text": text}).json()["facts"] == []
        assert scripted.calls == []


def test_every_kind_has_a_type():
    assert {get_extraction_type(kind) for kind in KINDS} == {"preference", "fact", "pattern", "context"}
