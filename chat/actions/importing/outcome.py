"""What an import does or would do, counted, with what it does not take and why."""

from __future__ import annotations

from dataclasses import dataclass, field

from chat.porting.parts import Refusal


@dataclass(frozen=True, slots=True)
class Options:
    """What the owner chose about an import.

    `learn`: memory reads the chats that come in, as if they had been said here. `forgotten`: what was
    forgotten here comes back too. `person`: whose memories these are, where a file holds several people's.
    """

    learn: bool = False
    forgotten: bool = False
    person: str = ""


@dataclass(slots=True)
class Tally:
    """How many things of one kind are added, changed, here already, and not taken."""

    added: int = 0
    changed: int = 0
    there: int = 0
    refused: int = 0


@dataclass(slots=True)
class Outcome:
    """All of it; `notes` are whole sentences, `persons` those among whom the owner has to choose."""

    source: str = ""
    apps: Tally = field(default_factory=Tally)
    app_memories: Tally = field(default_factory=Tally)
    conversations: Tally = field(default_factory=Tally)
    messages: Tally = field(default_factory=Tally)
    facts: Tally = field(default_factory=Tally)
    settings: Tally = field(default_factory=Tally)
    refusals: list[Refusal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    persons: list[str] = field(default_factory=list)
    # Of what is not taken so much was forgotten here.
    forgotten: int = 0

    def tallies(self) -> dict[str, Tally]:
        """Return the counts by the kind of thing."""
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
        """Count something that is not taken, and keep why."""
        tally.refused += 1
        self.refusals.append(Refusal(" ".join(what.split())[:120], why))
