"""What was said of a topic that the prompt has left out is quoted when the user comes back to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.context import recollection
from chat.context.prompt import build
from chat.llm.scripted import ScriptedProvider
from chat.models import Conversation, MemoryMode, Message, Topic


def count(text: str) -> int:
    return len(text) // 4


SAID = [
    (True, "How do I keep slugs away from the lettuce?"),
    (
        False,
        "Put a copper band around the bed. Water in the morning, not in the evening. Beer traps work too.",
    ),
    (True, "And what about the compost?"),
    (False, "Turn it every two weeks. Version 2.5 of the plan has a drawing."),
]


def test_the_sentences_nearest_to_the_question_are_quoted_in_order():
    text = recollection.quoted("Which band was it against slugs on the lettuce?", SAID, 45, count)
    assert text.index("I said: How do I keep slugs away") < text.index("You said: Put a copper band")
    assert "drawing" not in text


def test_sentences_of_one_message_stand_on_one_line():
    text = recollection.quoted("Water and beer traps?", SAID, 200, count)
    assert (
        "You said: Put a copper band around the bed. Water in the morning, not in the evening. Beer" in text
    )


def test_a_number_with_a_point_is_no_end_of_a_sentence():
    assert "Version 2.5 of the plan has a drawing." in recollection.quoted("the drawing", SAID, 200, count)


@given(
    st.text(max_size=80),
    st.lists(st.tuples(st.booleans(), st.text(max_size=300)), max_size=8),
    st.integers(0, 200),
)
def test_it_never_takes_more_than_its_room_and_never_looks_like_a_fact(asked, said, room):
    text = recollection.quoted(asked, said, room, count)
    assert count(text) <= room
    assert not any(line.startswith(("- ", "#")) for line in text.split("\n"))


@pytest.fixture
def conversation(make_conversation, db):
    """Slugs first, then boats; only boats stand in the prompt."""
    texts = [text for _, text in SAID] + [f"About boats, part {n}." for n in range(8)]
    made = make_conversation(texts, trimmed_through=4)
    garden, boats = (Topic.objects.create(conversation=made, title=name) for name in ("Garden", "Boats"))
    Message.objects.filter(conversation=made, seq__lte=4).update(topic=garden)
    Message.objects.filter(conversation=made, seq__gt=4).update(topic=boats)
    return made


@pytest.fixture
def note_for(conversation, say):
    """Returns the note of a message in a topic."""

    def note(title: str, text: str = "Back to the slugs: which band was it?", **changes: object) -> str:
        Conversation.objects.filter(pk=conversation.pk).update(**changes)
        asked = say(conversation, text)
        asked.topic = Topic.objects.get(title=title)
        asked.save()
        fresh = Conversation.objects.select_related("app", "owner").get(pk=conversation.pk)
        return build(fresh, asked, ScriptedProvider()).note

    return note


def test_coming_back_brings_what_was_said(note_for):
    assert "You said: Put a copper band around the bed." in note_for("Garden")


def test_going_on_brings_nothing(note_for):
    assert note_for("Boats", "And which band is on the boat?") == ""


def test_what_stands_in_the_prompt_is_not_quoted(note_for):
    assert note_for("Garden", trimmed_through=0) == ""
    assert note_for("Garden", trimmed_through=4, kept=[1, 2]) == ""


def test_without_memory_there_is_no_note(note_for):
    assert note_for("Garden", memory_mode=MemoryMode.OFF) == ""


def test_facts_and_the_quotation_stand_apart_and_a_forgotten_fact_takes_only_its_own_line(
    note_for, make_fact
):
    from chat.memory.lines import without_lines

    make_fact("User grows lettuce in a slugs garden")
    note = note_for("Garden")
    facts, quotation = note.split("\n\n")
    assert "- User grows lettuce" in facts
    assert "copper" in quotation
    assert without_lines(note, {"User grows lettuce in a slugs garden"}) == quotation
