"""The words of a sentence correct the kind that a small model gave it."""

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
    ],
)
def test_the_words_decide_where_they_are_sure(proposed, text, kind):
    assert settle_kind(proposed, text) == kind
