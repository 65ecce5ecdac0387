"""Shows the progress of a fetch on a terminal or in a log."""

import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

# Called with a label, the bytes done and the total bytes.
Progress = Callable[[str, int, int], None]

# The label's prefix while a checksum is computed; a log gets no lines for that.
CHECKING = "checking "
_WIDTH = 24
_STEP = 0.1  # a log gets a line for each tenth


def silent(label: str, done: int, total: int) -> None:
    """Show nothing."""


def draw_bar(done: int, total: int, width: int = _WIDTH) -> str:
    """Return a bar of `width` characters for a fraction."""
    filled = min(width, width * done // total) if total else width
    return "█" * filled + "░" * (width - filled)


def shorten_label(label: str, width: int = 26) -> str:
    """Return a label of at most `width` characters, its middle cut out: files differ at their end."""
    return label if len(label) <= width else f"{label[: width // 2]}…{label[-(width - width // 2 - 1) :]}"


def format_duration(seconds: float) -> str:
    """Return minutes and seconds, as 3:07."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def format_megabytes(size: int) -> str:
    """Return a size in bytes as MB, with one decimal below 10 MB."""
    return f"{size / 1e6:,.0f}" if size >= 10e6 else f"{size / 1e6:.1f}"


class ProgressBar:
    """A Progress that redraws a bar on a terminal, and prints a line for each tenth elsewhere."""

    def __init__(self, out: TextIO | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self._out = out or sys.stdout
        self._now = now
        self._live = self._out.isatty()
        self._label = ""
        self._start = (0.0, 0)
        self._last_drawn = 0.0
        self._last_tenth = -1

    def __call__(self, label: str, done: int, total: int) -> None:
        """Show `done` of `total` bytes; cheap enough to call for every block."""
        if label != self._label:
            self._label, self._start, self._last_tenth = label, (self._now(), done), -1
        if self._live:
            self._redraw(done, total)
            return
        if label.startswith(CHECKING):
            return
        tenth = int(done / total / _STEP) if total else 10
        if tenth > self._last_tenth:
            self._last_tenth = tenth
            print(
                f"  {label}: {done * 100 // max(total, 1)} % of {format_megabytes(total)} MB",
                file=self._out,
                flush=True,
            )

    def _redraw(self, done: int, total: int) -> None:
        finished = done >= total
        if not finished and self._now() - self._last_drawn < 0.1:
            return
        self._last_drawn = self._now()
        seconds = self._now() - self._start[0]
        speed = (done - self._start[1]) / seconds if seconds > 0.5 else 0.0
        left = f"{format_duration((total - done) / speed)} left" if speed > 0 and not finished else ""
        amount = f"{format_megabytes(done)} of {format_megabytes(total)} MB"
        text = f"  {shorten_label(self._label)} {draw_bar(done, total)} {amount}"
        text += f"  {speed / 1e6:.1f} MB/s  {left}" if speed > 0 else ""
        # A wrapped line could not be redrawn.
        text = text[: shutil.get_terminal_size().columns - 1]
        print(f"\r{text}\x1b[K", end="\n" if finished else "", file=self._out, flush=True)
