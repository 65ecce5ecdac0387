"""The display of facts leaves "User" out in every language, and changes nothing else."""

from __future__ import annotations

import pytest

from chat.memory.formatting import format_for_display

CASES = [
    ("User lives in Oslo", "Lives in Oslo"),
    ("User is a React developer", "React developer"),
    ("User is building a boat", "Building a boat"),
    ("User is allergic to nuts", "Allergic to nuts"),
    ("User is not on call in May", "Not on call in May"),
    ("User is 52 years old", "52 years old"),
    ("User can't stand loud restaurants", "Can't stand loud restaurants"),
    ("User's name is Maya", "Name: Maya"),
    ("User’s birthday is 3 May", "Birthday: 3 May"),
    ("User's sister Ingrid collects stamps", "Sister Ingrid collects stamps"),
    ("User's wife is Ximena", "Wife is Ximena"),
    ("The user likes tea", "Likes tea"),
    ("Nutzer wohnt in Hamburg", "Wohnt in Hamburg"),
    ("Nutzerin ist Imkerin", "Imkerin"),
    ("Nutzer ist ein Fan von Union", "Fan von Union"),
    ("Nutzer ist allergisch gegen Nüsse", "Allergisch gegen Nüsse"),
    ("Nutzer heißt Jonas", "Heißt Jonas"),
    ("Die Schwester des Nutzers spielt Geige", "Die Schwester spielt Geige"),
    ("L'utilisateur habite à Lyon", "Habite à Lyon"),
    ("L’utilisatrice est une infirmière", "Infirmière"),
    ("L'utilisateur n'aime pas le bruit", "N'aime pas le bruit"),
    ("La sœur de l'utilisatrice vend des bols", "La sœur vend des bols"),
    ("La usuaria vive en Quito", "Vive en Quito"),
    ("El usuario es carpintero", "Carpintero"),
    ("Al usuario le gusta el jazz", "Le gusta el jazz"),
    ("La hermana del usuario se llama Ana", "La hermana se llama Ana"),
    ("L'utente vive a Roma", "Vive a Roma"),
    ("L'utente è un falegname", "Falegname"),
    ("All'utente piace il jazz", "Piace il jazz"),
    ("A usuária mora em Recife", "Mora em Recife"),
    ("O usuário é enfermeiro", "Enfermeiro"),
    ("用户住在上海", "住在上海"),
    ("用户是教师", "教师"),
]
AS_THEY_ARE = [
    "I like chess",
    "User and Ximena live together",
    "User interfaces should be calm",
    "User stories are written on Mondays",
    "Nutzeroberflächen sollen ruhig sein",
    "用户体验很重要",
    "Users of the shop pay in cash",
    "User",
    "",
]


@pytest.mark.parametrize(("kept", "seen"), CASES)
def test_the_word_for_the_user_is_removed(kept, seen):
    assert format_for_display(kept) == seen


@pytest.mark.parametrize("text", AS_THEY_ARE)
def test_other_beginnings_stay_unchanged(text):
    assert format_for_display(text) == text


@pytest.mark.parametrize(
    ("kept", "seen"),
    [
        ("User lives in Oslo", "lives in Oslo"),
        ("User is a React developer", "React developer"),
        ("User's name is Maya", "name is Maya"),
        ("Nutzerin ist Imkerin", "Imkerin"),
        ("I like chess", "I like chess"),
    ],
)
def test_inside_a_sentence_the_text_begins_in_lower_case(kept, seen):
    assert format_for_display(kept, inside=True) == seen


@pytest.mark.parametrize(("kept", "seen"), CASES)
def test_formatting_is_idempotent(kept, seen):
    assert format_for_display(seen) == seen
