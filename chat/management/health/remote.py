"""A model on a server: reached and tried, and its key kept for its owner alone."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from chat.llm.remote.address import BadAddress, parse
from chat.llm.remote.capabilities import Binding, Capabilities
from chat.llm.remote.provider import RemoteProvider
from chat.llm.remote.troubles import ServerAway, told_alone
from chat.llm.types import ProviderError
from memoryapp.provider import Choice, path

from .finding import Finding, broken, note, ok

_FORMS = {
    Binding.NONE: "no form is kept to, so answers are checked",
    Binding.SCHEMA: "lists of words are kept to",
    Binding.PATTERN: "patterns are kept to",
    Binding.GRAMMAR: "grammars are kept to",
}


def remote(choice: Choice) -> Iterator[Finding]:
    """The server that was chosen, and the file of the choice."""
    try:
        address = parse(choice.url)
    except BadAddress as problem:
        where = "PROVIDER_URL" if choice.fixed else "the address in the settings"
        yield broken("model", f"{problem} Correct {where}.")
        return
    provider = RemoteProvider(address, model=choice.model, key=choice.key, window=choice.window)
    try:
        yield _told(address.host, provider.connect())
    except ProviderError as problem:
        away = " Is the server running?" if isinstance(problem, ServerAway) else ""
        yield broken("model", f"{address.host}: {told_alone(problem)}{away}")
    finally:
        provider.close()
    if not choice.fixed:
        yield kept_safe(path())


def _told(host: str, found: Capabilities) -> Finding:
    counts = "it counts tokens" if found.counts else "four characters are taken for a token"
    text = f"{found.model} on {host}: {found.window:,} tokens, {_FORMS[found.binding]}, {counts}"
    return ok("model", text) if found.offered else note("model", f"{text}. It does not say its window.")


def kept_safe(file: Path) -> Finding:
    """Whether only the owner can read the file with the key."""
    if os.name != "nt" and file.exists() and file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return broken("key", f"others on this machine can read {file}. Run: chmod 600 '{file}'")
    return ok("key", f"{file}, for its owner alone")
