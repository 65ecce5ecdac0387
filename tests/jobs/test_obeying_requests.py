"""Memory obeys a message that asks it to remember, forget or correct something, or not to save it."""

from __future__ import annotations

import pytest

from chat.actions import deletions
from chat.jobs import runner
from chat.llm.registry import registry
from chat.models import Deletion, DeletionState, ExtractionRun, Fact, Message, Origin
from tests.jobs.run_extraction import run_extraction_jobs
from tests.small_model import load_real_embedder

pytestmark = pytest.mark.django_db


@pytest.fixture
def say(clock, scripted, add_exchange):
    """Return a function that sends a message, with the model's answers, and extracts it."""

    def send(text, *answers):
        scripted.completions.clear()
        scripted.completions.extend(answers)
        conversation = add_exchange(text)
        run_extraction_jobs(clock)
        return conversation

    return send


def live_texts():
    return sorted(Fact.objects.live().values_list("text", flat=True))


def test_what_a_message_asks_to_forget_is_forgotten_and_can_be_undone(say, make_fact):
    make_fact("User is allergic to nuts", kind="health", category="identity")
    make_fact("User lives in Leeds", kind="home", category="identity")
    conversation = say("Please forget that I'm allergic to nuts.", "health: User is allergic to nuts")
    assert live_texts() == ["User lives in Leeds"]
    deletion = Deletion.objects.get()
    assert deletion.message == Message.objects.get(conversation=conversation, role="user")
    deletions.undo_deletion(deletion)
    assert live_texts() == ["User is allergic to nuts", "User lives in Leeds"]


def test_the_words_of_a_request_to_forget_are_recorded_nowhere(say, make_fact, clock):
    make_fact("User is allergic to nuts")
    say("Forget that I'm allergic to nuts.")
    assert "nuts" not in str(ExtractionRun.objects.get().refused)
    clock(deletions.REQUEST_UNDO_WINDOW.total_seconds() + 2)
    runner.run_due(["finish_deletion"])
    assert Deletion.objects.get().state == DeletionState.DONE
    assert not Fact.objects.exists()


def test_a_request_that_means_no_fact_or_too_many_changes_nothing(say, make_fact):
    for n in range(5):
        make_fact(f"User's birthday guest number {n} is a cousin")
    before = live_texts()
    say("Forget my birthday guest list.")
    say("Forget that I play the tuba.")
    assert live_texts() == before
    assert not Deletion.objects.exists()


@pytest.mark.model
@pytest.mark.parametrize(
    ("message", "remain"),
    [
        ("can you forget what you know about my salary", ["User has two cats", "User works as an optician"]),
        # It is not clear which fact is meant.
        ("forget what I said about my hobbies", None),
    ],
)
def test_a_fact_is_found_by_meaning_where_that_is_clear(say, make_fact, monkeypatch, message, remain):
    embedder = load_real_embedder()
    monkeypatch.setattr(registry, "embedder", lambda: embedder)
    texts = ["User earns 48000 pounds a year", "User works as an optician", "User has two cats"]
    for text, vector in zip(texts, embedder.embed(texts), strict=True):
        make_fact(text, embedding=vector.tobytes(), embedder=embedder.name)
    say(message)
    assert live_texts() == (remain or sorted(texts))


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("You've got that wrong, I never lived in Oslo.", "User lives in Oslo"),
        ("I don't have a niece called Bea, that was a character in my book.", "User has a niece called Bea"),
        ("C'est faux, je n'ai pas de chien.", "L'utilisateur a un chien"),
        ("No no, my daughter's name is Frida, not Hannah.", "User's daughter is called Hannah"),
    ],
)
def test_what_the_user_says_is_wrong_is_ended(say, make_fact, message, fact):
    make_fact(fact, kind="family", category="identity")
    make_fact("User is a teacher", kind="job", category="identity")
    say(message)
    assert live_texts() == ["User is a teacher"]
    ended = Fact.objects.get(text=fact)
    assert ended.archived_at is not None


def test_a_denial_is_not_kept_in_the_own_words_of_the_user(say, make_fact, monkeypatch):
    embedder = load_real_embedder()
    monkeypatch.setattr(registry, "embedder", lambda: embedder)
    make_fact("User has a niece called Bea", kind="family", category="identity")
    say("I don't have a niece called Bea, that was a character in my book.", "none", "none")
    assert live_texts() == []


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("I don't drink coffee after noon.", "User drinks coffee"),
        ("I never said that I drink coffee at work.", "User drinks coffee"),
        ("That's wrong, 7 times 8 is 56, not 54.", "User is 54 years old"),
        ("No, I don't have time today.", "User has a dog"),
    ],
)
def test_a_negation_of_something_else_ends_nothing(say, make_fact, message, fact):
    make_fact(fact)
    say(message)
    assert live_texts() == [fact]


@pytest.mark.parametrize(
    "message",
    [
        "Off the record: I'm looking for a new job. I live in Leeds.",
        "I live in Leeds. I'm looking for a new job, but please don't store that.",
        "I live in Leeds. I'm looking for a new job. Don't save that.",
        "Don't save this. I'm looking for a new job. I live in Leeds.",
    ],
)
def test_what_is_to_be_kept_out_is_not_read(say, scripted, message):
    say(message, "home: User lives in Leeds")
    assert live_texts() == ["User lives in Leeds"]
    assert "new job" not in str(scripted.calls)
    assert "new job" not in str(ExtractionRun.objects.get().refused)


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("Can you remember that I'm vegetarian?", "diet: User is vegetarian"),
        ("I'm vegetarian, could you keep that in mind?", "diet: User is vegetarian"),
        ("Kannst du dir merken, dass ich vegan bin?", "diet: Nutzer ist vegan"),
    ],
)
def test_a_polite_question_to_remember_is_a_request(say, message, answer):
    say(message, answer)
    fact = Fact.objects.live().get()
    assert fact.origin == Origin.TOLD


def test_the_reply_shows_what_its_message_asked_to_forget(say, make_fact, ours):
    make_fact("User is allergic to nuts")
    conversation = say("Please forget that I'm allergic to nuts.")
    page = ours.get(f"/c/{conversation.pk}/").content.decode()
    assert "Forgotten as you asked" in page
    assert "<span>allergic to nuts</span>" in page


@pytest.mark.parametrize(
    "marker", ["Don't store that pls.", "no need to remember that though", "(off the record)"]
)
def test_a_marker_after_a_sentence_keeps_that_sentence_out(say, scripted, marker):
    say(f"I live in Leeds. I'm looking for a new job. {marker}", "home: User lives in Leeds")
    assert live_texts() == ["User lives in Leeds"]
    assert "new job" not in str(scripted.calls)


def test_a_message_that_only_asks_not_to_save_means_the_next_one(say, add_exchange, scripted, clock):
    conversation = say("Don't save this:")
    add_exchange("I'm looking for a new job.", conversation)
    run_extraction_jobs(clock)
    assert scripted.calls == []
    scripted.completions.append("home: User lives in Leeds")
    add_exchange("I live in Leeds.", conversation)
    run_extraction_jobs(clock)
    assert live_texts() == ["User lives in Leeds"]


def test_the_model_says_of_which_kind_is_what_other_words_name(say, make_fact):
    make_fact("Nutzer lebt in Kassel", kind="home", category="identity", language="de")
    make_fact("Nutzer ist Bäcker", kind="job", category="identity", language="de")
    say("Kannst du bitte löschen, wo ich wohne?", "home: Nutzer wohnt dort")
    assert live_texts() == ["Nutzer ist Bäcker"]
    say("Forget that I live in Rome.", "home: User lives in Rome")
    assert live_texts() == ["Nutzer ist Bäcker"]
