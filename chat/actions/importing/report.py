"""What an import did or would do: counts, refused items with their reason, and the texts for display."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from chat.porting.parts import RefusedItem


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The owner's choices for an import.

    `learn`: memory extracts from the imported chats as if they had been written here. `forgotten`: facts
    deleted here are imported again. `near`: the file's ids of the facts to import although they nearly say
    what was deleted here. `person`: whose memories to import from a file with several people's.
    """

    learn: bool = False
    forgotten: bool = False
    near: frozenset[UUID] = frozenset()
    person: str = ""


@dataclass(slots=True)
class Tally:
    """How many items of one kind are added, changed, here already, and refused."""

    added: int = 0
    changed: int = 0
    there: int = 0
    refused: int = 0


@dataclass(slots=True)
class ImportReport:
    """The counts of an import; `notes` are sentences, `persons` the people to choose one from."""

    source: str = ""
    apps: Tally = field(default_factory=Tally)
    app_memories: Tally = field(default_factory=Tally)
    conversations: Tally = field(default_factory=Tally)
    messages: Tally = field(default_factory=Tally)
    facts: Tally = field(default_factory=Tally)
    settings: Tally = field(default_factory=Tally)
    refusals: list[RefusedItem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    persons: list[str] = field(default_factory=list)
    # How many of the refused items were deleted here.
    forgotten: int = 0
    # Facts that nearly say what was deleted here, by the file's id: taken only if the owner chooses them.
    near: dict[UUID, str] = field(default_factory=dict)

    def tallies(self) -> dict[str, Tally]:
        """Return the counts by kind of item."""
        return {
            "apps": self.apps,
            "conversations": self.conversations,
            "messages": self.messages,
            "facts": self.facts,
            "app_memories": self.app_memories,
            "settings": self.settings,
        }

    @property
    def changes(self) -> bool:
        """Whether anything is added or changed."""
        return any(tally.added or tally.changed for tally in self.tallies().values())

    def refuse(self, tally: Tally, what: str, why: str) -> None:
        """Count a refused item and store the reason."""
        tally.refused += 1
        self.refusals.append(RefusedItem(" ".join(what.split())[:120], why))


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One kind of item, and how many are new, changed, here already and refused."""

    what: str
    counts: list[tuple[str, int]]

    @property
    def nonzero(self) -> list[tuple[str, int]]:
        """The counts that are not zero."""
        return [(word, count) for word, count in self.counts if count]


def describe_source(source: str) -> str:
    """Return the name of the file's source program for display."""
    return {
        "memoryapp": _("an export of memoryapp"),
        "chatgpt": _("an export of ChatGPT"),
        "claude": _("an export of Claude"),
        "mem0": _("memories of mem0"),
    }.get(source, source)


def list_report_rows(outcome: ImportReport) -> list[ReportRow]:
    """Return the rows of the report whose counts are not all zero, the most important kind first."""
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
            rows.append(ReportRow(names[name], list(zip(words, counts, strict=True))))
    return rows
