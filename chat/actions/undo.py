"""How a batch comes back: as it was, merged with what was learned meanwhile, or as superseded (design §5)."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.memory.shown import shown
from chat.memory.similar import normalise
from chat.models import Conversation, Deletion, Fact, FactEvent, FactEventKind

from . import archive
from .history import USER, event, record, snapshot
from .lineage import UNDO, keep_one_value


@dataclass(slots=True)
class Undone:
    """What an undo brought back, by what became of it."""

    returned: list[Fact] = field(default_factory=list)
    merged: list[Fact] = field(default_factory=list)
    superseded: list[Fact] = field(default_factory=list)
    app_memories: int = 0
    conversation: Conversation | None = None

    @property
    def sentence(self) -> str:
        """Return what happened in plain words for a toast."""
        said = []
        if count := len(self.returned):
            said.append(
                ngettext("Brought back %(n)d memory.", "Brought back %(n)d memories.", count) % {"n": count}
            )
        if count := self.app_memories:
            said.append(
                ngettext("Brought back %(n)d memory.", "Brought back %(n)d memories.", count) % {"n": count}
            )
        if count := len(self.merged):
            said.append(
                ngettext(
                    "%(n)d was learned again meanwhile and is one with it now.",
                    "%(n)d were learned again meanwhile and are one with them now.",
                    count,
                )
                % {"n": count}
            )
        replaced = _("“%(text)s” was replaced by something newer meanwhile.")
        said += [replaced % {"text": shown(fact.text)} for fact in self.superseded]
        return " ".join(said) or _("Brought back what had been put away.")


def bring_back_batch(deletion: Deletion) -> Undone:
    """Let a batch that was just marked as undone return; inside the caller's transaction."""
    undone = Undone()
    others = Fact.objects.filter(owner=deletion.owner_id).live()
    texts, places = set(), set()
    for text, kind, subject in others.values_list("text", "kind", "subject"):
        texts.add(normalise(text))
        places.add((kind, subject))
    batch = list(Fact.objects.filter(deletion=deletion).select_related("owner"))
    Fact.objects.filter(deletion=deletion).update(deletion=None)
    entries = []
    for fact in batch:
        fact.deletion = None
        was_live = fact.superseded_at is None and fact.archived_at is None
        if was_live and (normalise(fact.text) in texts or (fact.kind, fact.subject) in places):
            _bring_back(fact, undone)
            continue
        # The graph has kept what it knew of the fact, so that nothing else needs to change.
        entries.append(event(fact, FactEventKind.RESTORE, USER, before=snapshot(fact), reason=UNDO))
        undone.returned.extend([fact] if was_live else [])
    FactEvent.objects.bulk_create(entries)
    back = [fact.pk for fact in (*undone.returned, *undone.merged)]
    archive.evict(deletion.owner, timezone.now(), keep=back)
    return undone


def _bring_back(fact: Fact, undone: Undone) -> None:
    """Let a fact return beside one that says the same, or that may be another value of its kind."""
    was = snapshot(fact)
    twin = archive.absorb_twin(fact)
    record(fact, FactEventKind.RESTORE, USER, before=twin or was, reason=UNDO)
    stays = keep_one_value(fact, USER, "a newer one was learned meanwhile")
    if stays != fact:
        undone.superseded.append(fact)
    elif twin is not None:
        undone.merged.append(fact)
    else:
        undone.returned.append(fact)
