"""The state of the model as the pages show it, and its names in their short forms. No Django here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from chat.errors import Reason


class ModelState(StrEnum):
    """The state of the model as the pages show it."""

    MISSING = "missing"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"
    AWAY = "away"  # on a server that cannot be reached now


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """The state of the model, its names, the reason for the state, and the command that repairs it (""
    without).

    `host` is where a remote model runs, with the port; "" for a model on this machine.
    """

    state: ModelState
    name: str = ""
    label: str = ""
    reason: Reason | None = None
    command: str = ""
    remote: bool = False
    host: str = ""

    @property
    def sentence(self) -> str:
        """Return the reason in English, "" without one."""
        return "" if self.reason is None else str(self.reason)


def shorten_title(title: str) -> str:
    """Return a model's title short enough for a page header: without its tuning and quantisation."""
    return title.partition(",")[0].removesuffix(" Instruct")


def shorten_model_name(name: str) -> str:
    """Return a server's name of a model short enough for a page header: at most 60 characters, no folders."""
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2].removesuffix(".gguf")[:60]
