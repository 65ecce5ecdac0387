"""The choice of the model: one on this machine, or one on a remote server. Standard library only.

The bootstrap reads it too, since a remote model needs no weights here. It belongs to the machine and is
stored in a file instead of the database, so its key is in no export, backup or page.
"""

import contextlib
import ipaddress
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from .env import BadValue, data_dir, data_path, envint

FILE = "provider.json"
# Tokens. Prompts of background work need at least the smaller number; no known model has more than the
# larger.
WINDOW_RANGE = (2048, 2_000_000)


@dataclass(frozen=True)
class ServerChoice:
    """A model on a remote server.

    `model` "" means the first one that the server offers; `window` 0 means the server's own, in tokens.
    """

    url: str
    model: str = ""
    key: str = field(default="", repr=False)
    window: int = 0
    # True: set by the environment, so that no page can change it.
    fixed: bool = False


def read_choice(env: Mapping[str, str] = os.environ) -> ServerChoice | None:
    """Return the chosen server, None for a model on this machine. The environment has precedence.

    With MODE=server only the environment counts, since a user who logs in does not own the machine. Raises
    BadValue for an invalid key or window.
    """
    if url := env.get("PROVIDER_URL", "").strip():
        model, key = env.get("PROVIDER_MODEL", "").strip(), env.get("PROVIDER_KEY", "").strip()
        if not is_key(key):
            raise BadValue("PROVIDER_KEY holds a blank, or a letter that keys have not.")
        window, (least, most) = envint("PROVIDER_WINDOW", 0), WINDOW_RANGE
        if window and not least <= window <= most:
            raise BadValue(f"PROVIDER_WINDOW must be between {least} and {most} tokens, not {window}.")
        return ServerChoice(url, model, key, window, fixed=True)
    if env.get("MODE", "local") == "server":
        return None
    try:
        stored = json.loads(choice_path().read_text())
        return ServerChoice(
            str(stored["url"]), str(stored["model"]), str(stored["key"]), int(stored["window"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_key(text: str) -> bool:
    """Return whether the text is valid in an HTTP header, as a key must be; "" is valid and means no key."""
    return text.isascii() and text.isprintable() and " " not in text


def save_choice(choice: ServerChoice | None) -> None:
    """Store the choice for this and later starts, readable by the owner only (0600); None removes it."""
    if choice is None:
        choice_path().unlink(missing_ok=True)
        return
    values = {name: value for name, value in asdict(choice).items() if name != "fixed"}
    new = data_dir() / f"{FILE}.new"
    with contextlib.suppress(FileNotFoundError):
        new.unlink()
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(values, file)
    new.replace(choice_path())


def choice_path() -> Path:
    """Return the file of the choice, in the data folder."""
    return data_path() / FILE


def is_loopback(host: str) -> bool:
    """Return whether a host name or address, with or without a port, is reachable from this machine only."""
    try:
        name = (
            host
            if ":" in host and "[" not in host and host.count(":") > 1
            else urlsplit(f"//{host}").hostname
        )
        return name == "localhost" or ipaddress.ip_address(name or "").is_loopback
    except ValueError:
        return False
