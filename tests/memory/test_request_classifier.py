"""The classifier of requests decides a suspect sentence that no wording covers, with whichever embedder."""

from __future__ import annotations

import json
import time
import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.llm.registry import registry
from chat.memory import request_classifier
from chat.memory.memory_requests import RequestKind, find_request, find_requests
from chat.memory.request_about import find_about
from chat.memory.request_classifier import KINDS, Judgement
from chat.memory.request_features import FOLDER, TOPICS, find_suspect, measure
from chat.memory.trained_weights import AnswerCache
from tests.benchmarks.train_requests import DATA, load_suspects
from tests.small_model import load_real_embedder

ABOUT = [
    ("forget", "I'd rather you didn't know my weight, remove it.", "my weight"),
    ("forget", "Dass ich rauche, kannst du wieder vergessen.", "ich rauche"),
    ("forget", "J'aimerais que mon salaire disparaisse de ta mémoire.", "mon salaire"),
    ("forget", "Remove my address from your memory.", "my address"),
    ("forget", "Streich bitte, was ich dir von meinem Chef erzählt habe.", "meinem Chef erzählt habe"),
    ("forget", "Could you scrap what I said about my boss?", "my boss"),
    ("forget", "Would you drop where I live?", "where I live"),
    ("forget", "Please unlearn that.", ""),
    ("remember", "I'm a beekeeper, and that's worth remembering.", "I'm a beekeeper"),
    ("remember", "Save my birthday: 3 October 1988.", "my birthday: 3 October 1988"),
    ("remember", "Could you keep that in your memory?", ""),
    ("keep-out", "Not for your memory: I lost a lot of money.", "I lost a lot of money"),
    ("keep-out", "What I tell you now shouldn't be saved.", ""),
    ("keep-out", "我和妈妈吵架了，别记下来。", "我和妈妈吵架了"),
    ("wrong", "You've got that wrong.", ""),
]


class ConstantEmbedder:
    """Gives every text the same vector, so that the weights alone decide."""

    name = "constant"

    def __init__(self):
        self.asked = []

    def embed(self, texts):
        """Return a unit vector for each text."""
        self.asked += texts
        return np.full((len(texts), 4), 0.5, dtype=np.float32)


@pytest.fixture
def embedder(monkeypatch):
    """An embedder with weights that call every suspect a request to forget, with a probability of 0.99."""
    inputs = 2 * 4 + len(measure(find_suspect("Delete it.")))
    matrix = np.zeros((inputs + 1, len(KINDS)), dtype=np.float32)
    matrix[-1, KINDS.index("forget")] = 6
    weights = request_classifier.Weights(matrix, 0.5, 0.8)
    monkeypatch.setattr(request_classifier, "load_weights", lambda name: weights)
    monkeypatch.setattr(request_classifier, "_judgements", AnswerCache(unknown=Judgement()))
    return use_embedder(monkeypatch, ConstantEmbedder())


def use_embedder(monkeypatch, embedder):
    """Let the registry have this embedder, and return it."""
    monkeypatch.setattr(registry, "embedder", lambda: embedder)
    return embedder


@pytest.mark.parametrize(("kind", "sentence", "about"), ABOUT, ids=[a[1][:30] for a in ABOUT])
def test_what_a_request_is_about_is_found_wherever_it_stands(kind, sentence, about):
    assert find_about(kind, find_suspect(sentence)) == about


def test_only_suspects_are_embedded_and_each_once(embedder):
    assert find_request("I like jazz and hiking.") is None
    assert embedder.asked == []
    for _ in range(2):
        assert find_request("Be so kind and drop my age.").kind is RequestKind.FORGET
    assert len(embedder.asked) == 2


def test_the_sentences_of_a_long_message_are_not_embedded(embedder):
    find_requests("Be so kind and drop my age. " * 200)
    assert embedder.asked == []


def test_a_wording_counts_for_nothing_where_the_classifier_is_sure(embedder, monkeypatch):
    assert find_request("Forget that idea with the pasta.") is not None
    weights = request_classifier.load_weights("")
    weights.matrix[-1, 0] = 20
    monkeypatch.setattr(request_classifier, "_judgements", AnswerCache(unknown=Judgement()))
    assert find_request("Forget that idea with the pasta.") is None
    # What may be private stays out in doubt.
    assert find_request("Don't save this: I'm ill.").kind is RequestKind.KEEP_OUT


def test_weights_of_other_inputs_are_not_used(embedder, monkeypatch):
    wrong = request_classifier.Weights(np.zeros((3, len(KINDS)), dtype=np.float32), 0.1, 0.8)
    monkeypatch.setattr(request_classifier, "load_weights", lambda name: wrong)
    assert find_request("Be so kind and drop my age.") is None


def test_without_an_embedder_the_wordings_decide():
    assert find_request("Be so kind and drop my age.") is None
    assert find_request("Forget my age.").kind is RequestKind.FORGET


def test_every_language_has_all_lists():
    for path in FOLDER.glob("*.toml"):
        lists = tomllib.loads(path.read_text(encoding="utf-8"))["suspects"]
        assert set(lists) == {*TOPICS, "you", "i", "that", "how", "memory"}, path.name


def test_the_training_sentences_are_of_all_kinds_and_most_requests_have_a_suspicious_word():
    _, labels = load_suspects()
    rows = [json.loads(line) for line in (DATA / "request_sentences.jsonl").read_text("utf-8").splitlines()]
    asked = sum(row["kind"] != KINDS[0] for row in rows)
    assert (labels > 0).sum() > 0.65 * asked > 1400
    assert {row["kind"] for row in rows} == set(KINDS)


@pytest.mark.parametrize("text", ["forget " * 57, "a" * 399, ", that " * 57, "I " * 199, "记" * 400])
def test_a_long_sentence_takes_little_time(text):
    began = time.perf_counter()
    suspect = find_suspect(text)
    if suspect is not None:
        measure(suspect)
        for kind in KINDS[1:]:
            find_about(kind, suspect)
    assert time.perf_counter() - began < 0.5


@given(st.text(max_size=500))
def test_no_text_breaks_the_features_and_what_is_found_is_in_the_text(text):
    suspect = find_suspect(text)
    if suspect is not None:
        assert all(0 <= value <= 1 for value in measure(suspect))
        assert all(find_about(kind, suspect) in suspect.text for kind in KINDS[1:])


@pytest.mark.model
@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("I'd rather you didn't know my age anymore, remove it.", RequestKind.FORGET),
        ("not for your notes: i owe my brother 5 grand", RequestKind.KEEP_OUT),
        ("I always forget the rules of bridge.", None),
        ("Can you remember how to make sourdough?", None),
        ("How do I delete my search history in Firefox?", None),
    ],
)
def test_the_installed_embedder_finds_requests_without_a_known_wording(sentence, kind, monkeypatch):
    use_embedder(monkeypatch, load_real_embedder())
    found = find_request(sentence)
    assert (found and found.kind) == kind


def test_that_is_me_has_no_clause_behind_its_that():
    suspect = find_suspect("put Philippa Oduya there, that's me")
    assert suspect is not None
    assert find_about("remember", suspect) != "s me"
