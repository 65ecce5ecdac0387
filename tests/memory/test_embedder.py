"""The real embedder, where its weights are."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from chat.llm import weights
from chat.llm.embedder import DIMENSIONS, Embedder
from chat.memory.consolidate import Action, decide
from chat.memory.extract import Candidate
from chat.memory.kinds import KINDS
from chat.memory.similar import cosine
from chat.models import Fact
from tests.weights_here import needed


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
    entry = needed("minilm-l6-int8")
    model, tokenizer = (weights.path_of(entry, file) for file in entry.files)
    return Embedder(model, tokenizer)


@pytest.mark.model
def test_a_paraphrase_is_near_and_a_contradiction_is_not(embedder: Embedder) -> None:
    here, same, other = embedder.embed(
        ["User lives in Copenhagen", "I am based in Copenhagen", "The user is based in London"]
    )
    assert cosine(here, same) == pytest.approx(0.77, abs=0.03)
    assert cosine(here, other) == pytest.approx(0.49, abs=0.03)


@pytest.mark.model
def test_vectors_are_of_unit_length_and_do_not_depend_on_their_neighbours(embedder: Embedder) -> None:
    alone = embedder.embed(["User keeps bees"])
    among = embedder.embed(["User keeps bees", "a much longer sentence " * 60])
    assert alone.dtype == np.float32
    assert np.linalg.norm(among, axis=1) == pytest.approx([1.0, 1.0], abs=1e-4)
    assert cosine(alone[0], among[0]) > 0.99


@pytest.mark.model
def test_threads_may_share_one_embedder(embedder: Embedder) -> None:
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda _: embedder.embed(["User keeps bees"])[0], range(8)))
    assert all(np.array_equal(row, rows[0]) for row in rows)


@pytest.mark.model
def test_real_vectors_tell_said_again_from_something_new(embedder: Embedder) -> None:
    def decided(old: str, new: str, kind: str) -> Action:
        vectors = embedder.embed([old, new])
        category = KINDS[kind].category
        known = Fact(
            text=old, kind=kind, category=category, embedding=vectors[0].tobytes(), embedder=embedder.name
        )
        candidate = Candidate(new, kind, category, "", False, new)
        return decide(candidate, vectors[1], [known], embedder.name).action

    assert decided("User works as a nurse", "User is a nurse in a hospital", "job") is Action.REINFORCE
    assert decided("User likes jazz", "User enjoys jazz music", "likes") is Action.REINFORCE
    assert decided("User likes jazz", "User likes techno", "likes") is Action.ADD
    assert (
        decided("User drinks tea in the mornings", "User drinks coffee in the mornings", "habit")
        is Action.ADD
    )
    assert decided("User is vegetarian", "User is vegan", "diet") is Action.SUPERSEDE
