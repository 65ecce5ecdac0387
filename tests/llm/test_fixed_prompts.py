"""The model's state after each fixed prompt stays on disk between starts; it contains no user's text."""

from __future__ import annotations

import os

import numpy as np
import pytest

from chat.jobs.prompts import background_prompts
from chat.llm.fixed_prompts import FixedPromptStore
from chat.llm.llama import BACKGROUND_CELLS
from chat.llm.types import GenerationOptions, Lane, Turn
from tests.small_model import load_small_model

TOKENS = [1, 2, 3]
STATE = np.arange(40, dtype=np.uint8)
BEGINNING = [Turn("system", "You find the color in a sentence. " * 20), Turn("user", "")]
QUESTION = [BEGINNING[0], Turn("user", "The grass is green.")]


@pytest.fixture
def weights(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"weights")
    return path


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "prompts"


@pytest.fixture
def store(folder, weights):
    return FixedPromptStore(folder, weights, "1.0")


def test_a_saved_state_is_loaded_unchanged_after_a_restart(store, folder, weights):
    store.save(TOKENS, STATE)
    loaded = FixedPromptStore(folder, weights, "1.0").load(TOKENS)
    assert loaded is not None
    assert loaded.tolist() == STATE.tolist()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_state_belongs_to_its_tokens_weights_and_engine(store, folder, weights):
    store.save(TOKENS, STATE)
    assert store.load([1, 2]) is None
    assert FixedPromptStore(folder, weights, "1.1").load(TOKENS) is None
    weights.write_bytes(b"other weights of the same name")
    assert store.load(TOKENS) is None


@pytest.mark.parametrize("damage", [lambda raw: raw[:-1], lambda raw: raw[:10], lambda raw: raw[:-1] + b"x"])
def test_a_damaged_file_is_deleted_and_not_used(store, folder, damage):
    store.save(TOKENS, STATE)
    (file,) = folder.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert store.load(TOKENS) is None
    assert list(folder.iterdir()) == []


def test_beyond_the_budget_the_files_that_were_unused_for_longest_are_deleted(folder, weights):
    store = FixedPromptStore(folder, weights, "1.0", budget=200)
    for n in range(2):
        store.save([n], STATE)
        os.utime(store._path_of([n]), (n, n))
    assert store.load([0]) is not None
    (folder / "0.part").write_bytes(b"of a process that was killed")
    os.utime(folder / "0.part", (0, 0))
    store.save([2], STATE)
    assert [store.load([n]) is not None for n in range(3)] == [True, False, True]
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 200


def test_a_state_beyond_the_budget_is_not_written(folder, weights):
    FixedPromptStore(folder, weights, "1.0", budget=39).save(TOKENS, STATE)
    assert not folder.exists()


@pytest.mark.model
def test_the_beginnings_of_all_background_prompts_stay_in_the_context_beside_the_running_one():
    with load_small_model(512) as provider:
        fixed = sum(provider.count_tokens(turns) for turns in background_prompts().values())
    assert fixed + 1500 < BACKGROUND_CELLS


def test_a_folder_that_cannot_be_written_is_logged_and_changes_nothing(weights, tmp_path, caplog):
    (tmp_path / "taken").write_text("not a folder")
    store = FixedPromptStore(tmp_path / "taken", weights, "1.0")
    store.save(TOKENS, STATE)
    assert "could not be written to disk" in caplog.text
    assert store.load(TOKENS) is None


@pytest.mark.model
def test_the_next_start_evaluates_no_fixed_prompt_again_and_answers_the_same(folder):
    options = GenerationOptions(slot="colors", max_tokens=8, temperature=0.0, lane=Lane.BACKGROUND)
    answers = []
    for _ in range(2):
        with load_small_model(512, fixed_prompts_folder=folder) as provider:
            usage = provider.prefill_fixed(BEGINNING, slot="colors", background=True)
            answers.append((usage.cached_tokens, usage.prompt_tokens, provider.complete(QUESTION, options)))
    (first, length, expected), (again, _, answer) = answers
    assert (first, again) == (0, length)
    assert answer.text == expected.text
    # The question itself does not begin with all tokens of the fixed prompt, but with nearly all.
    assert answer.usage.cached_tokens > 0.9 * length


@pytest.mark.model
def test_what_a_user_writes_is_not_stored(folder):
    with load_small_model(512, fixed_prompts_folder=folder) as provider:
        provider.prefill_fixed(BEGINNING, slot="persona")
        stored = {path: path.read_bytes() for path in folder.iterdir()}
        options = GenerationOptions(slot="chat", max_tokens=4, temperature=0.0, lane=Lane.CHAT)
        assert list(provider.stream(QUESTION, options))
        provider.prefill(QUESTION, slot="other", owner="")
        assert {path: path.read_bytes() for path in folder.iterdir()} == stored
