"""Checks of the model: weights, one real decode, or the remote server."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from chat.actions.provider import run_engine_probe
from chat.errors import BadAddress, ProviderError, ServerAway
from chat.llm import weights
from chat.llm.remote.address import parse_address
from chat.llm.remote.capabilities import Capabilities, ConstraintSupport
from chat.llm.remote.errors import without_message
from chat.llm.remote.provider import RemoteProvider
from memoryapp.base.env import engine_lock_path
from memoryapp.base.locking import try_lock
from memoryapp.base.provider import ServerChoice, choice_path

from .finding import Finding, broken, note, ok


def check_model(*, deep: bool) -> Finding:
    """Check the weights of the chosen chat model."""
    try:
        entry = weights.choose_model(os.environ)
        path = weights.require(entry)
        if deep:
            weights.verify(entry)
    except weights.WeightsError as error:
        return broken("model", str(error))
    checked = "sha256 compared" if deep and entry.files else "size compared"
    return ok("model", f"{entry.name}, {path.stat().st_size / 1e6:,.0f} MB, {checked}: {path}")


def check_embedder(*, deep: bool) -> Finding:
    """Check the weights of the embedder; without them memory compares words only."""
    try:
        entry = weights.embedder()
        weights.require(entry)
        if deep:
            weights.verify(entry)
    except weights.WeightsMissing as error:
        return note("embedder", f"{error} Until then memory compares words.")
    except weights.WeightsError as error:
        return broken("embedder", str(error))
    path = weights.path_of(entry)
    return ok("embedder", f"{entry.name}: {path if entry.module else path.parent}")


def check_decode() -> Finding:
    """Decode once with the model in a separate process."""
    try:
        path = weights.model_path()
    except weights.WeightsError:
        return note("decode", "skipped: there is no model to try.")
    with try_lock(engine_lock_path()) as free:
        if not free:
            return ok("decode", "skipped: the engine is running already, and a machine has one.")
        found, sentence = run_engine_probe(path)
    if sentence:
        return broken("decode", sentence)
    return ok("decode", f"{found['tokens_per_second']} tokens a second, loaded in {found['load_seconds']} s")


_FORMS = {
    ConstraintSupport.NONE: "no form is kept to, so answers are checked",
    ConstraintSupport.SCHEMA: "lists of words are kept to",
    ConstraintSupport.PATTERN: "patterns are kept to",
    ConstraintSupport.GRAMMAR: "grammars are kept to",
}


def check_remote(choice: ServerChoice) -> Iterator[Finding]:
    """Connect to the chosen server, and check the file with its key."""
    try:
        address = parse_address(choice.url)
    except BadAddress as problem:
        where = "PROVIDER_URL" if choice.fixed else "the address in the settings"
        yield broken("model", f"{problem} Correct {where}.")
        return
    provider = RemoteProvider(address, model=choice.model, key=choice.key, window=choice.window)
    try:
        yield _describe_server(address.host, provider.connect())
    except ProviderError as problem:
        away = " Is the server running?" if isinstance(problem, ServerAway) else ""
        yield broken("model", f"{address.host}: {without_message(problem)}{away}")
    finally:
        provider.close()
    if not choice.fixed:
        yield check_key_file(choice_path())


def _describe_server(host: str, found: Capabilities) -> Finding:
    counts = "it counts tokens" if found.counts_tokens else "four characters are taken for a token"
    text = f"{found.model} on {host}: {found.window:,} tokens, {_FORMS[found.constraint]}, {counts}"
    return ok("model", text) if found.offered else note("model", f"{text}. It does not say its window.")


def check_key_file(file: Path) -> Finding:
    """Check that only the owner can read the file with the key."""
    if os.name != "nt" and file.exists() and file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return broken("key", f"others on this machine can read {file}. Run: chmod 600 '{file}'")
    return ok("key", f"{file}, for its owner alone")


def is_engine_running() -> bool:
    """Return whether a process holds the engine's lock of this data folder."""
    with try_lock(engine_lock_path()) as free:
        return not free
