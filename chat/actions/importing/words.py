"""An outcome in plain words, for pages and terminals."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from .outcome import Outcome


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of thing, and how many of it are new, changed, here already and not taken."""

    what: str
    counts: list[tuple[str, int]]

    @property
    def told(self) -> list[tuple[str, int]]:
        """The counts that are worth a word."""
        return [(word, count) for word, count in self.counts if count]


def title_of(source: str) -> str:
    """Return what a file is."""
    return {
        "memoryapp": _("an export of memoryapp"),
        "chatgpt": _("an export of ChatGPT"),
        "claude": _("an export of Claude"),
        "mem0": _("memories of mem0"),
    }.get(source, source)


def rows_of(outcome: Outcome) -> list[Row]:
    """Return what there is a count of, in the order in which people ask."""
    names = {
        "apps": _("Apps"),
        "conversations": _("Chats"),
        "messages": _("Messages"),
        "facts": _("Memories"),
        "app_memories": _("What apps remember"),
        "settings": _("Settings"),
    }
    words = (_("new"), _("changed"), _("here already"), pgettext("of an import", "not taken"))
    rows = []
    for name, tally in outcome.tallies().items():
        counts = (tally.added, tally.changed, tally.there, tally.refused)
        if any(counts):
            rows.append(Row(names[name], list(zip(words, counts, strict=True))))
    return rows
