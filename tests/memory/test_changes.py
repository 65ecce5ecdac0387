"""Words that say that something is over, otherwise now, or so as well."""

import pytest

from chat.memory.changes import adds, changes, ends, matter


@pytest.mark.parametrize(
    "text",
    [
        "I dropped the bookshop website, it's over.",
        "We sold the boat",
        "I left Spotify",
        "I no longer learn Dutch",
        "I don't eat meat anymore",
        "Carla and I got divorced",
        "Farid and I called the engagement off",
        "We gave Ziggy, the ferret, away to my aunt",
        "We had to put our horse down",
        "Mit der Gitarre habe ich aufgehört",
        "Ich rauche nicht mehr",
        "Je ne fume plus",
        "On a vendu la maison",
        "Ya no trabajo de noche",
        "Dejé el gimnasio",
        "Non fumo più",
        "Ho smesso di fumare",
        "Já não bebo café",
        "Vendi o barco",
        "我不学钢琴了",
        "我戒了烟",
    ],
)
def test_an_ending_is_recognised_in_every_language(text):
    assert ends(text)
    assert changes(text)
    assert not adds(text)


@pytest.mark.parametrize(
    "text",
    ["I live in Oslo", "I'm left-handed", "Ich lerne Klavier", "J'aime le vin", "我喜欢游泳", "I own a boat"],
)
def test_a_plain_statement_neither_ends_nor_changes_anything(text):
    assert not ends(text)
    assert not changes(text)


@pytest.mark.parametrize(
    "text",
    ["I love techno too", "I also got a cat", "Ich spiele auch Bass", "J'aime aussi le vin", "我也喜欢游泳"],
)
def test_what_holds_as_well_takes_nothing_back(text):
    assert adds(text)
    assert not ends(text)


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("User no longer learns Dutch", "User is learning Dutch"),
        ("User dropped the kayak", "User's kayak"),
        ("User never swims in winter", "User swims in winter"),
    ],
)
def test_the_matter_of_a_sentence_is_what_it_is_about_and_not_how_it_stands(text, same_as):
    assert matter(text) == matter(same_as)
