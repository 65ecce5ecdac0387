"""What the program has seen of the machine's clock."""

from __future__ import annotations

from django.db import models


class ClockReading(models.Model):
    """The last reading of the wall clock; one row, which all processes on this database share.

    The clock has neither gone back nor leapt ahead since `steady_since`. Both are wall-clock times as they
    were read, so they may be wrong.
    """

    read_at = models.DateTimeField()
    steady_since = models.DateTimeField()

    def __str__(self) -> str:
        return f"clock read at {self.read_at:%Y-%m-%d %H:%M}"
