"""The owner's live facts as prompts need them: a few columns instead of model instances, with relevance."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from chat.actions.owners import local_day_of
from chat.llm.embedder import Embedder, embed_text
from chat.memory import relevance
from chat.memory.fact_dates import tell_with_date
from chat.memory.formatting import to_one_line
from chat.memory.query_intent import QueryIntent, analyse_message
from chat.memory.wordings import list_wordings
from chat.models import AppMemory, Deletion, DeletionState, Fact, User
from chat.models.fact import FactQuerySet


@dataclass(frozen=True, slots=True)
class FactSnapshot:
    """The columns of a live fact that prompts need; `text` says when an age or a duration was said."""

    id: UUID
    text: str
    category: str
    kind: str
    pinned: bool
    confidence: float
    last_used: datetime
    last_seen: datetime
    version: int
    source_message_id: UUID | None
    holds_from: date | None = None
    holds_until: date | None = None
    said_on: date | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", tell_with_date(self.text, self.said_on))

    @property
    def is_dated(self) -> bool:
        """Whether the fact needs the present day to be understood."""
        return bool(self.holds_from or self.holds_until or self.said_on)


_COLUMNS = tuple(FactSnapshot.__dataclass_fields__)


def list_live_facts(owner: User) -> list[FactSnapshot]:
    """Return the owner's live facts that hold today; two queries over indexes."""
    return [FactSnapshot(*row) for row in _current_facts(owner).values_list(*_COLUMNS)]


def _current_facts(owner: User) -> FactQuerySet:
    return Fact.objects.for_owner(owner).live().holding_on(local_day_of(owner.pk))


@dataclass(frozen=True, slots=True)
class RelevantFacts:
    """The live facts, what a message asks for, and the relevance of each fact to the message, by fact id."""

    facts: list[FactSnapshot]
    ask: QueryIntent
    relevance: dict[UUID, float]


def rank_live_facts(owner: User, message: str, embedder: Embedder | None) -> RelevantFacts:
    """Return the owner's live facts with their relevance to a message.

    Two queries, with the vectors where there is an embedder; then the message is embedded, so call it outside
    any transaction. A greeting is compared with nothing.
    """
    ask = analyse_message(message)
    if ask.greeting:
        return RelevantFacts(list_live_facts(owner), ask, {})
    if embedder is None:
        facts, relevant = list_live_facts(owner), {}
    else:
        facts, vectors = list_live_facts_with_vectors(owner, embedder)
        relevant = _compare_vectors(embedder, message, vectors, {fact.id: fact.kind for fact in facts})
    texts = {fact.id: fact.text for fact in facts}
    return RelevantFacts(facts, ask, relevance.compute_relevance(ask.terms, texts, relevant))


def list_live_facts_with_vectors(
    owner: User, embedder: Embedder
) -> tuple[list[FactSnapshot], dict[UUID, bytes]]:
    """Return the owner's live facts that hold today, and the vectors (float32 bytes) of this embedder."""
    facts, vectors = [], {}
    rows = _current_facts(owner).values_list(*_COLUMNS, "embedder", "embedding")
    for *columns, name, embedding in rows:
        facts.append(FactSnapshot(*columns))
        if embedding and name == embedder.name:
            vectors[facts[-1].id] = bytes(embedding)
    return facts, vectors


def _compare_vectors(
    embedder: Embedder, message: str, vectors: dict[UUID, bytes], kinds: dict[UUID, str]
) -> dict[UUID, float]:
    try:
        vector = embed_text(embedder, message)
    except OSError:
        # The embedder was removed since it was found: go on without vectors.
        return {}
    return relevance.compare_vectors(vector, vectors, kinds, embedder.name)


def list_pending_deletion_lines(owner: User) -> set[str]:
    """Return each text, as one line, of the facts and app memories that are being deleted."""
    if not Deletion.objects.for_owner(owner).pending().exists():
        return set()
    facts = Fact.objects.for_owner(owner).filter(deletion__state=DeletionState.PENDING)
    remembered = AppMemory.objects.for_owner(owner).filter(deletion__state=DeletionState.PENDING)
    texts = (*list_wordings(facts), *remembered.values_list("content", flat=True))
    return {to_one_line(text) for text in texts}
