"""Writes down what each model call cost, whatever became of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from chat.llm.types import (
    Completion,
    Lane,
    Provider,
    ProviderError,
    ReadsAhead,
    StopFlag,
    Stream,
    Turn,
    Unfinished,
    Usage,
)
from chat.models import UsageRecord

WARM = "warm"
_FAILED, _CANCELLED = "failed", "cancelled"


@dataclass(slots=True)
class _Call:
    purpose: str
    lane: Lane
    usage: Usage
    outcome: str

    def record(self, owner_id: int) -> UsageRecord:
        return UsageRecord(
            owner_id=owner_id,
            purpose=self.purpose,
            lane=self.lane.name.lower(),
            prompt_tokens=self.usage.prompt_tokens,
            cached_tokens=self.usage.cached_tokens,
            completion_tokens=self.usage.completion_tokens,
            seconds=round(self.usage.seconds, 3),
            energy=round(self.usage.worked, 3) if self.lane is Lane.BACKGROUND else 0.0,
            outcome=self.outcome,
        )


class Accounted:
    """A provider that remembers what its calls cost; it is used by one thread, as `accounted` gives it.

    Whole answers and what is read in advance are noted; who streams a reply accounts for it as it ends.
    """

    def __init__(self, provider: Provider, purpose: str = "") -> None:
        self._provider = provider
        self._purpose = purpose
        self.name = provider.name
        self.remote = provider.remote
        self.context_window = provider.context_window
        self.calls: list[_Call] = []

    def count_tokens(self, turns: Sequence[Turn]) -> int:
        """Return the prompt's length in tokens."""
        return self._provider.count_tokens(turns)

    def count_text(self, text: str) -> int:
        """Return the length of a piece of text in tokens."""
        return self._provider.count_text(text)

    def stream(
        self,
        turns: Sequence[Turn],
        *,
        slot: str,
        lane: Lane = Lane.CHAT,
        max_tokens: int = 1024,
        temperature: float = 0.7,
        stop: StopFlag | None = None,
    ) -> Stream:
        """Begin an answer, which is not noted here."""
        return self._provider.stream(
            turns, slot=slot, lane=lane, max_tokens=max_tokens, temperature=temperature, stop=stop
        )

    def complete(
        self,
        turns: Sequence[Turn],
        *,
        slot: str,
        lane: Lane = Lane.BACKGROUND,
        max_tokens: int = 256,
        grammar: str | None = None,
        stop: StopFlag | None = None,
    ) -> Completion:
        """Return a whole answer; its purpose is the name of its slot, unless another was given."""
        with self._failing(self._purpose or slot, lane):
            answer = self._provider.complete(
                turns, slot=slot, lane=lane, max_tokens=max_tokens, grammar=grammar, stop=stop
            )
        self._note(self._purpose or slot, lane, answer.usage, answer.finish)
        return answer

    def warm(self, turns: Sequence[Turn], *, slot: str) -> None:
        """Read a prompt in advance where the provider can do that; what is read bit by bit is one call."""
        if not isinstance(self._provider, ReadsAhead):
            return
        with self._failing(WARM, Lane.BACKGROUND):
            more = self._provider.warm(turns, slot=slot)
        self._note(WARM, Lane.BACKGROUND, more, "stop")

    def forget(self, slots: Collection[str], *, keep: Mapping[str, Sequence[Turn]]) -> None:
        """Drop what is cached of these slots."""
        self._provider.forget(slots, keep=keep)

    def failed(self, purpose: str = "") -> None:
        """Note that the last answer, of this purpose where one is given, was of no use."""
        mine = [call for call in self.calls if call.purpose == (purpose or call.purpose)]
        if mine and mine[-1].outcome != _CANCELLED:
            mine[-1].outcome = _FAILED

    @contextmanager
    def _failing(self, purpose: str, lane: Lane) -> Iterator[None]:
        try:
            yield
        except ProviderError as problem:
            # One that was refused before it began is no call.
            if problem.usage is not None and (problem.usage.prompt_tokens or problem.usage.worked):
                outcome = _CANCELLED if isinstance(problem, Unfinished) else _FAILED
                self._note(purpose, lane, problem.usage, outcome)
            raise

    def _note(self, purpose: str, lane: Lane, usage: Usage, outcome: str) -> None:
        last = self.calls[-1] if self.calls else None
        if last is None or purpose != WARM or last.purpose != WARM:
            self.calls.append(_Call(purpose, lane, usage, outcome))
            return
        last.outcome = outcome
        last.usage.prompt_tokens = usage.prompt_tokens
        last.usage.seconds += usage.seconds
        last.usage.worked += usage.worked


@contextmanager
def accounted(provider: Provider, owner_id: int, purpose: str = "") -> Iterator[Accounted]:
    """Give the provider for one piece of work, and keep a row for each of its calls when that ends.

    A ProviderError that comes out of the work makes its last call a failed one. One query, outside of any
    transaction; the engine's meter has counted the energy already.
    """
    asked = Accounted(provider, purpose)
    try:
        yield asked
    except ProviderError:
        asked.failed()
        raise
    finally:
        if asked.calls:
            UsageRecord.objects.bulk_create([call.record(owner_id) for call in asked.calls])


def record_call(owner_id: int, purpose: str, lane: Lane, usage: Usage, outcome: str) -> None:
    """Keep the row of one call that was made elsewhere."""
    _Call(purpose, lane, usage, outcome).record(owner_id).save()
