"""The checks of `manage.py doctor` on the data folder: who can read its files, and which are left over."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from chat.actions import leftovers
from memoryapp.base.env import RESTORE_BROKEN_OFF, unfinished_restore
from memoryapp.base.passphrase import UNFINISHED, is_encrypted, is_unfinished, key_file

from .findings import Finding, broken, note, ok


def check_key_file(file: Path) -> Finding:
    """Check that only the owner can read the file with the key."""
    if file.exists() and _is_open(file):
        return broken("key", f"others on this machine can read {file}. Run: chmod 600 '{file}'")
    return ok("key", f"{file}, for its owner alone")


def check_data_folder(folder: Path) -> Finding:
    """Check that only the owner can read the data folder and the secret key."""
    try:
        opened = [path for path in (folder, folder / "secret_key") if path.exists() and _is_open(path)]
        owner = folder.stat().st_uid
    except OSError as error:
        return broken("data folder", f"{folder}: {error.strerror}.")
    if opened:
        commands = " && ".join(f"chmod {'700' if path.is_dir() else '600'} '{path}'" for path in opened)
        return broken("data folder", f"others on this machine can read {opened[0]}. Run: {commands}")
    if hasattr(os, "getuid") and owner != os.getuid():
        return broken(
            "data folder", f"{folder} belongs to another user. Give it to yourself, or set DATA_DIR."
        )
    return ok("data folder", f"{folder}, for its owner alone")


def check_encryption(folder: Path, database: Path) -> Finding:
    """Tell whether the data is encrypted."""
    if is_unfinished(folder, database):
        return broken("encryption", UNFINISHED)
    if is_encrypted(folder):
        return ok("encryption", f"on; {key_file(folder)} opens with the passphrase only, so keep backups")
    return ok("encryption", "off; `manage.py encrypt` protects the data where the disk is not encrypted")


def check_leftovers(folder: Path) -> Iterator[Finding]:
    """List what killed processes and restores have left."""
    if unfinished_restore(folder).exists():
        yield broken("restore", RESTORE_BROKEN_OFF)
    if found := leftovers.find_leftovers(folder):
        names = ", ".join(path.name for path in found)
        yield note("leftovers", f"a killed process left {names}. The next start removes it.")
    if former := leftovers.find_former_data(folder):
        names = ", ".join(path.name for path in former)
        yield note(
            "former data",
            f"{names} hold what was here before. `manage.py doctor --remove-former` removes them.",
        )


def _is_open(path: Path) -> bool:
    return os.name != "nt" and bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
