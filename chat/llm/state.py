"""What a page says about the model, and what it calls it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ModelState(StrEnum):
    """What the page says about the model."""

    MISSING = "missing"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"
    AWAY = "away"  # on a server that does not answer now


@dataclass(frozen=True, slots=True)
class Status:
    """The model's state in plain words, with the command that mends it where there is one."""

    state: ModelState
    name: str = ""
    label: str = ""
    sentence: str = ""
    command: str = ""
    remote: bool = False
    # Where it runs, with its port; "" on this machine.
    host: str = ""


def short_title(title: str) -> str:
    """Return a model's title as a header has room for it: without its tuning and quantisation."""
    return title.partition(",")[0].removesuffix(" Instruct")


def short_name(name: str) -> str:
    """Return a server's name of a model as a header has room for it: of a file its name alone."""
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2].removesuffix(".gguf")[:60]
