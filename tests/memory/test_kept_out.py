"""What the user asked not to save is in no title, summary or app memory."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import pytest

from chat.context.summary import summarise
from chat.context.title import generate_title
from chat.errors import ProviderError
from chat.memory.app_memories import write_app_memory
from chat.memory.kept_out import leave_out_kept
from chat.models import Message

PLAN = "I want to plant ferns in the shade behind my house this autumn."
SAID = f"{PLAN} Off the record: I'm looking for a new job."


def make_messages(*texts):
    return [
        Message(role="user" if n % 2 else "assistant", content=text, seq=n) for n, text in enumerate(texts, 1)
    ]


def read_prompts(scripted):
    return str([turn.content for call in scripted.calls for turn in call.turns])


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (SAID, PLAN),
        ("I'm looking for a new job. Don't save that. I like tea.", "I like tea."),
        ("Don't save this. I'm looking for a new job. I like tea.", "I like tea."),
        ("I like tea.\n\nAnd coffee.", "I like tea.\n\nAnd coffee."),
    ],
)
def test_only_what_is_to_be_kept_out_is_left_out(said, left):
    said_by_user, reply = make_messages(said, "Good luck with the new job.")
    kept = leave_out_kept([said_by_user, reply])
    assert kept[0].content == left
    assert said_by_user.content == said


@pytest.mark.parametrize(
    "said", ["Off the record: I'm looking for a new job.", "Please forget that I'm allergic to nuts.", SAID]
)
def test_the_reply_to_a_request_is_left_out_because_it_repeats_it(said):
    texts = ["I like tea.", "So do many.", said, "I have forgotten it.", "And coffee.", "Noted."]
    kept = [m.content for m in leave_out_kept(make_messages(*texts))]
    assert (kept[1], kept[3], kept[5]) == ("So do many.", "", "Noted.")


@pytest.mark.parametrize(
    "write", [generate_title, partial(write_app_memory, summary=""), partial(summarise, before="")]
)
def test_no_text_about_a_conversation_is_written_from_it(scripted, write):
    scripted.default_completion = lambda turns: "The user wants to plant ferns."
    with suppress(ProviderError):
        write(scripted, messages=make_messages(SAID, "Ferns like shade."))
    assert "ferns" in read_prompts(scripted)
    assert "new job" not in read_prompts(scripted)
