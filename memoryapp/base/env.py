"""Settings from environment variables, and the folders of this program. Standard library only."""

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

ROOT = Path(__file__).resolve().parents[2]
NAME = "memoryapp"

TRUE = {"1", "true", "yes", "on"}
FALSE = {"", "0", "false", "no", "off"}


class BadValue(ValueError):
    """An environment variable or a folder cannot be used; the message is a sentence for the user."""


def envstr(name: str, default: str = "") -> str:
    """Return the variable's text, or the default when it is unset."""
    return os.environ.get(name, default)


def envint(name: str, default: int) -> int:
    """Return the variable as an integer, or the default when it is unset or empty. Raises BadValue."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise BadValue(f"{name} must be a whole number, not {text!r}.") from None


def envfloat(name: str, default: float) -> float:
    """Return the variable as a number, or the default when it is unset or empty. Raises BadValue."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        return float(text)
    except ValueError:
        raise BadValue(f"{name} must be a number, not {text!r}.") from None


def envbool(name: str, default: bool) -> bool:
    """Return the variable as a boolean (1/0, true/false, yes/no, on/off), or the default when it is unset.

    Raises BadValue.
    """
    text = os.environ.get(name)
    if text is None:
        return default
    if text.strip().lower() in TRUE:
        return True
    if text.strip().lower() in FALSE:
        return False
    raise BadValue(f"{name} must be true or false, not {text!r}.")


def envchoice(name: str, allowed: Sequence[str]) -> str:
    """Return the variable, which must be one of `allowed`, or the first of these when it is unset or empty.

    Raises BadValue.
    """
    text = os.environ.get(name, "").strip()
    if text and text not in allowed:
        raise BadValue(f"{name} must be {', '.join(allowed[:-1])} or {allowed[-1]}, not {text!r}.")
    return text or allowed[0]


def envzone(name: str) -> str:
    """Return the variable as the name of a time zone, "" when it is unset. Raises BadValue."""
    text = os.environ.get(name, "").strip()
    try:
        return ZoneInfo(text).key if text else ""
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadValue(f"{name} must be a time zone such as Europe/Oslo, not {text!r}.") from None


def envlist(name: str, default: Sequence[str] = ()) -> list[str]:
    """Return the variable's comma-separated parts without empty ones, or the default when it is unset."""
    text = os.environ.get(name)
    if text is None:
        return list(default)
    return [part.strip() for part in text.split(",") if part.strip()]


def user_folder(purpose: str, platform: str, env: Mapping[str, str], home: Path) -> Path:
    """Return the platform's folder for this user's `data` or `cache` of this program.

    Unixes other than macOS follow the XDG base directory specification.
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
    # The XDG specification says to ignore relative paths in these variables.
    return (Path(chosen) if Path(chosen).is_absolute() else home / fallback) / NAME


def cache_dir() -> Path:
    """Return the folder of weights and compiled engines, which is safe to delete. It is not created here."""
    return user_folder("cache", sys.platform, os.environ, Path.home())


def model_dir() -> Path:
    """Return the folder of weights: MODEL_DIR, or `models` in the cache folder. It is not created here."""
    chosen = envstr("MODEL_DIR")
    return Path(chosen).expanduser().absolute() if chosen else cache_dir() / "models"


def data_path() -> Path:
    """Return the folder of the database, the secret key and cached prompts: DATA_DIR, or the user's data
    folder. It is not created here.
    """
    chosen = envstr("DATA_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return user_folder("data", sys.platform, os.environ, Path.home())


def data_dir() -> Path:
    """Return the data folder; create it with mode 0700 where it is missing. Raises BadValue."""
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
    _tighten_folder(folder)
    return folder


def _tighten_folder(folder: Path) -> None:
    """Let only its owner read a data folder. Raises BadValue where that is not for this program to do."""
    if os.name == "nt" or not folder.stat().st_mode & 0o077:
        return
    # The root of a file system has the first of these, and Macs put the second one everywhere.
    names = {path.name for path in folder.iterdir()} - {"lost+found", ".DS_Store"}
    if names and not names & {"memoryapp.sqlite3", "secret_key"}:
        raise BadValue(
            f"Others on this machine can read the data folder {folder}, and it holds other files. "
            "Set DATA_DIR to a folder of its own."
        )
    try:
        folder.chmod(0o700)
    except OSError:
        raise BadValue(
            f"Others on this machine can read the data folder {folder}, and it is not yours to close. "
            "Set DATA_DIR to a folder of yours."
        ) from None


def create_private_file(path: Path) -> None:
    """Create an empty file that only its owner can read, where there is none."""
    if not path.exists() and path.parent.is_dir():
        path.touch(mode=0o600)


def tighten_file(database: Path) -> None:
    """Let only its owner read a database and the files beside it; new ones get the mode of the database."""
    for end in ("", "-wal", "-shm", "-journal"):
        path = database.with_name(database.name + end)
        with contextlib.suppress(OSError):
            if path.stat().st_mode & 0o077:
                path.chmod(0o600)


def private_folder(folder: Path) -> Path:
    """Create a folder with mode 0700 where it is missing, and return it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def database_path() -> Path:
    """Return the path of the default database."""
    return data_path() / "memoryapp.sqlite3"


def unfinished_restore(folder: Path) -> Path:
    """Return the file that stands in a data folder while a restore is incomplete."""
    return folder / "restore-unfinished"


RESTORE_BROKEN_OFF = (
    "A restore was broken off, so the data may be incomplete. Run `manage.py restore FILE` again with the "
    "same file, or go back to what was there before with `manage.py restore --back`."
)


def static_root() -> Path:
    """Return the folder into which `collectstatic` copies static files: STATIC_DIR, or one of the data."""
    chosen = envstr("STATIC_DIR")
    return Path(chosen).expanduser().absolute() if chosen else data_path() / "static"


def engine_lock_path(folder: Path | None = None) -> Path:
    """Return the file that the process with the engine holds locked; `folder` is another data folder."""
    return (folder or data_path()) / "engine.lock"


def local_zone(
    variable: str = "TZ", link: Path = Path("/etc/localtime"), file: Path = Path("/etc/timezone")
) -> str:
    """Return the name of this machine's time zone, "UTC" where it is unknown.

    Pages show local times, and memory resolves words such as "tomorrow" by the local date.
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
