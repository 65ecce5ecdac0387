"""Words that state an ending, a change or an addition."""

import pytest

from chat.memory.change_markers import extract_topic_stems, states_addition, states_change, states_ending


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
    assert states_ending(text)
    assert states_change(text)
    assert not states_addition(text)


@pytest.mark.parametrize(
    "text",
    ["I live in Oslo", "I'm left-handed", "Ich lerne Klavier", "J'aime le vin", "我喜欢游泳", "I own a boat"],
)
def test_a_plain_statement_states_neither_an_ending_nor_a_change(text):
    assert not states_ending(text)
    assert not states_change(text)


@pytest.mark.parametrize(
    "text",
    ["I love techno too", "I also got a cat", "Ich spiele auch Bass", "J'aime aussi le vin", "我也喜欢游泳"],
)
def test_an_addition_is_recognised_and_is_no_ending(text):
    assert states_addition(text)
    assert not states_ending(text)


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("User no longer learns Dutch", "User is learning Dutch"),
        ("User dropped the kayak", "User's kayak"),
        ("User never swims in winter", "User swims in winter"),
    ],
)
def test_topic_stems_ignore_words_for_endings_and_changes(text, same_as):
    assert extract_topic_stems(text) == extract_topic_stems(same_as)
