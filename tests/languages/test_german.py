"""German is complete: every message is translated, says the same things, and is what the running app uses."""

from __future__ import annotations

import gettext
import re
import shutil
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.utils import translation

from .po import Entry, read

FOLDER = Path(settings.LOCALE_PATHS[0]) / "de" / "LC_MESSAGES"
ENTRIES = read(FOLDER / "django.po")
PLACES = re.compile(r"%\(\w+\)[sd]|%[sd%]|\{\w+\}|</?\w+[^>]*>")


def places(text: str) -> list[str]:
    """Return what is put into a text and the elements in it, which both languages must have."""
    return sorted(PLACES.findall(text))


def test_there_is_something_to_read():
    assert len(ENTRIES) > 300


def test_every_message_is_translated_and_none_is_a_guess():
    assert [e.key for e in ENTRIES if e.fuzzy or not e.translations or not all(e.translations.values())] == []
    assert [e.key for e in ENTRIES if e.plural and set(e.translations) != {0, 1}] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.key[:40])
def test_a_translation_holds_what_its_message_holds(entry: Entry):
    for number, text in entry.translations.items():
        assert places(text) == places(entry.plural if number and entry.plural else entry.texts["msgid"])
        assert text[:1].isspace() == entry.key[:1].isspace()
        assert text[-1:].isspace() == entry.key[-1:].isspace()


def test_german_has_german_quotes_and_says_du():
    said = [text for e in ENTRIES for text in e.translations.values()]
    assert [t for t in said if "“" in t and t.count("„") != t.count("“")] == []
    assert [t for t in said if re.search(r"(?<!^)(?<![.:!?] )\b(?:Sie|Ihre[nmrs]?|Ihnen)\b", t)] == []
    # Quotes of elements are the only straight ones.
    assert [t for t in said if '"' in re.sub(r"<[^>]*>", "", t)] == []


def test_the_compiled_file_is_made_from_the_text():
    with (FOLDER / "django.mo").open("rb") as file:
        catalog = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    compiled = {key: text for key, text in catalog.items() if key}
    written = {}
    for entry in ENTRIES:
        for number, text in entry.translations.items():
            written[(entry.key, number) if entry.plural else entry.key] = text
    assert compiled == written


@pytest.mark.skipif(shutil.which("xgettext") is None, reason="gathering messages needs GNU gettext")
def test_no_message_of_the_code_is_missing_in_the_text(tmp_path, monkeypatch):
    # Where a folder of languages lies beside the code, it would be written into.
    for name in ("chat", "templates", "memoryapp"):
        shutil.copytree(
            settings.BASE_DIR / name, tmp_path / name, ignore=shutil.ignore_patterns("locale", "__pycache__")
        )
    (tmp_path / "locale").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(settings, "LOCALE_PATHS", [str(tmp_path / "locale")])
    call_command("makemessages", locale=["xx"], keep_pot=False, verbosity=0)
    gathered = {entry.key for entry in read(tmp_path / "locale" / "xx" / "LC_MESSAGES" / "django.po")}
    assert gathered - {entry.key for entry in ENTRIES} == set()
    assert {entry.key for entry in ENTRIES} - gathered == set()


@pytest.mark.django_db
def test_the_pages_speak_german_and_tell_times_in_german(ours, talk, time_machine):
    time_machine.move_to("2026-03-01 12:00+00:00", tick=False)
    asked, _ = talk("Hallo")
    german = {"accept-language": "de"}
    page = ours.get(f"/c/{asked.conversation_id}/", headers=german).content.decode()
    assert "heute, 12:00" in page
    assert "1. März 2026 12:00" in page
    for word in ("Neues Gespräch", "Einstellungen", "Allgemein", "Schreib eine Nachricht"):
        assert word in page


def test_our_aliases_of_the_translation_functions_are_those_that_are_gathered():
    aliases = set()
    for path in (settings.BASE_DIR / "chat").rglob("*.py"):
        aliases |= set(re.findall(r"translation import \w+ as (\w+)", path.read_text()))
    assert aliases <= {"_", "lazy"}


def test_a_sentence_of_a_room_without_django_is_said_in_german():
    from chat.views.spoken import said

    with translation.override("de"):
        assert said("The model is still loading.") == "Das Modell wird noch geladen."
        assert said("“Oslo” is not in the user's words") == "„Oslo“ steht nicht in deinen Worten"
        nested = "The model could not be loaded. The model's engine failed (OSError)."
        assert said(nested) == (
            "Das Modell ließ sich nicht laden. Beim Rechnen des Modells gab es einen Fehler (OSError)."
        )
        assert said("Something that nobody knows.") == "Something that nobody knows."
        assert said("") == ""
