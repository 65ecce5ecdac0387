"""Settings from the environment, and the folders this program keeps on a machine.

Standard library only: the bootstrap reads these before any package is installed.
"""

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

ROOT = Path(__file__).resolve().parent.parent
NAME = "memoryapp"

TRUE = {"1", "true", "yes", "on"}
FALSE = {"", "0", "false", "no", "off"}


class BadValue(ValueError):
    """An environment variable holds something that cannot be read; the message says which and what."""


def envstr(name: str, default: str = "") -> str:
    """The variable's text, or the default when it is unset."""
    return os.environ.get(name, default)


def envint(name: str, default: int) -> int:
    """The variable as a whole number, or the default when it is unset or empty."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise BadValue(f"{name} must be a whole number, not {text!r}.") from None


def envfloat(name: str, default: float) -> float:
    """The variable as a number, or the default when it is unset or empty."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        return float(text)
    except ValueError:
        raise BadValue(f"{name} must be a number, not {text!r}.") from None


def envbool(name: str, default: bool) -> bool:
    """The variable as yes or no (1/0, true/false, yes/no, on/off), or the default when it is unset."""
    text = os.environ.get(name)
    if text is None:
        return default
    if text.strip().lower() in TRUE:
        return True
    if text.strip().lower() in FALSE:
        return False
    raise BadValue(f"{name} must be true or false, not {text!r}.")


def envone(name: str, allowed: Sequence[str]) -> str:
    """The variable as one of these words, or the first of them when it is unset or empty."""
    text = os.environ.get(name, "").strip()
    if text and text not in allowed:
        raise BadValue(f"{name} must be {', '.join(allowed[:-1])} or {allowed[-1]}, not {text!r}.")
    return text or allowed[0]


def envzone(name: str) -> str:
    """The variable as a time zone's name, "" when it is unset."""
    text = os.environ.get(name, "").strip()
    try:
        return ZoneInfo(text).key if text else ""
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadValue(f"{name} must be a time zone such as Europe/Oslo, not {text!r}.") from None


def envlist(name: str, default: Sequence[str] = ()) -> list[str]:
    """The variable's comma-separated parts without blanks, or the default when it is unset."""
    text = os.environ.get(name)
    if text is None:
        return list(default)
    return [part.strip() for part in text.split(",") if part.strip()]


def user_folder(purpose: str, platform: str, env: Mapping[str, str], home: Path) -> Path:
    """The platform's folder for `data` or `cache` of one program of one user.

    Linux and other Unixes follow the XDG base directory specification.
    """
    if platform == "win32":
        base = Path(env.get("LOCALAPPDATA") or home / "AppData" / "Local") / NAME
        return base / "Cache" if purpose == "cache" else base
    if platform == "darwin":
        return home / "Library" / ("Caches" if purpose == "cache" else "Application Support") / NAME
    variable, fallback = {
        "cache": ("XDG_CACHE_HOME", ".cache"),
        "data": ("XDG_DATA_HOME", ".local/share"),
    }[purpose]
    chosen = env.get(variable, "")
    # The specification tells programs to ignore relative paths in these variables.
    return (Path(chosen) if Path(chosen).is_absolute() else home / fallback) / NAME


def cache_dir() -> Path:
    """Where weights and the compiled engine are kept; safe to delete. Not created here."""
    return user_folder("cache", sys.platform, os.environ, Path.home())


def model_dir() -> Path:
    """The folder of weights: MODEL_DIR, or `models` in the cache folder. Not created here."""
    chosen = envstr("MODEL_DIR")
    return Path(chosen).expanduser().absolute() if chosen else cache_dir() / "models"


def data_path() -> Path:
    """Where the database, the secret key and parked caches live: DATA_DIR or the user's data folder."""
    chosen = envstr("DATA_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return user_folder("data", sys.platform, os.environ, Path.home())


def data_dir() -> Path:
    """The data folder, created for its owner alone (0700) where it is missing; raises BadValue."""
    folder = data_path()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError as error:
        raise BadValue(f"The data folder cannot be {folder}: {error.filename} is a file.") from None
    except OSError as error:
        raise BadValue(
            f"The data folder {folder} cannot be made: {error.strerror}. Set DATA_DIR to a folder of yours."
        ) from None
    return folder


def database_path() -> Path:
    """The default database file."""
    return data_path() / "memoryapp.sqlite3"


def postgresql(url: str) -> dict[str, Any]:
    """What Django needs to know to reach the database of a `postgresql://user:password@host:port/name` URL.

    Parameters behind a question mark go to libpq as they are (`sslmode`); `host` there may be a socket's
    folder. Never says the URL, which may hold a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadValue(
            "DATABASE_URL cannot be read: is everything in the password percent-encoded?"
        ) from None
    options = dict(parse_qsl(parts.query))
    if parts.scheme not in ("postgres", "postgresql"):
        raise BadValue("DATABASE_URL must begin with postgresql://; without it memoryapp uses SQLite.")
    if not (name := unquote(parts.path.strip("/"))):
        raise BadValue("DATABASE_URL must end with the name of a database.")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", unquote(parts.hostname or "")),
        "PORT": options.pop("port", str(port or "")),
        "OPTIONS": options,
    }


def static_root() -> Path:
    """Where `collectstatic` gathers what the server hands out."""
    return data_path() / "static"


def engine_lock_path(folder: Path | None = None) -> Path:
    """The file that the one engine of this machine holds locked while it runs; in another data folder's."""
    return (folder or data_path()) / "engine.lock"


def local_zone(
    variable: str = "TZ", link: Path = Path("/etc/localtime"), file: Path = Path("/etc/timezone")
) -> str:
    """The name of this machine's time zone, "UTC" where it does not say one that we know.

    A page shows times, and memory resolves "tomorrow", by the clock on the user's wall.
    """
    named = [os.environ.get(variable, "").removeprefix(":")]
    with contextlib.suppress(OSError):
        named.append(str(link.resolve()).rpartition("zoneinfo/")[2])
    with contextlib.suppress(OSError):
        named.append(file.read_text().strip())
    for name in named:
        with contextlib.suppress(ZoneInfoNotFoundError, ValueError, OSError):
            if name:
                return ZoneInfo(name).key
    return "UTC"
