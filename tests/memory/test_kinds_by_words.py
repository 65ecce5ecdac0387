"""Rules correct the kind that a small model proposes."""

import pytest

from chat.memory.kind_rules import settle_kind


@pytest.mark.parametrize(
    ("proposed", "text", "kind"),
    [
        ("tools", "User collects fountain pens", "likes"),
        ("habit", "User restores a jukebox from the fifties", "building"),
        ("job", "User restores clocks", "job"),
        ("job", "User looks after the website of the allotment club", "building"),
        ("event", "User's magazine premieres on 21 January", "deadline"),
        ("dislikes", "User has eleven alpacas, not seven", "pet"),
        ("dislikes", "O usuário é celíaca", "health"),
        ("building", "User operates a tower crane in Gdynia", "job"),
        ("job", "La usuaria está restaurando el reloj de la catedral", "building"),
        ("family", "User keeps sheep", "pet"),
        ("building", "User is at Klarna", "employer"),
        ("event", "User started at Lidl on Monday", "employer"),
        ("event", "Nutzer ist nach Erfurt gezogen", "home"),
        ("event", "User and Carla got divorced", "relationship"),
        ("goal", "User wants to avoid exclamation marks", "reply_style"),
        ("name", "User's app is called Rainbook", "event"),
        ("dislikes", "User is left-handed", "event"),
        ("likes", "User hikes on Sundays", "likes"),
        ("habit", "User plays hockey on Wednesdays", "habit"),
        ("habit", "User plays hockey every Wednesday", "habit"),
        ("likes", "User doesn't like horror films", "dislikes"),
        ("home", "User moved everything over to Elixir in spring", "tools"),
        ("home", "User moved back to Split", "home"),
        ("employer", "User is not going back", "event"),
        ("reply_style", "User wants Fedora on all their machines", "tools"),
        ("event", "User is organising a village fête", "building"),
        ("job", "User is repairing a gramophone", "building"),
        ("event", "L'utente è intollerante al lattosio", "health"),
        ("age", "L'utente non mangia carne da quando aveva 15 anni", "habit"),
        ("job", "L'utilisateur code un petit jeu en Rust", "building"),
        ("job", "O usuário estuda todo dia das 5 às 7", "habit"),
        ("job", "Nutzer ist Vegetarierin", "diet"),
        ("diet", "User eats no pork", "habit"),
        ("diet", "User doesn't eat fish", "habit"),
        ("dislikes", "Nutzer isst nie Fisch", "habit"),
        ("diet", "User only eats halal food", "diet"),
    ],
)
def test_the_rules_override_the_proposed_kind(proposed, text, kind):
    assert settle_kind(proposed, text) == kind


@pytest.mark.parametrize(
    ("proposed", "text"),
    [
        ("building", "User is building Selene for ADHD management"),
        ("building", "User is writing a cookbook for people with diabetes"),
        ("building", "Nutzer entwickelt eine App für Menschen mit Asthma"),
        ("building", "La usuaria está desarrollando una web de recetas para celíacos"),
        ("job", "User works as a nurse on a dialysis ward"),
        ("job", "User teaches deaf children"),
        ("employer", "User works for the Asthma Society"),
        ("tools", "User uses an app that predicts migraines"),
        ("learning", "User is learning to cook vegan food"),
        ("goal", "User plans to go vegan in spring"),
    ],
)
def test_an_activity_keeps_its_kind_although_it_is_about_health_or_food(proposed, text):
    assert settle_kind(proposed, text) == proposed


@pytest.mark.parametrize(
    ("proposed", "text", "kind"),
    [
        ("building", "User has ADHD", "health"),
        ("job", "User is diabetic and is a teacher", "health"),
        ("building", "User was diagnosed with asthma while building a boat", "health"),
        ("goal", "User is allergic to nuts", "health"),
        ("job", "User is vegan", "diet"),
        ("tools", "User wears a hearing aid", "health"),
    ],
)
def test_a_condition_or_a_diet_of_the_user_is_not_taken_for_an_activity(proposed, text, kind):
    assert settle_kind(proposed, text) == kind
