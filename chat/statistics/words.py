"""The energy of the machine in a sentence, and what the model works for in words."""

from __future__ import annotations

from typing import Any

from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from chat.actions.energy import Status

# By the purpose of a usage record.
PURPOSES: dict[str, Any] = {
    "reply": lazy("Replies"),
    "extract": lazy("Reading messages"),
    "consolidate": lazy("Comparing with what is known"),
    "title": lazy("Finding titles"),
    "summary": lazy("Summing up"),
    "app_memory": lazy("Writing app memories"),
    "app_choice": lazy("Choosing among app memories"),
    "classify": lazy("Sorting what you added"),
    "warm": lazy("Reading prompts in advance"),
}


def energy_sentence(status: Status) -> str:
    """Return what the energy means for who reads it: whether anything waits, what and until when."""
    if not status.low or status.until is None:
        return _("Energy for background work: %(percent)d %%. Nothing waits.") % {"percent": status.percent}
    clock = date_format(localtime(status.until), "TIME_FORMAT")
    if not status.deferred:
        return _("Energy for background work is low: new work waits until %(clock)s.") % {"clock": clock}
    kinds = ", ".join(f"{kind.words} ({kind.count})" for kind in status.deferred)
    return _("Background work waits until %(clock)s: %(kinds)s.") % {"clock": clock, "kinds": kinds}


def purpose(name: str) -> str:
    """Return what a call was for, in words."""
    return str(PURPOSES.get(name, name))
