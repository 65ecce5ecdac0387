"""A message that asks for something said before gets the sentences of past conversations, others get none."""

from datetime import date

import pytest

from chat.context import past_chats
from chat.context.budget import MEMORY_MAX
from chat.models import App, Conversation, Message, PromptReport, Quotation
from tests.past_chats.conftest import list_quoted, read_prompt

COURSE = (
    "I need a name for my sourdough course.",
    "How about Rise Together, Crumb School or Slow Dough?",
    "Slow Dough it is.",
    "Great choice.",
)
ASKED = "Which name did we settle on for the bread course?"


def test_what_was_settled_is_quoted(remember, ask):
    remember(*COURSE)
    prompt = ask(ASKED)
    assert "Slow Dough it is." in list_quoted(prompt)
    assert "Slow Dough it is." in prompt.turns[-1].content
    assert prompt.turns[-1].content.endswith(ASKED)


def test_a_suggestion_of_the_assistant_is_quoted(remember, ask):
    remember(
        "How do I get red wine out of wool?", "Use cold water with a spoon of white vinegar, never hot water."
    )
    assert "vinegar" in " ".join(list_quoted(ask("What was that trick you told me for wine stains?")))


def test_another_language_is_quoted(remember, ask):
    remember("The boiler code is 4471 and the plumber is called Ostrowski.", "Saved in this chat.")
    assert "Ostrowski" in " ".join(list_quoted(ask("Wie hieß noch mal der Klempner?")))


def test_of_two_values_the_newest_comes_first(remember, ask):
    remember("My flight to Lima is on 3 March.", "Have a good flight then.", days=9)
    remember("The airline moved my Lima flight to 7 March.", "Good to know that.", days=2)
    text = " ".join(list_quoted(ask("When do I fly to Lima again?")))
    assert text.index("7 March") < text.index("3 March")


@pytest.mark.parametrize(
    "text",
    [
        "Write a haiku about autumn rain.",
        "Thanks, that's great!",
        "Hi!",
        "What is the capital of Norway?",
        "How long does sourdough have to rest in the fridge?",
        "My sister moved to Ghent last week.",
        "Wie lange muss ein Sauerteig gehen?",
    ],
)
def test_a_message_that_needs_nothing_of_the_past_gets_no_quotation(remember, ask, text):
    remember(*COURSE)
    prompt = ask(text)
    assert prompt.quotations == []
    assert "earlier chats" not in read_prompt(prompt)


def test_the_quotations_stay_within_their_room(remember, ask, monkeypatch):
    for n in range(12):
        remember(f"The sourdough course number {n} is called Slow Dough {n}.", f"Slow Dough {n} sounds good.")
    for speed in (20.0, 50.0, 2000.0):
        monkeypatch.setattr(past_chats, "measure_reading_speed", lambda owner, speed=speed: speed)
        prompt = ask("What are the names of my sourdough courses that we settled on?")
        spent = len(past_chats.render(prompt.quotations)) / 4
        assert spent <= min(3 * speed, MEMORY_MAX) + 1
        assert bool(prompt.quotations) == (3 * speed > past_chats._LEAST_ROOM)


def test_a_follow_up_replays_the_quotations_unchanged(remember, ask):
    remember(*COURSE)
    first = ask(ASKED)
    conversation = Quotation.objects.first().message.conversation
    second = ask("And when does it start?", conversation)
    assert [t.content for t in second.turns[: len(first.turns)]] == [t.content for t in first.turns]


def test_a_sentence_is_not_quoted_twice_in_one_prompt(remember, ask):
    remember(*COURSE)
    ask(ASKED)
    conversation = Quotation.objects.first().message.conversation
    prompt = ask("Remind me, which name did we settle on for the sourdough course?", conversation)
    assert read_prompt(prompt).count("Slow Dough it is.") == 1


def test_the_report_counts_the_quotations(remember, ask):
    remember(*COURSE)
    prompt = ask(ASKED)
    report = PromptReport.objects.get()
    assert report.sections["past_chats"] == prompt.sections["past_chats"] > 0
    assert sum(report.sections.values()) == prompt.tokens


def test_the_words_of_a_quotation_are_not_stored_again(remember, ask):
    remember(*COURSE)
    ask(ASKED)
    assert Quotation.objects.exists()
    assert not Message.objects.filter(note__contains="Slow Dough").exists()


def test_a_compaction_leaves_the_quotations_out_first(remember, ask, provider):
    remember(*COURSE)
    ask(ASKED)
    conversation = Quotation.objects.first().message.conversation
    provider.context_window = 2048
    for n in range(8):
        prompt = ask(f"Tell me more about number {n}. " + "word " * 150, conversation)
        if prompt.stage:
            break
    assert prompt.stage
    assert "earlier chats, quoted" not in read_prompt(prompt)
    conversation.refresh_from_db()
    assert conversation.unquoted_through > 0


def test_without_an_embedder_nothing_is_quoted(store_chat, index_all, ask):
    store_chat(*COURSE)
    index_all(None)
    assert ask(ASKED).quotations == []


def test_the_year_is_told_only_where_it_differs():
    assert past_chats.write_day(date(2026, 3, 1), 2026) == "1 March"
    assert past_chats.write_day(date(2025, 3, 1), 2026) == "1 March 2025"


def test_the_quotations_keep_their_bytes_when_the_year_ends(remember, ask, clock):
    remember(*COURSE)
    prompt = ask(ASKED)
    conversation = Conversation.objects.latest("created_at")
    clock(400 * 86_400)
    assert ask("Thanks!", conversation).turns[: len(prompt.turns)] == prompt.turns


def test_a_reply_that_repeats_past_chats_ranks_below_what_it_repeats(remember, ask, index_all, embedder):
    remember("Invent something for my flyer.", "Slow Dough would be a nice name of the bread course.")
    ask(ASKED)
    wrong = "The name of your bread course is Flour Hour."
    Message.objects.filter(content="Understood.").update(content=wrong)
    index_all(embedder)
    present = Conversation.objects.create(
        owner=Message.objects.first().conversation.owner, app=App.objects.get()
    )
    _, ranked = past_chats.find_needed_sentences(present, "What is the name of my bread course?", embedder)
    texts = [one.text for one in ranked]
    assert texts.index("Slow Dough would be a nice name of the bread course.") < texts.index(wrong)
