"""Records the cost of each model call, whatever its outcome."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from chat.errors import ProviderError, Unfinished
from chat.llm.types import (
    Completion,
    GenerationOptions,
    Lane,
    Provider,
    Stream,
    SupportsPrefill,
    Turn,
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
            energy=round(self.usage.worked_seconds, 3) if self.lane is Lane.BACKGROUND else 0.0,
            worked=round(self.usage.worked_seconds, 3),
            outcome=self.outcome,
        )


class AccountedProvider:
    """A provider that records the cost of its calls. Use it in one thread; `account_calls` creates it.

    It records completions and prefills; the caller of `stream` records a reply's cost itself. All calls are
    marked with the owner, so that their cached prefixes stay the owner's.
    """

    def __init__(self, provider: Provider, owner_id: int, purpose: str = "") -> None:
        self._provider = provider
        self._owner = str(owner_id)
        self._purpose = purpose
        self.name = provider.name
        self.remote = provider.remote
        self.context_window = provider.context_window
        self.places = provider.places
        self.can_reason = provider.can_reason
        self.calls: list[_Call] = []

    def count_tokens(self, turns: Sequence[Turn]) -> int:
        """Return the prompt's length in tokens."""
        return self._provider.count_tokens(turns)

    def count_text(self, text: str) -> int:
        """Return a text's length in tokens."""
        return self._provider.count_text(text)

    def stream(self, turns: Sequence[Turn], options: GenerationOptions) -> Stream:
        """Begin a reply; the caller records its usage."""
        return self._provider.stream(turns, replace(options, owner=self._owner))

    def complete(self, turns: Sequence[Turn], options: GenerationOptions) -> Completion:
        """Return a whole answer; the recorded purpose is the slot's name unless another was given."""
        purpose = self._purpose or options.slot
        with self._recording_failures(purpose, options.lane):
            answer = self._provider.complete(turns, replace(options, owner=self._owner))
        self._record_call_cost(purpose, options.lane, answer.usage, answer.finish)
        return answer

    def prefill(self, turns: Sequence[Turn], *, slot: str) -> None:
        """Read a prompt in advance if the provider can; consecutive steps count as one call."""
        if not isinstance(self._provider, SupportsPrefill):
            return
        with self._recording_failures(WARM, Lane.BACKGROUND):
            more = self._provider.prefill(turns, slot=slot, owner=self._owner)
        self._record_call_cost(WARM, Lane.BACKGROUND, more, "stop")

    def forget(self, slots: Collection[str] | None, *, keep: Mapping[str, Sequence[Turn]]) -> None:
        """Drop what is cached for these slots, None for all conversations."""
        self._provider.forget(slots, keep=keep)

    def mark_failed(self, purpose: str = "") -> None:
        """Record that the last answer, or the last of this purpose, could not be used."""
        mine = [call for call in self.calls if call.purpose == (purpose or call.purpose)]
        if mine and mine[-1].outcome != _CANCELLED:
            mine[-1].outcome = _FAILED

    @contextmanager
    def _recording_failures(self, purpose: str, lane: Lane) -> Iterator[None]:
        try:
            yield
        except ProviderError as problem:
            # A call that was refused before it began is not recorded.
            if problem.usage is not None and (problem.usage.prompt_tokens or problem.usage.worked_seconds):
                outcome = _CANCELLED if isinstance(problem, Unfinished) else _FAILED
                self._record_call_cost(purpose, lane, problem.usage, outcome)
            raise

    def _record_call_cost(self, purpose: str, lane: Lane, usage: Usage, outcome: str) -> None:
        last = self.calls[-1] if self.calls else None
        if last is None or purpose != WARM or last.purpose != WARM:
            self.calls.append(_Call(purpose, lane, usage, outcome))
            return
        last.outcome = outcome
        last.usage.prompt_tokens = usage.prompt_tokens
        last.usage.seconds += usage.seconds
        last.usage.worked_seconds += usage.worked_seconds


@contextmanager
def account_calls(provider: Provider, owner_id: int, purpose: str = "") -> Iterator[AccountedProvider]:
    """Yield the provider for one piece of work, and store a row for each of its calls at the end.

    A ProviderError raised by the work marks its last call as failed. One query, outside of any
    transaction; the engine's meter counts the energy.
    """
    accounted_provider = AccountedProvider(provider, owner_id, purpose)
    try:
        yield accounted_provider
    except ProviderError:
        accounted_provider.mark_failed()
        raise
    finally:
        if accounted_provider.calls:
            UsageRecord.objects.bulk_create([call.record(owner_id) for call in accounted_provider.calls])


def record_call(owner_id: int, purpose: str, lane: Lane, usage: Usage, outcome: str) -> None:
    """Store the row of one call that was made elsewhere."""
    _Call(purpose, lane, usage, outcome).record(owner_id).save()
