"""The language of a message is detected, however short it is."""

import threading
import time

import pytest

from chat.memory import language as languages
from chat.memory.language import detect_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Pollen gives me an allergic reaction.", "en"),
        ("I knit", "en"),
        ("Oliven mag ich nicht.", "de"),
        ("Ich heiße Jörg", "de"),
        ("J'adore le fromage", "fr"),
        ("Je ne mange pas de porc.", "fr"),
        ("Llevo tiempo aprendiendo árabe.", "es"),
        ("Trabajo en un hospital", "es"),
        ("Sono allergico alle noci", "it"),
        ("Adoro il jazz", "it"),
        ("Moro no Porto", "pt"),
        ("Gosto de pão", "pt"),
        ("我住在成都", "zh"),
        ("わたしはねこがすきです。", "ja"),
        ("저는 간호사예요", "ko"),
        ("Я медсестра", "ru"),
        ("Ik ben verpleegster in Gent", "nl"),
        ("Jestem pielęgniarką", "pl"),
        ("Hemşireyim ve İzmir'de yaşıyorum", "tr"),
        ("أنا ممرضة", "ar"),
        ("Peanuts", ""),
        ("", ""),
    ],
)
def test_the_language_of_a_short_text_is_detected(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_threads_that_need_the_model_at_the_same_time_load_it_once(monkeypatch):
    loaded = []
    real = languages._load.__wrapped__

    def load():
        loaded.append(1)
        time.sleep(0.1)
        return real()

    monkeypatch.setattr(languages, "_load", languages.cache(load))
    threads = [threading.Thread(target=detect_language, args=("Ich mag Käse",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert loaded == [1]
