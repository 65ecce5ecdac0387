"""The fact that a description means is found."""

from __future__ import annotations

import pytest

from chat.memory.relevance import find_nearest

KNOWN = ["User lives in Oslo", "User likes chess", "User is building a boat", "User's sister is called Ida"]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("User likes chess", "User likes chess"),
        ("I live in Oslo", "User lives in Oslo"),
        ("that I'm building a boat", "User is building a boat"),
        ("chess", "User likes chess"),
        ("my sister Ida", "User's sister is called Ida"),
    ],
)
def test_the_described_fact_is_found(said, meant):
    assert find_nearest(said, KNOWN) == KNOWN.index(meant)


@pytest.mark.parametrize("said", ["I live in Bergen", "tennis", "?", "my brother Tom"])
def test_an_unrelated_description_finds_nothing(said):
    assert find_nearest(said, KNOWN) is None


def test_vectors_find_a_paraphrase_without_shared_words():
    assert find_nearest("my home town", KNOWN, [0.8, 0.1, 0.2, 0.0], 0.6) == 0
    assert find_nearest("my home town", KNOWN, [0.5, 0.1, 0.2, 0.0], 0.6) is None


def test_without_facts_nothing_is_found():
    assert find_nearest("chess", []) is None
