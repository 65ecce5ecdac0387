"""The choice of the model: one on this machine, or one on a remote server. Standard library only.

The bootstrap reads it too, since a remote model needs no weights here. In local mode it belongs to the
machine and is stored in a file instead of the database, so its key is in no export, backup or page. In server
mode it is in the database (`chat.actions.installation`), and a mark in the data folder tells the bootstrap.
"""

import ipaddress
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from .env import BadValue, data_dir, data_path, envint
from .files import write_private_file
from .passphrase import is_encrypted

FILE = "provider.json"
# Name of a file in the data folder that exists while a server is chosen in the database.
_SHARED_MARK = "provider-in-database"
# Tokens. Prompts of background work need at least the smaller number; no known model has more than the
# larger.
WINDOW_RANGE = (2048, 2_000_000)


@dataclass(frozen=True)
class ServerChoice:
    """A model on a remote server.

    `model` "" means the first one that the server offers; `window` 0 means the server's own, in tokens.
    `program` names the program of `local_servers` that was found there: another one that answers at its port
    when this process connects is not used. "" accepts any.
    """

    url: str
    model: str = ""
    key: str = field(default="", repr=False)
    window: int = 0
    program: str = ""
    # True: set by the environment, so that no page can change it.
    fixed: bool = False


def read_choice(env: Mapping[str, str] = os.environ) -> ServerChoice | None:
    """Return the chosen server, None for a model on this machine. The environment has precedence.

    With MODE=server only the environment counts here; `chat.actions.provider.read_choice` asks the database
    too. Raises BadValue for an invalid key or window.
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
        return load_choice(_read_file())
    except (OSError, ValueError, KeyError, TypeError):
        return None


def load_choice(text: str | bytes) -> ServerChoice:
    """Return a choice from its JSON; raises ValueError, KeyError or TypeError for anything else."""
    stored = json.loads(text)
    names = ("url", "model", "key")
    url, model, key = (str(stored[name]) for name in names)
    # An older version stored no program.
    return ServerChoice(url, model, key, int(stored["window"]), str(stored.get("program", "")))


def dump_choice(choice: ServerChoice) -> str:
    """Return a choice as JSON, its key included."""
    return json.dumps({name: value for name, value in asdict(choice).items() if name != "fixed"})


def is_key(text: str) -> bool:
    """Return whether the text is valid in an HTTP header, as a key must be; "" is valid and means no key."""
    return text.isascii() and text.isprintable() and " " not in text


def save_choice(choice: ServerChoice | None) -> None:
    """Store the choice for this and later starts, readable by the owner only (0600); None removes it."""
    if choice is None:
        choice_path().unlink(missing_ok=True)
        return
    content = dump_choice(choice).encode()
    if is_encrypted(data_dir()):
        from .encryption import encrypt

        content = encrypt(content)
    write_private_file(choice_path(), content)


def choice_path() -> Path:
    """Return the file of the choice, in the data folder; where the data is encrypted, the file is too."""
    return data_path() / (f"{FILE}.age" if is_encrypted(data_path()) else FILE)


def note_shared_choice(chosen: bool) -> None:
    """Note for the next `start` whether a server is chosen in the database, which it cannot read."""
    mark = data_dir() / _SHARED_MARK
    if chosen:
        mark.touch(mode=0o600)
    else:
        mark.unlink(missing_ok=True)


def is_remote(env: Mapping[str, str] = os.environ) -> bool:
    """Return whether a server is chosen. Unlike `read_choice` it needs no keys, so `start` can ask it."""
    if env.get("MODE", "local") == "server" and not env.get("PROVIDER_URL", "").strip():
        return (data_path() / _SHARED_MARK).exists()
    if is_encrypted(data_path()) and not env.get("PROVIDER_URL", "").strip():
        return choice_path().exists()
    return read_choice(env) is not None


def encrypt_choice() -> None:
    """Encrypt the stored choice where it is not yet; there are keys."""
    from .encryption import encrypt

    plain = data_path() / FILE
    if plain.exists():
        write_private_file(choice_path(), encrypt(plain.read_bytes()))
        plain.unlink()


def decrypt_choice() -> None:
    """Decrypt the stored choice where it is not yet; there are keys."""
    if choice_path().exists():
        write_private_file(data_path() / FILE, _read_file())
        choice_path().unlink()


def _read_file() -> bytes:
    content = choice_path().read_bytes()
    if not is_encrypted(data_path()):
        return content
    # Imported late: the bootstrap imports this module before anything is installed.
    from .encryption import decrypt

    try:
        return decrypt(content)
    except ValueError as error:
        raise BadValue(
            f"{choice_path()} is damaged. Delete it, and choose the model's server again."
        ) from error


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
