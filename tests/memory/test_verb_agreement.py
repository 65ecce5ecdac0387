"""Verbs that a small model copies in the first person are corrected."""

from __future__ import annotations

import pytest

from chat.memory.normalize import conjugate_third_person


@pytest.mark.parametrize(
    ("note", "said", "right"),
    [
        ("Nutzer lerne Ungarisch", "Ich lerne Ungarisch.", "Nutzer lernt Ungarisch"),
        ("Nutzer esse keinen Fisch", "Fisch esse ich nicht.", "Nutzer isst keinen Fisch"),
        ("Nutzerin arbeite bei Siemens", "Ich arbeite bei Siemens", "Nutzerin arbeitet bei Siemens"),
        ("Nutzer lernet für die Prüfung", "Ich lern grad für die Prüfung", "Nutzer lernt für die Prüfung"),
        ("Nutzer lernen Dari", "Ich bin dabei, Dari zu lernen", "Nutzer lernt Dari"),
        ("Nutzer habe hohen Blutdruck", "ich habe hohen Blutdruck", "Nutzer hat hohen Blutdruck"),
        ("Nutzer sammle Münzen", "Ich sammle Münzen", "Nutzer sammelt Münzen"),
        ("Nutzer zeichne gern", "Ich zeichne gern", "Nutzer zeichnet gern"),
        ("Nutzer wohne in Ulm", "ich wohne in Ulm", "Nutzer wohnt in Ulm"),
        ("La usuaria encanta el son jarocho", "me encanta el son", "A la usuaria le encanta el son jarocho"),
        ("El usuario no gusta el mar", "no me gusta el mar", "Al usuario no le gusta el mar"),
        ("L'utente piace il jazz", "mi piace il jazz", "All'utente piace il jazz"),
    ],
)
def test_a_copied_first_person_is_corrected(note, said, right):
    assert conjugate_third_person(note, said) == right


@pytest.mark.parametrize(
    "note",
    [
        "Nutzer lernt Ungarisch",
        "Nutzer arbeitet bei Siemens",
        "Nutzer möchte kurze Antworten",
        "Nutzer mag keine Oliven",
        "User lives in Oslo",
        "A la usuaria le gusta el mar",
        "用户住在成都",
    ],
)
def test_correct_verbs_stay_unchanged(note):
    assert conjugate_third_person(note, "ich lerne, ich arbeite, ich möchte, ich mag, ich bete") == note
