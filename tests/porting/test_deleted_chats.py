"""A chat that was deleted here comes back with a file that has it, and is told to before."""

from __future__ import annotations

import pytest

from chat.actions import deletions

from .conftest import as_json, wipe

pytestmark = pytest.mark.django_db
TOLD = "Chats that you have deleted here count as new: they come back."


def test_it_counts_as_new_and_the_look_says_so(owner, spoken, taken):
    chat = spoken("About bread")
    older = as_json(owner)
    assert TOLD not in taken(older).notes
    deletion = deletions.delete_conversation(chat)
    deletions.finish(deletion.pk, deletion.expires_at + 2 * deletions.GRACE)
    outcome = taken(older)
    assert (outcome.conversations.added, outcome.notes) == (1, [TOLD])
    assert taken(older).notes == []


def test_after_everything_was_deleted_that_is_what_the_file_is_for(owner, spoken, taken):
    spoken("About bread")
    older = as_json(owner)
    wipe(owner)
    assert taken(older).notes == []
