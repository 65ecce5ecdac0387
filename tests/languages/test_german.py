"""German is complete: every message is translated with the same placeholders, and the app uses it."""

from __future__ import annotations

import gettext
import re
import shutil
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.utils import translation

from chat.error_messages import describe
from chat.errors import Reason

from .po_file import PoEntry, read_po

FOLDER = Path(settings.LOCALE_PATHS[0]) / "de" / "LC_MESSAGES"
ENTRIES = read_po(FOLDER / "django.po")
PLACES = re.compile(r"%\(\w+\)[sd]|%[sd%]|\{\w+\}|</?\w+[^>]*>")


def placeholders(text: str) -> list[str]:
    """Return the placeholders and elements of a text, which both languages must share."""
    return sorted(PLACES.findall(text))


def test_the_po_file_has_entries():
    assert len(ENTRIES) > 300


def test_every_message_is_translated_and_not_fuzzy():
    assert [e.key for e in ENTRIES if e.fuzzy or not e.translations or not all(e.translations.values())] == []
    assert [e.key for e in ENTRIES if e.plural and set(e.translations) != {0, 1}] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.key[:40])
def test_a_translation_has_the_placeholders_of_its_message(entry: PoEntry):
    for number, text in entry.translations.items():
        assert placeholders(text) == placeholders(
            entry.plural if number and entry.plural else entry.texts["msgid"]
        )
        assert text[:1].isspace() == entry.key[:1].isspace()
        assert text[-1:].isspace() == entry.key[-1:].isspace()


def test_german_uses_german_quotes_and_the_informal_address():
    said = [text for e in ENTRIES for text in e.translations.values()]
    assert [t for t in said if "“" in t and t.count("„") != t.count("“")] == []
    assert [t for t in said if re.search(r"(?<!^)(?<![.:!?] )\b(?:Sie|Ihre[nmrs]?|Ihnen)\b", t)] == []
    # Straight quotes are allowed only in attributes of elements.
    assert [t for t in said if '"' in re.sub(r"<[^>]*>", "", t)] == []


def test_the_mo_file_matches_the_po_file():
    with (FOLDER / "django.mo").open("rb") as file:
        catalog = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    compiled = {key: text for key, text in catalog.items() if key}
    written = {}
    for entry in ENTRIES:
        for number, text in entry.translations.items():
            written[(entry.key, number) if entry.plural else entry.key] = text
    assert compiled == written


@pytest.mark.skipif(shutil.which("xgettext") is None, reason="gathering messages needs GNU gettext")
def test_the_po_file_has_exactly_the_messages_of_the_code(tmp_path, monkeypatch):
    # makemessages would write into a locale folder beside the code, so it runs on a copy.
    for name in ("chat", "templates", "memoryapp"):
        shutil.copytree(
            settings.BASE_DIR / name, tmp_path / name, ignore=shutil.ignore_patterns("locale", "__pycache__")
        )
    (tmp_path / "locale").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(settings, "LOCALE_PATHS", [str(tmp_path / "locale")])
    call_command("makemessages", locale=["xx"], keep_pot=False, verbosity=0)
    gathered = {entry.key for entry in read_po(tmp_path / "locale" / "xx" / "LC_MESSAGES" / "django.po")}
    assert gathered - {entry.key for entry in ENTRIES} == set()
    assert {entry.key for entry in ENTRIES} - gathered == set()


@pytest.mark.django_db
def test_pages_and_times_are_german(ours, talk, time_machine):
    time_machine.move_to("2026-03-01 12:00+00:00", tick=False)
    asked, _ = talk("Hallo")
    german = {"accept-language": "de"}
    page = ours.get(f"/c/{asked.conversation_id}/", headers=german).content.decode()
    assert "heute, 12:00" in page
    assert "1. März 2026 12:00" in page
    for word in ("Neues Gespräch", "Einstellungen", "Allgemein", "Schreib eine Nachricht"):
        assert word in page


def test_translation_functions_are_imported_under_known_aliases():
    aliases = set()
    for path in (settings.BASE_DIR / "chat").rglob("*.py"):
        aliases |= set(re.findall(r"translation import \w+ as (\w+)", path.read_text()))
    assert aliases <= {"_", "lazy"}


def test_error_reasons_are_described_in_german():
    with translation.override("de"):
        assert describe(Reason("model-still-loading")) == "Das Modell wird noch geladen."
        assert describe('name-not-in-words {"name": "Oslo"}') == "„Oslo“ steht nicht in deinen Worten"
        nested = Reason("model-not-loaded", {"why": Reason("engine-failed", {"what": "OSError"})})
        german = "Das Modell ließ sich nicht laden. Beim Rechnen des Modells gab es einen Fehler (OSError)."
        assert describe(nested) == german
        assert describe(nested.encode()) == german
        assert describe("Something that nobody knows.") == "Something that nobody knows."
        assert describe("") == ""
