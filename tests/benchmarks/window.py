"""Checks that no conversation exceeds its window: `python -m tests.benchmarks.window`.

Takes 300 turns with each strategy, a window of 2,048 tokens, a real tokenizer and scripted replies. Messages
have 1 to 1,500 tokens, log-uniform, and five have 5,000. Prints a table; exits with 1 when a bar is missed.
"""

from __future__ import annotations

import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup()

from django.core.management import call_command  # noqa: E402

from chat.actions import messages, prompts  # noqa: E402
from chat.actions.owners import local_owner  # noqa: E402
from chat.context.prompt import Prompt, build_prompt  # noqa: E402
from chat.jobs.prompts import prepare_compaction  # noqa: E402
from chat.llm.llama import LlamaProvider  # noqa: E402
from chat.llm.registry import registry  # noqa: E402
from chat.llm.scripted import ScriptedProvider  # noqa: E402
from chat.llm.types import Turn  # noqa: E402
from chat.models import Conversation, Fact, MessageState, Strategy  # noqa: E402
from tests.benchmarks import sample_talk  # noqa: E402
from tests.benchmarks.default_tokenizer import load_tokenizer  # noqa: E402
from tests.scripted_summary import summarise_turns  # noqa: E402

TURNS, WINDOW = 300, 2048
LONGEST, HUGE, HUGE_COUNT = 1500, 5000, 5


class TokenizingProvider(ScriptedProvider):
    """A scripted model that counts tokens with a real tokenizer and template."""

    counter: LlamaProvider

    def count_tokens(self, turns: Sequence[Turn]) -> int:
        return self.counter.count_tokens(turns)

    def count_text(self, text: str) -> int:
        return self.counter.count_text(text)


@dataclass(slots=True)
class StrategyResult:
    """The results of a conversation with one strategy; seconds are of building each prompt."""

    strategy: str
    allowed: float = 0.0
    new_tokens: int = 0
    fullest: int = 0
    seconds: list[float] = field(default_factory=list)
    stages: list[int] = field(default_factory=list)

    @property
    def compactions(self) -> int:
        return sum(stage > 0 for stage in self.stages)

    @property
    def ok(self) -> bool:
        return self.fullest <= WINDOW and self.compactions <= self.allowed


def main() -> int:
    """Run all four strategies, print the table, and return the exit code."""
    call_command("migrate", verbosity=0)
    real = load_tokenizer()
    provider = TokenizingProvider(context_window=WINDOW, default_completion=summarise_turns)
    provider.counter = real
    registry.use(provider)
    owner = local_owner()
    for n in range(40):
        kind = ("project", "building") if n % 2 else ("preference", "reply_style")
        text = f"User is building part {n} of a boat" if n % 2 else f"User wants answers without habit {n}"
        Fact.objects.create(owner=owner, text=text, category=kind[0], kind=kind[1], confidence=0.75)
    try:
        results = [run_strategy(owner, strategy, provider) for strategy in Strategy.values]
    finally:
        real.close()
    print(
        f"\n{'strategy':<15} {'new tokens':>10} {'fullest':>8} {'compactions':>12} {'at most':>8} "
        f"{'stages 1/2/3':>14} {'prompt p95':>11}"
    )
    for c in results:
        stages = "/".join(str(c.stages.count(n)) for n in (1, 2, 3))
        p95 = sorted(c.seconds)[int(len(c.seconds) * 0.95)] * 1000
        print(
            f"{c.strategy:<15} {c.new_tokens:>10,} {c.fullest:>8,} {c.compactions:>12} {c.allowed:>8.0f} "
            f"{stages:>14} {p95:>8.0f} ms  {'ok' if c.ok else 'MISSED'}"
        )
    return 0 if all(c.ok for c in results) else 1


def run_strategy(owner: object, strategy: str, provider: TokenizingProvider) -> StrategyResult:
    """Take 300 turns with a strategy and return the results."""
    result = StrategyResult(strategy)
    conversation = None
    oversized = 0
    for asked_tokens, answer_tokens in generate_lengths():
        text = make_text(asked_tokens, provider)
        asked, reply = messages.send_message(owner, text, conversation)
        if conversation is None:
            conversation = asked.conversation
            Conversation.objects.filter(pk=conversation.pk).update(strategy=strategy)
        conversation = Conversation.objects.select_related("app", "owner").get(pk=conversation.pk)
        began = time.perf_counter()
        prompt = build_prompt(conversation, asked, provider)
        result.seconds.append(time.perf_counter() - began)
        check_prompt(prompt)
        prompts.record_prompt(conversation, asked, reply, prompt, WINDOW)
        answer = make_text(min(answer_tokens, prompt.max_tokens), provider)
        messages.finish_reply(reply, answer, MessageState.COMPLETE)
        spent = prompt.tokens + provider.count_text(answer)
        prepare_compaction({"conversation": str(conversation.pk), "tokens": spent, "window": WINDOW})
        result.new_tokens += provider.count_text(text) + provider.count_text(answer)
        result.fullest = max(result.fullest, prompt.tokens + prompt.max_tokens)
        result.stages.append(prompt.stage)
        oversized += asked_tokens > WINDOW
    result.allowed = result.new_tokens / (0.3 * WINDOW) + oversized
    return result


def check_prompt(prompt: Prompt) -> None:
    """Raise RuntimeError if a prompt has no room for its reply or does not end with the user's message."""
    if prompt.tokens + prompt.max_tokens > WINDOW or prompt.max_tokens < WINDOW // 5:
        raise RuntimeError(f"{prompt.tokens} tokens and {prompt.max_tokens} for the reply")
    if prompt.turns[-1].role != "user":
        raise RuntimeError("the user does not speak last")


def generate_lengths() -> Iterator[tuple[int, int]]:
    """Yield the lengths in tokens of each message and its reply; the same for every strategy."""
    rng = random.Random(4)
    huge = set(rng.sample(range(TURNS), HUGE_COUNT))
    for n in range(TURNS):
        one, other = (round(math.exp(rng.uniform(0, math.log(LONGEST)))) for _ in range(2))
        yield (HUGE if n in huge else one), other


WORDS = [word for exchange in sample_talk.TALK for said in exchange for word in said.split()]


def make_text(tokens: int, provider: TokenizingProvider) -> str:
    """Return sample text of about `tokens` tokens."""
    start = random.Random(tokens).randrange(len(WORDS))
    text = " ".join((WORDS * (2 + tokens // len(WORDS)))[start : start + max(1, int(tokens / 1.35))])
    return text


if __name__ == "__main__":
    sys.exit(main())
