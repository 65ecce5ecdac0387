"""How far a fetch has come, for a terminal and for a log."""

import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

# Called with a label, the bytes that have arrived and the bytes in all.
Progress = Callable[[str, int, int], None]

# Begins the label of what is read again for its checksum; a log needs no lines of it.
CHECKING = "checking "
_WIDTH = 24
_STEP = 0.1  # a log gets a line each tenth


def silent(label: str, done: int, total: int) -> None:
    """Shows nothing."""


def bar(done: int, total: int, width: int = _WIDTH) -> str:
    """A bar of `width` cells for a fraction."""
    filled = min(width, width * done // total) if total else width
    return "█" * filled + "░" * (width - filled)


def shortened(label: str, width: int = 26) -> str:
    """A label that fits; its end tells files apart better than its middle."""
    return label if len(label) <= width else f"{label[: width // 2]}…{label[-(width - width // 2 - 1) :]}"


def clock(seconds: float) -> str:
    """Minutes and seconds, as 3:07."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def megabytes(size: int) -> str:
    """A size in MB, with a decimal where it is small."""
    return f"{size / 1e6:,.0f}" if size >= 10e6 else f"{size / 1e6:.1f}"


class Meter:
    """Draws a bar that rewrites itself on a terminal, and a line each tenth elsewhere."""

    def __init__(self, out: TextIO | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self._out = out or sys.stdout
        self._now = now
        self._live = self._out.isatty()
        self._label = ""
        self._start = (0.0, 0)
        self._last_drawn = 0.0
        self._last_tenth = -1

    def __call__(self, label: str, done: int, total: int) -> None:
        """Takes note of `done` of `total` bytes; cheap enough for every block."""
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
                f"  {label}: {done * 100 // max(total, 1)} % of {megabytes(total)} MB",
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
        left = f"{clock((total - done) / speed)} left" if speed > 0 and not finished else ""
        text = f"  {shortened(self._label)} {bar(done, total)} {megabytes(done)} of {megabytes(total)} MB"
        text += f"  {speed / 1e6:.1f} MB/s  {left}" if speed > 0 else ""
        # A line that wraps cannot be drawn over.
        text = text[: shutil.get_terminal_size().columns - 1]
        print(f"\r{text}\x1b[K", end="\n" if finished else "", file=self._out, flush=True)
