"""Which model is used: one on this machine, or one on a server that the machine's owner named.

Standard library only: the bootstrap asks too, since a model on a server needs no weights here. The choice is
the machine's and no row of the database: its key is in no export, in no backup and on no page.
"""

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from memoryapp.env import BadValue, data_dir, data_path, envint

FILE = "provider.json"
# Tokens; below, not even the prompts of the background fit, and nothing known has more.
WINDOW_RANGE = (2048, 2_000_000)


@dataclass(frozen=True)
class Choice:
    """A model on a server; `model` "" is the first it has, `window` 0 the one it offers, in tokens."""

    url: str
    model: str = ""
    key: str = field(default="", repr=False)
    window: int = 0
    # Set where the program was started, so that no page can change it.
    fixed: bool = False


def chosen(env: Mapping[str, str] = os.environ) -> Choice | None:
    """The server that was chosen, None for a model on this machine; the environment goes first.

    With MODE=server only the environment counts, for whoever logs in is not whose machine it is. Raises
    BadValue for a window that is none, as for a key.
    """
    if url := env.get("PROVIDER_URL", "").strip():
        model, key = env.get("PROVIDER_MODEL", "").strip(), env.get("PROVIDER_KEY", "").strip()
        if not is_key(key):
            raise BadValue("PROVIDER_KEY holds a blank, or a letter that keys have not.")
        window, (least, most) = envint("PROVIDER_WINDOW", 0), WINDOW_RANGE
        if window and not least <= window <= most:
            raise BadValue(f"PROVIDER_WINDOW must be between {least} and {most} tokens, not {window}.")
        return Choice(url, model, key, window, fixed=True)
    if env.get("MODE", "local") == "server":
        return None
    try:
        kept = json.loads(path().read_text())
        return Choice(str(kept["url"]), str(kept["model"]), str(kept["key"]), int(kept["window"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_key(text: str) -> bool:
    """Whether this can stand in a header, as a key must; "" is none and may."""
    return text.isascii() and text.isprintable() and " " not in text


def keep(choice: Choice | None) -> None:
    """Keep the choice for this and all later starts, readable by the owner alone (0600); None forgets it."""
    if choice is None:
        path().unlink(missing_ok=True)
        return
    values = {name: value for name, value in asdict(choice).items() if name != "fixed"}
    new = data_dir() / f"{FILE}.new"
    with contextlib.suppress(FileNotFoundError):
        new.unlink()
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(values, file)
    new.replace(path())


def path() -> Path:
    """The file of the choice, in the data folder."""
    return data_path() / FILE
