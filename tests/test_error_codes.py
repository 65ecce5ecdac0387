"""Errors have a code and parameters; their sentence is created in the reader's language when shown."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from chat.actions.owners import default_app
from chat.error_messages import describe
from chat.error_sentences import SENTENCES
from chat.errors import (
    AppError,
    Busy,
    ModelNotReady,
    Reason,
    Refused,
    from_english,
    status_of,
    to_english,
)
from chat.models import Conversation, ExtractionRun, Job, Message, MessageState

migration = import_module("chat.migrations.0014_errors_by_code")

CHAT = Path(settings.BASE_DIR) / "chat"
ERRORS = {name for name, kind in vars(import_module("chat.errors")).items() if isinstance(kind, type)}


def find_raised_codes() -> set[str]:
    """Return the codes that the product raises, by the literal first argument of the error."""
    found = set()
    for path in CHAT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS and node.args:
                first = node.args[0]
                choices = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
                found |= {
                    c.value for c in choices if isinstance(c, ast.Constant) and isinstance(c.value, str)
                }
    return found


def test_every_code_that_is_raised_has_a_sentence():
    raised = find_raised_codes()
    assert len(raised) > 80
    assert raised <= set(SENTENCES)


def test_a_code_without_a_sentence_raises_a_key_error():
    with pytest.raises(KeyError):
        Refused("no-such-code")


def test_an_error_is_english_in_logs_and_keeps_its_parameters():
    error = Refused("message-too-long", most=200_000)
    assert str(error) == "This message is longer than 200,000 characters. Send it in parts."
    assert (error.code, error.reason.params) == ("message-too-long", {"most": 200_000})


def test_numbers_are_formatted_for_the_readers_language():
    with translation.override("de"):
        assert "200.000" in describe(Refused("message-too-long", most=200_000))


texts = st.text(st.characters(codec="utf-8"), max_size=40)


@given(st.sampled_from(["name-not-in-words"]), texts)
def test_a_reason_survives_encoding(code, name):
    reason = Reason(code, {"name": name})
    assert Reason.decode(reason.encode()) == reason


@given(texts)
def test_any_other_text_is_no_reason(text):
    if text.split(" ")[0] not in SENTENCES:
        assert Reason.decode(text) is None
        assert describe(text) == text


def test_a_nested_reason_survives_encoding():
    reason = Reason("model-not-loaded", {"why": Reason("model-file-broken")})
    assert Reason.decode(reason.encode()) == reason


@pytest.mark.parametrize(
    "stored", ['name-not-in-words {"name": "Osl', "name-not-in-words", 'name-not-in-words {"other": "x"}']
)
def test_an_incomplete_stored_reason_is_shown_unchanged(stored):
    assert Reason.decode(stored) is None
    assert describe(stored) == stored


def test_codes_are_exported_as_sentences_and_imported_as_codes():
    assert to_english("stopped-by-user") == "You stopped this reply."
    assert from_english("You stopped this reply.") == "stopped-by-user"
    assert to_english(from_english("Written by nobody.")) == "Written by nobody."


def test_each_error_has_its_http_status():
    assert status_of(Busy("reply-in-progress")) == 409
    assert status_of(Refused("fact-gone")) == 409
    assert status_of(Refused("text-empty")) == 422
    assert status_of(ModelNotReady("no-model")) == 503
    assert isinstance(ModelNotReady("no-model"), AppError)


@pytest.mark.django_db
class TestMigration:
    def test_known_sentences_become_codes_and_others_stay(self, owner):
        conversation = Conversation.objects.create(owner=owner, app=default_app(owner))

        def reply(seq, failure):
            return Message.objects.create(
                conversation=conversation,
                seq=seq,
                role="assistant",
                state=MessageState.FAILED,
                failure=failure,
            )

        known = reply(1, "You stopped this reply.")
        filled = reply(2, "The model's server refused the request (503).")
        foreign = reply(3, "Something of another program.")
        refused = [
            {"text": "a", "reason": "said in play"},
            {"text": "b", "reason": "“Oslo” is not in the user's words"},
            {"text": "c", "reason": "because"},
        ]
        run = ExtractionRun.objects.create(message=known, refused=refused, error="The model gave no summary.")
        job = Job.objects.create(kind="x", last_error="ProviderError: The model gave no title.")
        other = Job.objects.create(kind="y", last_error="ValueError: no")
        migration.forward(apps, None)
        for row in (known, filled, foreign, run, job, other):
            row.refresh_from_db()
        assert known.failure == "stopped-by-user"
        assert filled.failure == 'server-refused {"what": "503"}'
        assert describe(filled.failure) == "The model's server refused the request (503)."
        assert foreign.failure == "Something of another program."
        assert [r["reason"] for r in run.refused] == [
            "is-role-play",
            'name-not-in-words {"name": "Oslo"}',
            "because",
        ]
        assert run.error == "no-summary"
        assert (job.last_error, other.last_error) == ("no-title", "ValueError: no")

    def test_each_code_of_the_migration_has_a_sentence(self):
        codes = set(migration.CODES.values()) | {code for _, code in migration.PATTERNS}
        assert codes <= set(SENTENCES)
