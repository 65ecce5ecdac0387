"""The weights, and one real decode with them."""

import os

from chat.actions.proving import run_probe
from chat.llm import weights
from memoryapp.env import engine_lock_path
from memoryapp.locking import locked_if_free

from .finding import Finding, broken, note, ok


def model(*, deep: bool) -> Finding:
    """The chosen chat model's weights."""
    try:
        entry = weights.choose_model(os.environ)
        path = weights.require(entry)
        if deep:
            weights.verify(entry)
    except weights.WeightsError as error:
        return broken("model", str(error))
    checked = "sha256 compared" if deep and entry.files else "size compared"
    return ok("model", f"{entry.name}, {path.stat().st_size / 1e6:,.0f} MB, {checked}: {path}")


def embedder(*, deep: bool) -> Finding:
    """The sentence vectors' weights; memory works without them, by shared words."""
    entry = weights.embedder()
    try:
        weights.require(entry)
        if deep:
            weights.verify(entry)
    except weights.Missing as error:
        return note("embedder", f"{error} Until then memory compares words.")
    except weights.WeightsError as error:
        return broken("embedder", str(error))
    return ok("embedder", f"{entry.name}: {weights.path_of(entry).parent}")


def decode() -> Finding:
    """One real decode, in a process of its own."""
    try:
        path = weights.model_path()
    except weights.WeightsError:
        return note("decode", "skipped: there is no model to try.")
    with locked_if_free(engine_lock_path()) as free:
        if not free:
            return ok("decode", "skipped: the engine is running already, and a machine has one.")
        found, sentence = run_probe(path)
    if sentence:
        return broken("decode", sentence)
    return ok("decode", f"{found['tokens_per_second']} tokens a second, loaded in {found['load_seconds']} s")
