"""What the settings page tells: of the model, where things lie and how much there is. It changes nothing."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext_lazy as _

from chat.actions.preferences import zones
from chat.llm import weights
from chat.llm.llama import default_window
from chat.llm.registry import registry
from chat.llm.types import ModelNotReady
from chat.models import App, Conversation, Fact, Message, Strategy
from memoryapp.env import model_dir

_EXPLAINED = {
    Strategy.HYBRID: _("The first exchange, what you marked, a summary of the middle and the newest."),
    Strategy.SUMMARIZATION: _("A summary that grows, and the last twenty messages word for word."),
    Strategy.SIMPLE: _("Only the newest messages, as many as fit. What is older is not looked at again."),
    Strategy.TOPICS: _("What belongs to the topic you are on; a line on each of the others."),
}


def rooms(owner: Any) -> dict[str, Any]:
    """Return what the page tells: of the machine to whoever it belongs to, of the rest what is theirs."""
    keeps_house = settings.MODE == "local" or owner.is_staff
    return {
        "keeps_house": keeps_house,
        "brain": _brain() if keeps_house and not registry.status().remote else _elsewhere(),
        "places": _places() if keeps_house else [],
        "counts": _counts(owner),
    }


def strategies() -> list[tuple[str, Any, Any]]:
    """Return value, name and explanation of each strategy."""
    return [(s.value, s.label, _EXPLAINED[s]) for s in Strategy]


@cache
def zones_by_continent() -> dict[str, list[tuple[str, str]]]:
    """Return the time zones that have a city, as (IANA name, name within the continent)."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name in sorted(zones()):
        continent, _slash, city = name.partition("/")
        if city and continent not in ("Etc", "SystemV", "US", "posix", "right"):
            found.setdefault(continent, []).append((name, city.replace("_", " ").replace("/", ", ")))
    return {**found, "UTC": [("UTC", "UTC")]}


def _window() -> int:
    try:
        return registry.provider().context_window
    except ModelNotReady:
        return settings.WINDOW or default_window()


def _elsewhere() -> dict[str, Any]:
    return {"entry": None, "window": _window()}


def _brain() -> dict[str, Any]:
    """Return what model is in use, and which others are on this machine."""
    try:
        chosen = weights.choose_model(os.environ)
    except weights.WeightsError:
        chosen = None
    here = [e for e in weights.catalog().values() if e.purpose == "chat" and weights.is_present(e)]
    return {
        "entry": chosen,
        "path": weights.path_of(chosen) if chosen else "",
        "bytes": _size(weights.path_of(chosen)) if chosen else 0,
        "window": _window(),
        "other": next((e.name for e in here if e != chosen), chosen.name if chosen else ""),
        "half": max(2048, _window() // 2),
        "here": here,
    }


def _places() -> list[tuple[Any, str, int]]:
    """Return what is kept where, and its bytes; looks at a few dozen files at most."""
    parked, models = settings.DATA_DIR / "parked", model_dir()
    database = connection.settings_dict
    kept = [(_("Database"), str(database["NAME"]), _database_bytes())]
    kept.append((_("Parked prompts, so that long chats go on at once"), str(parked), _folder_bytes(parked)))
    folders = _folders(models)
    kept.append((_("Models"), str(models), _folder_bytes(models) + sum(map(_folder_bytes, folders))))
    return kept


def _database_bytes() -> int:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
    name = str(connection.settings_dict["NAME"])
    return sum(_size(Path(name + end)) for end in ("", "-wal", "-shm"))


def _counts(owner: Any) -> dict[str, int]:
    return {
        "apps": App.objects.for_owner(owner).count(),
        "conversations": Conversation.objects.for_owner(owner).kept().count(),
        "messages": Message.objects.for_owner(owner).count(),
        "memories": Fact.objects.for_owner(owner).live().count(),
    }


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _folder_bytes(folder: Path) -> int:
    """Return the bytes of the files right in a folder."""
    try:
        with os.scandir(folder) as entries:
            return sum(entry.stat().st_size for entry in entries if entry.is_file())
    except OSError:
        return 0


def _folders(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir()]
    except OSError:
        return []
