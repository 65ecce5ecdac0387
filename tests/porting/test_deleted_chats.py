"""Importing a conversation that was deleted creates it again; the dry run's report has a note about it."""

from __future__ import annotations

import pytest

from chat.actions import deletions

from .conftest import as_json, wipe

pytestmark = pytest.mark.django_db
DELETED_NOTE = "Chats that you deleted here are imported again as new chats."


def test_a_deleted_conversation_is_imported_as_new_with_a_note(owner, add_exchange, import_document):
    chat = add_exchange("About bread")
    older = as_json(owner)
    assert DELETED_NOTE not in import_document(older).notes
    deletion = deletions.delete_conversation(chat)
    deletions.finish_deletion(deletion.pk, deletion.expires_at + 2 * deletions.UNDO_GRACE)
    outcome = import_document(older)
    assert (outcome.conversations.added, outcome.notes) == (1, [DELETED_NOTE])
    assert import_document(older).notes == []


def test_there_is_no_note_after_the_account_was_erased(owner, add_exchange, import_document):
    add_exchange("About bread")
    older = as_json(owner)
    wipe(owner)
    assert import_document(older).notes == []
