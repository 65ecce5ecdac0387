"""What a sentence asks of memory is found in every language, and look-alikes ask nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory.memory_requests import RequestKind, find_request

REQUESTS = [
    ("hey could u remember that im left handed", RequestKind.REMEMBER, "im left handed"),
    ("I'm coeliac, so please keep that in mind.", RequestKind.REMEMBER, "I'm coeliac"),
    (
        "Ich trage Schuhgröße 44, könntest du dir das merken?",
        RequestKind.REMEMBER,
        "Ich trage Schuhgröße 44",
    ),
    (
        "Tu peux retenir que je suis allergique aux noix ?",
        RequestKind.REMEMBER,
        "je suis allergique aux noix",
    ),
    ("¿Puedes recordar que soy celíaca?", RequestKind.REMEMBER, "soy celíaca"),
    ("Ricordati che suono il violino, per favore", RequestKind.REMEMBER, "suono il violino"),
    ("Anota aí que eu moro em Coimbra", RequestKind.REMEMBER, "eu moro em Coimbra"),
    ("请记住,我对花生过敏。", RequestKind.REMEMBER, "我对花生过敏"),
    ("Forget my birthday, it's wrong.", RequestKind.FORGET, "my birthday"),
    ("wipe the bit about my salary pls", RequestKind.FORGET, "my salary"),
    (
        "I go to the gym on Mondays, but you can forget that.",
        RequestKind.FORGET,
        "I go to the gym on Mondays",
    ),
    ("Kannst du bitte löschen, wo ich wohne?", RequestKind.FORGET, "wo ich wohne"),
    ("I'd rather you didn't know my age anymore, remove it.", RequestKind.FORGET, "my age"),
    ("Oublie que je fume, stp", RequestKind.FORGET, "je fume"),
    ("Olvida lo que te dije de mi ex", RequestKind.FORGET, "mi ex"),
    ("Potresti dimenticare che ho il diabete?", RequestKind.FORGET, "ho il diabete"),
    ("Esquece que trabalho na Petrobras, por favor.", RequestKind.FORGET, "trabalho na Petrobras"),
    ("忘掉我的生日吧", RequestKind.FORGET, "我的生日"),
    ("You've got that wrong, I never lived in Oslo.", RequestKind.WRONG, "I never lived in Oslo"),
    (
        "Das stimmt nicht, ich hab nie bei Siemens gearbeitet.",
        RequestKind.WRONG,
        "ich hab nie bei Siemens gearbeitet",
    ),
    ("Don't save this: I'm seeing a therapist.", RequestKind.KEEP_OUT, "I'm seeing a therapist"),
    ("Questo non memorizzarlo: ho perso 3000 euro.", RequestKind.KEEP_OUT, "ho perso 3000 euro"),
    ("N'enregistre pas ça : je suis enceinte.", RequestKind.KEEP_OUT, "je suis enceinte"),
    ("Não guarde isto: estou fazendo terapia.", RequestKind.KEEP_OUT, "estou fazendo terapia"),
    ("别记下来:我最近在离婚。", RequestKind.KEEP_OUT, "我最近在离婚"),
    ("Don't store that pls", RequestKind.KEEP_OUT, ""),
]
LOOK_ALIKES = [
    "Do you remember what I eat?",
    "Can you remember how to make sourdough?",
    "Remember that time we went to the beach?",
    "remember to buy milk tmrw",
    "I always forget the rules of bridge.",
    "I can't remember where I put my glasses",
    "My doctor told me to forget about running for a while.",
    "don't forget to breathe lol",
    "ah forget it, i'll just order a pizza",
    "Vergiss nicht, den Müll rauszubringen",
    "Weißt du noch, wie mein Hund heißt?",
    "J'oublie toujours le prénom de mes voisins",
    "Se me olvidó decirte que soy bombero",
    "Non mi ricordo mai le password",
    "你还记得我最喜欢的颜色吗?",
    "No, I'm vegetarian.",
]


@pytest.mark.parametrize(("sentence", "kind", "about"), REQUESTS, ids=[r[0][:30] for r in REQUESTS])
def test_a_request_is_found_with_what_it_is_about(sentence, kind, about):
    request = find_request(sentence)
    assert request is not None
    assert (request.kind, request.about) == (kind, about)


@pytest.mark.parametrize("sentence", LOOK_ALIKES)
def test_a_look_alike_asks_nothing(sentence):
    assert find_request(sentence) is None


@given(st.text(max_size=600))
def test_no_text_breaks_the_search_and_what_is_asked_is_in_the_text(text):
    request = find_request(text)
    assert request is None or request.about in text.replace("’", "'")
