"""Work in the background waits while energy is low; what the user asked for never comes here (design §5)."""

from __future__ import annotations

from collections.abc import Callable

from django.utils import timezone

from chat.actions import energy

from .registry import Postpone


def wait_for_energy(unless: Callable[[], bool] = lambda: False) -> None:
    """Raise Postpone while energy is low; call it right before the model is asked in the background lane.

    `unless` is asked only then: whether the user waits for this work.
    """
    until = energy.low_until(timezone.now())
    if until is not None and not unless():
        raise Postpone(until)
