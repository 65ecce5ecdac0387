"""Read-only information on the settings page: the model, storage on disk, and numbers of rows."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext_lazy as _

from chat.actions.export_encryption import can_encrypt_exports
from chat.actions.model_servers import describe_servers
from chat.actions.owners import list_time_zones
from chat.error_messages import describe
from chat.errors import ModelNotReady
from chat.llm import weights
from chat.llm.machine_defaults import default_window
from chat.llm.registry import registry
from chat.models import App, Conversation, Fact, Message, Strategy, User
from memoryapp.base.env import model_dir
from memoryapp.base.passphrase import is_encrypted

_STRATEGY_TEXTS = {
    Strategy.HYBRID: _(
        "The first exchange, marked messages, a summary of the middle, and the newest messages."
    ),
    Strategy.SUMMARIZATION: _("A running summary, and the last twenty messages in full."),
    Strategy.SIMPLE: _("Only the newest messages that fit."),
    Strategy.TOPICS: _("The messages of the current topic, and one line on each of the others."),
}


def load_system_info(owner: User) -> dict[str, Any]:
    """Return the information for a user; the machine's own only in local mode or for staff."""
    sees_machine = settings.MODE == "local" or owner.is_staff
    return {
        "sees_machine": sees_machine,
        "local_model": _describe_local_model()
        if sees_machine and not registry.status().remote
        else _describe_remote_model(),
        "model_servers": _list_model_servers() if sees_machine else [],
        "storage": _list_storage() if sees_machine else [],
        # The disk of a database server is not this machine's.
        "sees_encryption": sees_machine and connection.vendor == "sqlite",
        "encrypted": is_encrypted(Path(settings.DATA_DIR)),
        "can_encrypt_exports": can_encrypt_exports(),
        "counts": _count_rows(owner),
    }


def _list_model_servers() -> list[dict[str, Any]]:
    """Return the servers of a pool, and for each one that is not used the sentence that says why."""
    return [
        {"state": state, "problem": "" if state.problem is None else describe(state.problem)}
        for state in describe_servers()
    ]


def list_strategies() -> list[tuple[str, Any, Any]]:
    """Return value, label and explanation of each context strategy."""
    return [(s.value, s.label, _STRATEGY_TEXTS[s]) for s in Strategy]


@cache
def group_time_zones() -> dict[str, list[tuple[str, str]]]:
    """Return the city time zones by continent, as (IANA name, name within the continent)."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name in sorted(list_time_zones()):
        continent, _slash, city = name.partition("/")
        if city and continent not in ("Etc", "SystemV", "US", "posix", "right"):
            found.setdefault(continent, []).append((name, city.replace("_", " ").replace("/", ", ")))
    return {**found, "UTC": [("UTC", "UTC")]}


def _context_window() -> int:
    try:
        return registry.provider().context_window
    except ModelNotReady:
        return settings.WINDOW or default_window()


def _describe_remote_model() -> dict[str, Any]:
    return {"entry": None, "window": _context_window()}


def _describe_local_model() -> dict[str, Any]:
    """Return the local model in use and the others on this machine; sizes in bytes, the window in tokens."""
    try:
        chosen = weights.choose_model(os.environ)
    except weights.WeightsError:
        chosen = None
    here = [e for e in weights.catalog().values() if e.purpose == "chat" and weights.is_present(e)]
    return {
        "entry": chosen,
        "path": weights.path_of(chosen) if chosen else "",
        "bytes": _file_bytes(weights.path_of(chosen)) if chosen else 0,
        "window": _context_window(),
        "other": next((e.name for e in here if e != chosen), chosen.name if chosen else ""),
        "half": max(2048, _context_window() // 2),
        "here": here,
    }


def _list_storage() -> list[tuple[Any, str, int]]:
    """Return label, path and bytes of each kind of data on disk."""
    parked, models = settings.DATA_DIR / "parked", model_dir()
    database = connection.settings_dict
    kept = [(_("Database"), str(database["NAME"]), _database_bytes())]
    kept.append((_("Parked prompts, so that long chats go on at once"), str(parked), _folder_bytes(parked)))
    folders = _subfolders(models)
    kept.append((_("Models"), str(models), _folder_bytes(models) + sum(map(_folder_bytes, folders))))
    return kept


def _database_bytes() -> int:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
    name = str(connection.settings_dict["NAME"])
    return sum(_file_bytes(Path(name + end)) for end in ("", "-wal", "-shm"))


def _count_rows(owner: User) -> dict[str, int]:
    return {
        "apps": App.objects.for_owner(owner).count(),
        "conversations": Conversation.objects.for_owner(owner).not_deleted().count(),
        "messages": Message.objects.for_owner(owner).count(),
        "memories": Fact.objects.for_owner(owner).live().count(),
    }


def _file_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _folder_bytes(folder: Path) -> int:
    """Return the bytes of the files directly in a folder; 0 where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sum(entry.stat().st_size for entry in entries if entry.is_file())
    except OSError:
        return 0


def _subfolders(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir()]
    except OSError:
        return []
