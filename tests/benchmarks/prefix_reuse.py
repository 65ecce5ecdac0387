"""Reuse of the model's prompt cache: `python -m tests.benchmarks.prefix_reuse [measure …]`.

Compares the real server with the default model, in turn, with bare llama.cpp that continues the same cache
with the same new tokens, and with the common design that puts newly ranked memory into the system prompt each
turn and has one context for all calls. Prints a table and exits with 1 when a bar is missed.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from uuid import UUID

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup()


from chat.actions import jobs  # noqa: E402
from chat.actions.owners import local_owner  # noqa: E402
from chat.llm import weights  # noqa: E402
from chat.llm.types import Turn  # noqa: E402
from chat.memory import extraction_prompt as reading  # noqa: E402
from chat.models import Conversation, ExtractionRun, Fact, Message, PromptReport, UsageRecord  # noqa: E402
from tests.benchmarks import sample_talk  # noqa: E402
from tests.benchmarks.bare_llama_cpp import BareLlama  # noqa: E402
from tests.benchmarks.more_sample_talk import MORE  # noqa: E402
from tests.benchmarks.running_server import (  # noqa: E402
    Row,
    create_conversation,
    open_page,
    print_table,
    read_prompt_tokens,
    wait_until,
    wait_until_idle,
)
from tests.page_client import MeasuredReply, PageClient, start_server_process  # noqa: E402

PAIRS = 5
STOP_AFTER = 0.6  # seconds: the first token is what counts
SESSION = 40
WINDOW = 8192


class Bench:
    """The server and bare llama.cpp, both with a conversation of about 3,000 tokens."""

    def __init__(self, page: PageClient, bare: BareLlama) -> None:
        self.page, self.bare = page, bare
        self.owner = local_owner()
        for text, category, kind in sample_talk.FACTS:
            Fact.objects.create(owner=self.owner, text=text, category=category, kind=kind, confidence=0.75)
        self.main = create_conversation(self.owner, [*sample_talk.TALK, *MORE[:11]])
        self.questions = iter(sample_talk.NEXT * 20)
        self.next_turn()

    def next_turn(self, text: str = "") -> tuple[MeasuredReply, PromptReport]:
        """Send the next message of the main conversation; return its reply and the reply's report."""
        reply = self.page.say(text or next(self.questions), self.main, stop_after=STOP_AFTER)
        return reply, PromptReport.objects.get(reply_id=UUID(reply.id))

    def pairs(self, before: Callable[[], None], count: int = PAIRS) -> tuple[list[float], list[float]]:
        """Measure pairs of turns, each after `before`; return the server's and bare llama.cpp's seconds
        to the first token.
        """
        ours, theirs = [], []
        for _ in range(count):
            before()
            reply, report = self.next_turn()
            wait_until_idle()
            tokens = read_prompt_tokens(self.bare, reply.id)
            known = self.count_cached_tokens(report)
            self.bare.read(tokens[:known])
            theirs.append(self.bare.read(tokens))
            ours.append(reply.first)
            read = report.prompt_tokens - report.cached_tokens
            print(f"  read {read}, bare {len(tokens) - known}: {ours[-1]:.3f} {theirs[-1]:.3f}", flush=True)
        return ours, theirs

    def count_cached_tokens(self, report: PromptReport) -> int:
        """Return how many tokens are cached when a turn begins: the last prompt and its reply."""
        before = (
            PromptReport.objects.filter(reply__conversation=UUID(self.main), reply__seq__lt=report.reply.seq)
            .order_by("-reply__seq")
            .first()
        )
        return before.prompt_tokens + before.completion_tokens if before else 1


def main(names: list[str]) -> int:
    """Run the named measurements, or all without names; print the table and return the exit code."""
    every = (without_pause, after_background, after_others, notes, edited, deleted, common_design, session)
    chosen = [measure for measure in every if not names or measure.__name__ in names]
    process, base = start_server_process(
        {**os.environ, "WINDOW": str(WINDOW)}, "-m", "tests.benchmarks.server"
    )
    bare = BareLlama(weights.model_path())
    rows: list[Row] = []
    try:
        bench = Bench(open_page(base), bare)
        wait_until_idle()
        for measure in chosen:
            rows += measure(bench)
            print(f"{rows[-1].what}: {rows[-1].measured}", flush=True)
    finally:
        process.terminate()
        process.wait(20)
        bare.native.close()
    return print_table(rows)


def compare_medians(what: str, ours: list[float], theirs: list[float], factor: float, plus: float) -> Row:
    """Compare the medians: the server's may be `factor` times bare llama.cpp's plus `plus` seconds."""
    mine, other = statistics.median(ours), statistics.median(theirs)
    bar = factor * other + plus
    figures = f"{mine * 1000:.0f} ms / {other * 1000:.0f} ms = {mine / other:.2f}"
    return Row(what, figures, f"≤ {factor} × + {plus * 1000:.0f} ms ({bar * 1000:.0f} ms)", mine <= bar)


def without_pause(bench: Bench) -> list[Row]:
    """Measure messages that follow each other before any background job starts."""
    ours, theirs = bench.pairs(lambda: None)
    return [compare_medians("first token, turn 20 on of ~3,000 tokens", ours, theirs, 1.15, 0.05)]


def after_background(bench: Bench) -> list[Row]:
    """Measure turns with an extraction, its decision and a summary of another conversation in between."""
    long = create_conversation(bench.owner, [*sample_talk.TALK, *MORE, *sample_talk.TALK])

    def background() -> None:
        extractions, sums = ExtractionRun.objects.count(), count_summaries()
        bench.page.say("I play the cello in a trio on Sundays.", other, stop_after=0.1)
        Conversation.objects.filter(pk=long).update(summary="", summarised_through=0)
        payload = {"conversation": long, "tokens": int(0.65 * WINDOW), "window": WINDOW}
        jobs.enqueue("prepare", payload, key=f"prepare:{long}")
        wait_until_idle()
        if ExtractionRun.objects.count() == extractions or count_summaries() == sums:
            raise RuntimeError("nothing ran in the background")

    other = bench.page.begin("Hello. Answer with one word.")
    wait_until_idle()
    ours, theirs = bench.pairs(background)
    return [compare_medians("  extraction, decision and a summary in between", ours, theirs, 1.2, 0.05)]


def after_others(bench: Bench) -> list[Row]:
    """Measure turns with messages in three other conversations in between."""
    others = [bench.page.begin(f"Hello, number {n}. Answer with one word.") for n in range(3)]

    def talk_elsewhere() -> None:
        for key in others:
            bench.page.say("And one more word, please.", key, stop_after=0.3)
        wait_until_idle()

    ours, theirs = bench.pairs(talk_elsewhere)
    return [compare_medians("  three other conversations in between", ours, theirs, 1.5, 0.1)]


def notes(bench: Bench) -> list[Row]:
    """Measure how many tokens a note adds to its turn, and how many the next turn decodes again."""
    before = PromptReport.objects.filter(reply__conversation=UUID(bench.main)).order_by("-reply__seq")
    extra, again = [], []
    for known, kind, text in NOTED:
        category = "identity"
        Fact.objects.create(owner=bench.owner, text=known, category=category, kind=kind, confidence=0.75)
        last = before[0]
        _, report = bench.next_turn(text)
        note = Message.objects.get(conversation=UUID(bench.main), seq=report.reply.seq - 1).note
        if not note:
            print(f"no note came with {text!r}")
            continue
        new = report.prompt_tokens - (last.prompt_tokens + last.completion_tokens)
        noted = len(bench.bare.native.tokenize(note, special=False))
        extra.append(report.prompt_tokens - report.cached_tokens - (new - noted))
        wait_until_idle()
        _, following = bench.next_turn()
        again.append(report.prompt_tokens + report.completion_tokens - following.cached_tokens)
        wait_until_idle()
    worst, most = max(extra, default=999), max(again, default=999)
    return [
        Row("tokens read for a note", str(extra), "≤ 60", worst <= 60),
        # The last token is always decoded again, because its output is needed for the next one.
        Row("  read again by the next turn", str(again), "≤ 1", most <= 1),
    ]


def edited(bench: Bench) -> list[Row]:
    """Measure turns after a fact of the block was edited on the memory page."""
    project = Fact.objects.filter(owner=bench.owner, text__contains="booking page").live().get()
    texts = iter(f"User is rewriting the booking page of a climbing gym in {place}" for place in "ABCDE")

    def edit() -> None:
        bench.page.post(f"/memory/{project.pk}/edit/", text=next(texts), category="project")
        wait_until_idle()

    ours, theirs = bench.pairs(edit)
    return [compare_medians("first token after a fact was edited", ours, theirs, 1.2, 0)]


def deleted(bench: Bench) -> list[Row]:
    """Measure turns after a fact of the block was deleted and the prompt was prefilled while idle."""
    names = iter("ABCDE")

    def forget() -> None:
        fact = Fact.objects.create(
            owner=bench.owner,
            text=f"User is planning a festival called Route {next(names)}",
            category="project",
            kind="building",
            confidence=0.75,
            pinned=True,
        )
        Conversation.objects.filter(pk=bench.main).update(memory_block=None)
        bench.next_turn()
        bench.page.post(f"/memory/{fact.pk}/delete/")
        wait_until(lambda: not Fact.objects.filter(pk=fact.pk).exists(), "the deletion")
        wait_until_idle()

    ours, theirs = bench.pairs(forget, count=2)
    return [compare_medians("first token after a fact was deleted, idle meanwhile", ours, theirs, 1.5, 0)]


def common_design(bench: Bench) -> list[Row]:
    """Measure a turn of the common design: newly ranked memory in the system prompt, one context for all."""
    reply, _ = bench.next_turn()
    wait_until_idle()
    tokens = read_prompt_tokens(bench.bare, reply.id)
    bench.bare.read(bench.bare.template.tokens(reading.build_prompt("I play the cello.")))
    other = bench.bare.template.tokens([Turn("system", "You know this user: tea first, then the page.")])
    began = time.perf_counter()
    bench.bare.read([*other, *tokens[60:]])
    seconds = time.perf_counter() - began
    ours, _ = bench.pairs(lambda: None, count=3)
    factor = seconds / statistics.median(ours)
    return [Row("one turn of the common design", f"{seconds:.1f} s, {factor:.0f} times as long", "", True)]


def session(bench: Bench) -> list[Row]:
    """Measure the share of prompt tokens that a session of 40 turns reuses from the cache."""
    key = bench.page.begin("Let us plan a small vegetable garden. What comes first?")
    for n in range(SESSION - 1):
        bench.page.say(f"And {GARDEN[n % len(GARDEN)]} in week {n + 1}?", key, stop_after=1.5)
    reports = PromptReport.objects.filter(reply__conversation=UUID(key)).order_by("reply__seq")[1:]
    share = sum(r.cached_tokens for r in reports) / sum(r.prompt_tokens for r in reports)
    return [Row(f"prompt tokens reused over {SESSION} turns", f"{share:.1%}", "≥ 95 %", share >= 0.95)]


NOTED = (
    ("User is allergic to hazelnuts", "health", "Which cake could I bake for the opening party?"),
    ("User's sister Ingrid collects stamps", "family", "What could I give my sister for her birthday?"),
)
GARDEN = ("the soil", "the beans", "watering", "the compost", "slugs", "the fence", "herbs", "the tomatoes")


def count_summaries() -> int:
    """Return the number of summary calls so far."""
    return UsageRecord.objects.filter(purpose="summary").count()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
