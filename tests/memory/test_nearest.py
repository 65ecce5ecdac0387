"""Which memory somebody means who says it in other words."""

from __future__ import annotations

import pytest

from chat.memory.nearest import nearest

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
def test_what_is_meant_is_found(said, meant):
    assert nearest(said, KNOWN) == KNOWN.index(meant)


@pytest.mark.parametrize("said", ["I live in Bergen", "tennis", "?", "my brother Tom"])
def test_what_nobody_said_is_not_found(said):
    assert nearest(said, KNOWN) is None


def test_vectors_find_what_words_do_not():
    assert nearest("my home town", KNOWN, [0.8, 0.1, 0.2, 0.0]) == 0
    assert nearest("my home town", KNOWN, [0.5, 0.1, 0.2, 0.0]) is None


def test_nothing_is_nearest_where_nothing_is_known():
    assert nearest("chess", []) is None
