"""A request to memory without any known word is recognised by the vector of its sentence."""

from __future__ import annotations

import pytest

from chat.memory import clauses, speech_acts
from chat.memory.memory_requests import RequestKind, find_request
from chat.memory.request_features import find_suspect


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Hang on, where'd you get that I have a sister?", RequestKind.WRONG),
        ("who told you i was a vegan", RequestKind.WRONG),
        ("that thing you've got about my knee can go", RequestKind.FORGET),
        ("My rent went up to 860, may they do that?", None),
        ("This is my first time chatting with you and I'm glad to meet you.", None),
        ("Actually, your tone makes me feel very warm, I hope we can become friends.", None),
        ("I was looking for equipment for rock climbing last night.", None),
    ],
)
def test_a_sentence_without_a_suspicious_word_is_judged_by_its_meaning(embedder, sentence, kind):
    assert find_suspect(sentence) is None
    request = find_request(sentence)
    assert (request.kind if request else None) == kind


def test_without_an_embedder_it_asks_nothing():
    assert find_request("that thing you've got about my knee can go") is None


def test_a_request_to_pretend_that_nothing_was_said_begins_no_role_play(embedder):
    [sentence] = clauses.judge_sentences("let's pretend you never heard about my miscarriage, drop it")
    assert sentence.reason == speech_acts.FORGETTING
