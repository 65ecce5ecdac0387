"""Where it is unclear which facts a forget means, or many are, the page asks before anything is deleted."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse

from chat.actions import deletions, request_outcomes
from chat.errors import Refused
from chat.jobs.extract import extract_message
from chat.models import Deletion, Fact, MemoryMode, Message, OutcomeKind, RequestOutcome
from tests.jobs.run_extraction import run_extraction_jobs

pytestmark = pytest.mark.django_db
GUESTS = [f"User's birthday guest number {n} is a cousin" for n in range(5)]


@pytest.fixture
def say(clock, scripted, add_exchange):
    """Return a function that sends a message and extracts it; the model names no kind."""

    def send(text, **fields):
        scripted.default_completion = "none"
        conversation = add_exchange(text)
        Message.objects.filter(conversation=conversation, role="user").update(**fields)
        run_extraction_jobs(clock)
        return conversation

    return send


def live_texts():
    return sorted(Fact.objects.live().values_list("text", flat=True))


def read_page(client, conversation):
    return client.get(f"/c/{conversation.pk}/").content.decode()


def answer_url():
    return reverse("request_answer", args=[RequestOutcome.objects.get().pk])


@pytest.fixture
def asked(say, make_fact):
    """A request that may mean one of two facts."""
    make_fact("User has a sister called Noor")
    make_fact("User's sister plays the harp")
    make_fact("User likes jazz")
    return say("Please forget my sister Ada's job.")


def test_what_may_be_meant_is_offered_and_nothing_is_deleted(asked, ours):
    page = read_page(ours, asked)
    assert "Which should be forgotten?" in page
    assert page.count('name="fact"') == 3
    assert "None</button>" in page
    assert not Deletion.objects.exists()


def test_a_press_forgets_the_chosen_fact_with_undo_and_ends_the_question(asked, ours):
    chosen = Fact.objects.get(text="User's sister plays the harp")
    answer = ours.post(answer_url(), {"fact": str(chosen.pk)})
    assert answer.status_code == 302
    assert live_texts() == ["User has a sister called Noor", "User likes jazz"]
    page = read_page(ours, asked)
    assert "Which should be forgotten?" not in page
    assert "Forgotten:" in page
    deletions.undo_deletion(Deletion.objects.get())
    assert len(live_texts()) == 3


def test_none_ends_the_question_and_deletes_nothing(asked, ours):
    assert ours.post(answer_url(), {"fact": ""}, headers={"hx-request": "true"}).status_code == 204
    assert "Which should be forgotten?" not in read_page(ours, asked)
    assert len(live_texts()) == 3


def test_a_fact_that_was_not_offered_is_not_forgotten(asked, ours):
    jazz = Fact.objects.get(text="User likes jazz")
    assert ours.post(answer_url(), {"fact": str(jazz.pk)}, headers={"hx-request": "true"}).status_code == 409
    assert len(live_texts()) == 3


def test_an_answered_question_cannot_be_answered_again(asked):
    outcome = RequestOutcome.objects.get()
    request_outcomes.forget_candidates(outcome, [])
    with pytest.raises(Refused):
        request_outcomes.forget_candidates(outcome, [Fact.objects.first().pk])


def test_more_than_three_meant_facts_are_asked_first(say, make_fact, ours):
    for text in GUESTS:
        make_fact(text)
    conversation = say("Forget my birthday guest cousins.")
    assert live_texts() == GUESTS
    first = Fact.objects.get(text=GUESTS[0])
    ours.post(answer_url(), {"fact": str(first.pk)})
    page = read_page(ours, conversation)
    assert live_texts() == GUESTS[1:]
    assert "Which should be forgotten?" in page
    assert page.count('name="fact"') == 5
    ours.post(answer_url(), {"all": "1"})
    assert live_texts() == []
    assert "Which should be forgotten?" not in read_page(ours, conversation)


def test_a_program_cannot_be_asked_so_all_that_is_meant_is_forgotten_for_a_day(say, make_fact):
    for text in GUESTS:
        make_fact(text)
    say("Forget my birthday guest cousins.", by_program=True)
    assert live_texts() == []
    deletion = Deletion.objects.get()
    assert deletion.expires_at - deletion.pressed_at == timedelta(hours=24)
    deletions.undo_deletion(deletion)
    assert live_texts() == GUESTS


def test_a_day_for_undo_survives_a_restart(say, make_fact, clock):
    from chat.actions.recovery import recover_at_start

    make_fact("User is allergic to nuts")
    say("Please forget that I'm allergic to nuts.", by_program=True)
    recover_at_start(clock(3600))
    clock(3600)
    deletions.undo_deletion(Deletion.objects.get())
    assert live_texts() == ["User is allergic to nuts"]


def test_where_nothing_matches_the_line_says_so(say, make_fact, ours):
    make_fact("User likes jazz")
    conversation = say("Forget that I play the tuba.")
    assert "Nothing in memory matches." in read_page(ours, conversation)


def test_a_repeated_extraction_tells_no_second_outcome(say, make_fact, ours):
    make_fact("User is allergic to nuts")
    conversation = say("Please forget that I'm allergic to nuts.")
    extract_message(Message.objects.select_related("conversation__owner").get(role="user"))
    page = read_page(ours, conversation)
    assert "Forgotten:" in page
    assert "Nothing in memory matches." not in page


def test_a_candidate_that_was_forgotten_by_hand_is_not_offered(asked, ours, owner):
    deletions.forget_facts(owner, [Fact.objects.get(text="User's sister plays the harp").pk])
    assert "plays the harp</button>" not in read_page(ours, asked)


@pytest.mark.parametrize("mode", [MemoryMode.OFF, MemoryMode.READ_ONLY])
def test_with_memory_off_nothing_happens_and_the_line_says_so(
    owner, make_fact, add_exchange, clock, ours, mode
):
    make_fact("User is allergic to nuts")
    conversation = add_exchange("Hello.")
    type(conversation).objects.update(memory_mode=mode)
    conversation.refresh_from_db()
    add_exchange("Please forget that I'm allergic to nuts.", conversation)
    run_extraction_jobs(clock)
    assert live_texts() == ["User is allergic to nuts"]
    assert RequestOutcome.objects.get().kind == OutcomeKind.OFF
    assert "nothing was saved or forgotten" in read_page(ours, conversation)
