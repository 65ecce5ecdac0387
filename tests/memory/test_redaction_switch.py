"""Secrets stay out of memory, unless the owner or the machine's settings want everything."""

from datetime import date

import pytest

from chat.actions.facts import add_fact
from chat.actions.owners import redacts
from chat.llm.scripted import ScriptedProvider
from chat.memory.extract import extract
from chat.models import OwnerSettings

DAY = date(2026, 5, 4)
SAID = "Remember that my locker password is hunter2hunter."


def test_a_secret_is_not_even_shown_to_the_model():
    provider = ScriptedProvider()
    assert not extract(provider, SAID, today=DAY).candidates
    assert not any("hunter2hunter" in turn.content for call in provider.calls for turn in call.turns)


def test_without_redaction_it_is_kept_as_anything_else():
    found = extract(ScriptedProvider(), SAID, today=DAY, redacting=False)
    assert [candidate.text for candidate in found.candidates] == ["User's locker password is hunter2hunter"]


@pytest.mark.django_db
def test_the_owner_and_the_settings_must_both_want_it(owner, settings):
    assert redacts(owner.pk)
    settings.REDACT_SECRETS = False
    assert not redacts(owner.pk)
    settings.REDACT_SECRETS = True
    OwnerSettings.objects.update_or_create(owner=owner, defaults={"redact_secrets": False})
    assert not redacts(owner.pk)
    assert "hunter2hunter" in add_fact(owner, "My locker password is hunter2hunter").text
