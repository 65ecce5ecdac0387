"""When the user returns to a topic that was trimmed from the prompt, the note quotes its messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.context import recall
from chat.context.assembly import PromptShape
from chat.context.prompt import build_prompt
from chat.llm.scripted import ScriptedProvider
from chat.models import Conversation, MemoryMode, Message, Topic


def count(text: str) -> int:
    return len(text) // 4


GARDEN_EXCHANGES = [
    ("I", "How do I keep slugs away from the lettuce?"),
    (
        "You",
        "Put a copper band around the bed. Water in the morning, not in the evening. Beer traps work too.",
    ),
    ("I", "And what about the compost?"),
    ("You", "Turn it every two weeks. Version 2.5 of the plan has a drawing."),
]


def test_the_most_similar_sentences_are_quoted_in_order():
    text = recall.quote_sentences(
        "Which band was it against slugs on the lettuce?", GARDEN_EXCHANGES, 45, count
    )
    assert text.index("I said: How do I keep slugs away") < text.index("You said: Put a copper band")
    assert "drawing" not in text


def test_sentences_of_one_message_are_on_one_line():
    text = recall.quote_sentences("Water and beer traps?", GARDEN_EXCHANGES, 200, count)
    assert (
        "You said: Put a copper band around the bed. Water in the morning, not in the evening. Beer" in text
    )


@pytest.mark.django_db
def test_a_tool_is_quoted_as_a_tool(make_conversation):
    talk = make_conversation(["How warm is it in Oslo?", "8 degrees.", "About boats.", "Yes."])
    topics = [talk.topics.create(title=title) for title in ("weather", "boats")]
    add = Message.objects.create
    for seq, (role, name, text) in enumerate(
        [("tool", "weather", "Oslo: 8 degrees."), ("tool", "", "Wind: 3."), ("system", "", "Be brief.")],
        start=5,
    ):
        add(conversation=talk, seq=seq, role=role, name=name, content=text, topic=topics[0])
    Message.objects.filter(seq__lte=2).update(topic=topics[0])
    Message.objects.filter(seq__in=(3, 4)).update(topic=topics[1])
    asked = Message(conversation=talk, seq=9, role="user", content="And Oslo?", topic=topics[0])
    quotes = recall.list_earlier_quotes(talk, asked, PromptShape(trimmed_through=7, kept=(7,)))
    assert quotes == [
        ("I", "How warm is it in Oslo?"),
        ("You", "8 degrees."),
        ("The tool weather", "Oslo: 8 degrees."),
        ("A tool", "Wind: 3."),
    ]


def test_a_decimal_point_does_not_end_a_sentence():
    assert "Version 2.5 of the plan has a drawing." in recall.quote_sentences(
        "the drawing", GARDEN_EXCHANGES, 200, count
    )


@given(
    st.text(max_size=80),
    st.lists(st.tuples(st.sampled_from(["I", "You", "A tool"]), st.text(max_size=300)), max_size=8),
    st.integers(0, 200),
)
def test_a_quotation_fits_its_budget_and_has_no_fact_or_heading_lines(asked, said, room):
    text = recall.quote_sentences(asked, said, room, count)
    assert count(text) <= room
    assert not any(line.startswith(("- ", "#")) for line in text.split("\n"))


@pytest.fixture
def conversation(make_conversation, db):
    """A conversation on slugs, then on boats; only the messages on boats are in the prompt."""
    texts = [text for _, text in GARDEN_EXCHANGES] + [f"About boats, part {n}." for n in range(8)]
    made = make_conversation(texts, trimmed_through=4)
    garden, boats = (Topic.objects.create(conversation=made, title=name) for name in ("Garden", "Boats"))
    Message.objects.filter(conversation=made, seq__lte=4).update(topic=garden)
    Message.objects.filter(conversation=made, seq__gt=4).update(topic=boats)
    return made


@pytest.fixture
def note_for(conversation, add_user_message):
    """Return a function: it sends a message in a topic, and returns the turn note of the message's prompt."""

    def build_note(title: str, text: str = "Back to the slugs: which band was it?", **changes: object) -> str:
        Conversation.objects.filter(pk=conversation.pk).update(**changes)
        asked = add_user_message(conversation, text)
        asked.topic = Topic.objects.get(title=title)
        asked.save()
        fresh = Conversation.objects.select_related("app", "owner").get(pk=conversation.pk)
        return build_prompt(fresh, asked, ScriptedProvider()).note

    return build_note


def test_returning_to_a_topic_quotes_its_messages(note_for):
    assert "You said: Put a copper band around the bed." in note_for("Garden")


def test_continuing_the_current_topic_quotes_nothing(note_for):
    assert note_for("Boats", "And which band is on the boat?") == ""


def test_messages_in_the_prompt_are_not_quoted(note_for):
    assert note_for("Garden", trimmed_through=0) == ""
    assert note_for("Garden", trimmed_through=4, kept=[1, 2]) == ""


def test_with_memory_off_there_is_no_note(note_for):
    assert note_for("Garden", memory_mode=MemoryMode.OFF) == ""


def test_deleting_a_fact_from_the_note_keeps_the_quotation(note_for, make_fact):
    from chat.memory.formatting import remove_lines

    make_fact("User grows lettuce in a slugs garden")
    note = note_for("Garden")
    facts, quotation = note.split("\n\n")
    assert "- User grows lettuce" in facts
    assert "copper" in quotation
    assert remove_lines(note, {"User grows lettuce in a slugs garden"}) == quotation
