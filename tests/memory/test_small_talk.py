"""Small talk is recognised."""

from __future__ import annotations

import pytest

from chat.memory.small_talk import is_small_talk


@pytest.mark.parametrize(
    "said",
    [
        *("Hi", "hello there!", "How are you?", "Hi, how are you doing today?", "Thanks!", "ok", "", "???"),
        *(
            "Guten Morgen!",
            "Hallo, wie geht's dir?",
            "Wie geht’s?",
            "Salut, comment ça va ?",
            "Hola, ¿qué tal?",
        ),
        *("Ciao, come stai?", "Olá, tudo bem?", "你好", "你好吗？谢谢", "Boats"),
    ],
)
def test_this_is_small_talk(said):
    assert is_small_talk([said])


@pytest.mark.parametrize(
    "said",
    [
        *("Fix my bike", "Hi, I need a tent for two", "Rust macros", "Wie schreibe ich eine Kündigung?"),
        *(
            "Hallo, ich plane ein Gartenhaus",
            "Peux-tu relire ma lettre ?",
            "我想学做面包",
            "Как испечь хлеб?",
        ),
    ],
)
def test_this_is_no_small_talk(said):
    assert not is_small_talk([said])


def test_earlier_messages_count_too():
    assert not is_small_talk(["Hi", "Thanks", "Boats", "Harbours"])
