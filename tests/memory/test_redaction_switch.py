"""Secrets are redacted unless both the owner and the settings turn redaction off."""

from datetime import date

import pytest

from chat.actions.facts import add_fact
from chat.actions.owners import redacts_secrets
from chat.llm.scripted import ScriptedProvider
from chat.memory.extract import extract_facts
from chat.models import OwnerSettings

DAY = date(2026, 5, 4)
SAID = "Remember that my locker password is hunter2hunter."


def test_the_prompt_contains_no_secret():
    provider = ScriptedProvider()
    assert not extract_facts(provider, SAID, today=DAY).candidates
    assert not any("hunter2hunter" in turn.content for call in provider.calls for turn in call.turns)


def test_without_redaction_a_secret_is_stored():
    found = extract_facts(ScriptedProvider(), SAID, today=DAY, redacting=False)
    assert [candidate.text for candidate in found.candidates] == ["User's locker password is hunter2hunter"]


@pytest.mark.django_db
def test_redaction_is_off_only_if_owner_and_settings_turn_it_off(owner, settings):
    assert redacts_secrets(owner.pk)
    settings.REDACT_SECRETS = False
    assert not redacts_secrets(owner.pk)
    settings.REDACT_SECRETS = True
    OwnerSettings.objects.update_or_create(owner=owner, defaults={"redact_secrets": False})
    assert not redacts_secrets(owner.pk)
    assert "hunter2hunter" in add_fact(owner, "My locker password is hunter2hunter").text
