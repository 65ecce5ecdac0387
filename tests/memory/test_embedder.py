"""The real embedder, where its weights are."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from chat.llm.embedder import DIMENSIONS, Embedder
from chat.memory.candidates import FactCandidate
from chat.memory.consolidate import Action, decide_action
from chat.memory.kinds import KINDS
from chat.memory.text_similarity import compute_cosine
from chat.models import Fact
from tests.small_model import load_embedder


def test_missing_weights_are_an_os_error_at_the_first_use_not_before(tmp_path: Path) -> None:
    embedder = Embedder(tmp_path / "model.onnx", tmp_path / "tokenizer.json")
    with pytest.raises(OSError, match=r"model\.onnx"):
        embedder.embed(["anything"])


def test_no_texts_give_no_rows_and_load_nothing(tmp_path: Path) -> None:
    embedder = Embedder(tmp_path / "none", tmp_path / "none")
    assert embedder.embed([]).shape == (0, DIMENSIONS)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    """The real embedder; skipped only where its files are missing."""
    return load_embedder()


@pytest.mark.model
def test_a_paraphrase_is_near_and_a_contradiction_is_not(embedder: Embedder) -> None:
    here, same, other = embedder.embed(
        ["User lives in Copenhagen", "I am based in Copenhagen", "The user is based in London"]
    )
    assert compute_cosine(here, same) == pytest.approx(0.77, abs=0.03)
    assert compute_cosine(here, other) == pytest.approx(0.49, abs=0.03)


@pytest.mark.model
def test_vectors_are_of_unit_length_and_do_not_depend_on_their_neighbours(embedder: Embedder) -> None:
    alone = embedder.embed(["User keeps bees"])
    among = embedder.embed(["User keeps bees", "a much longer sentence " * 60])
    assert alone.dtype == np.float32
    assert np.linalg.norm(among, axis=1) == pytest.approx([1.0, 1.0], abs=1e-4)
    assert compute_cosine(alone[0], among[0]) > 0.99


@pytest.mark.model
def test_threads_may_share_one_embedder(embedder: Embedder) -> None:
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda _: embedder.embed(["User keeps bees"])[0], range(8)))
    assert all(np.array_equal(row, rows[0]) for row in rows)


@pytest.mark.model
def test_real_vectors_distinguish_a_repetition_from_a_new_fact(embedder: Embedder) -> None:
    def decided(old: str, new: str, kind: str) -> Action:
        vectors = embedder.embed([old, new])
        category = KINDS[kind].category
        known = Fact(
            text=old, kind=kind, category=category, embedding=vectors[0].tobytes(), embedder=embedder.name
        )
        candidate = FactCandidate(new, kind, category, "", False, new)
        return decide_action(candidate, vectors[1], [known], embedder.name).action

    assert decided("User works as a nurse", "User is a nurse in a hospital", "job") is Action.REINFORCE
    assert decided("User likes jazz", "User enjoys jazz music", "likes") is Action.REINFORCE
    assert decided("User likes jazz", "User likes techno", "likes") is Action.ADD
    assert (
        decided("User drinks tea in the mornings", "User drinks coffee in the mornings", "habit")
        is Action.ADD
    )
    assert decided("User is vegetarian", "User is vegan", "diet") is Action.SUPERSEDE
