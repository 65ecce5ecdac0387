"""That no prompt is read twice: `python -m tests.benchmarks.read_once [measure …]`.

The default model behind the real server, compared in one run with bare llama.cpp that continues the same
cache with the same new tokens, in turn. Also with the usual way: memory ranked anew into the system prompt at
each turn, and one context for everything. Prints a table and exits with 1 when a bar is missed.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup()


from chat.actions import jobs  # noqa: E402
from chat.actions.owners import local_owner  # noqa: E402
from chat.llm import weights  # noqa: E402
from chat.llm.types import Turn  # noqa: E402
from chat.memory import prompt as reading  # noqa: E402
from chat.models import Conversation, ExtractionRun, Fact, Message, PromptReport, UsageRecord  # noqa: E402
from tests.benchmarks import talk  # noqa: E402
from tests.benchmarks.bare import Bare  # noqa: E402
from tests.benchmarks.live import Row, loaded, planted, printed, quiet, tokens_of, wait_until  # noqa: E402
from tests.benchmarks.more_talk import MORE  # noqa: E402
from tests.page_client import Page, Reply, serve  # noqa: E402

PAIRS = 5
STOP_AFTER = 0.6  # seconds: the first token is what counts
SESSION = 40
WINDOW = 8192


class Bench:
    """The server, bare llama.cpp beside it, and a conversation of some 3,000 tokens in both."""

    def __init__(self, page: Page, bare: Bare) -> None:
        self.page, self.bare = page, bare
        self.owner = local_owner()
        for text, category, kind in talk.FACTS:
            Fact.objects.create(owner=self.owner, text=text, category=category, kind=kind, confidence=0.75)
        self.main = planted(self.owner, [*talk.TALK, *MORE[:11]])
        self.questions = iter(talk.NEXT * 20)
        self.next_turn()

    def next_turn(self, text: str = "") -> tuple[Reply, PromptReport]:
        """Write the next message of the main conversation, and return its reply and the reply's report."""
        reply = self.page.say(text or next(self.questions), self.main, stop_after=STOP_AFTER)
        return reply, PromptReport.objects.get(reply_id=reply.id)

    def pairs(self, before: Callable[[], None], count: int = PAIRS) -> tuple[list[float], list[float]]:
        """Return the seconds to the first token, ours and bare, in turn, each after `before`."""
        ours, theirs = [], []
        for _ in range(count):
            before()
            reply, report = self.next_turn()
            quiet()
            tokens = tokens_of(self.bare, reply.id)
            known = self.known_to_bare(report)
            self.bare.read(tokens[:known])
            theirs.append(self.bare.read(tokens))
            ours.append(reply.first)
            read = report.prompt_tokens - report.cached_tokens
            print(f"  read {read}, bare {len(tokens) - known}: {ours[-1]:.3f} {theirs[-1]:.3f}", flush=True)
        return ours, theirs

    def known_to_bare(self, report: PromptReport) -> int:
        """Return how many tokens bare llama.cpp has when a turn begins: the last turn and its reply."""
        before = (
            PromptReport.objects.filter(reply__conversation=self.main, reply__seq__lt=report.reply.seq)
            .order_by("-reply__seq")
            .first()
        )
        return before.prompt_tokens + before.completion_tokens if before else 1


def main(names: list[str]) -> int:
    """Run the measurements of these names, without names all, and print the table; returns the exit code."""
    every = (at_once, after_background, after_others, notes, edited, deleted, usual, session)
    chosen = [measure for measure in every if not names or measure.__name__ in names]
    process, base = serve({**os.environ, "WINDOW": str(WINDOW)}, "-m", "tests.benchmarks.server")
    bare = Bare(weights.model_path())
    rows: list[Row] = []
    try:
        bench = Bench(loaded(base), bare)
        quiet()
        for measure in chosen:
            rows += measure(bench)
            print(f"{rows[-1].what}: {rows[-1].measured}", flush=True)
    finally:
        process.terminate()
        process.wait(20)
        bare.native.close()
    return printed(rows)


def judged(what: str, ours: list[float], theirs: list[float], factor: float, plus: float) -> Row:
    """Compare the medians: ours may take `factor` times bare's and `plus` seconds."""
    mine, other = statistics.median(ours), statistics.median(theirs)
    bar = factor * other + plus
    figures = f"{mine * 1000:.0f} ms / {other * 1000:.0f} ms = {mine / other:.2f}"
    return Row(what, figures, f"≤ {factor} × + {plus * 1000:.0f} ms ({bar * 1000:.0f} ms)", mine <= bar)


def at_once(bench: Bench) -> list[Row]:
    """One message after the other, faster than anything in the background begins."""
    ours, theirs = bench.pairs(lambda: None)
    return [judged("first token, turn 20 on of ~3,000 tokens", ours, theirs, 1.15, 0.05)]


def after_background(bench: Bench) -> list[Row]:
    """The same with a look, its decision and a summary of another conversation in between."""
    long = planted(bench.owner, [*talk.TALK, *MORE, *talk.TALK])

    def background() -> None:
        looks, sums = ExtractionRun.objects.count(), summaries()
        bench.page.say("I play the cello in a trio on Sundays.", other, stop_after=0.1)
        Conversation.objects.filter(pk=long).update(summary="", summarised_through=0)
        payload = {"conversation": long, "tokens": int(0.65 * WINDOW), "window": WINDOW}
        jobs.enqueue("prepare", payload, key=f"prepare:{long}")
        quiet()
        if ExtractionRun.objects.count() == looks or summaries() == sums:
            raise RuntimeError("nothing ran in the background")

    other = bench.page.begin("Hello. Answer with one word.")
    quiet()
    ours, theirs = bench.pairs(background)
    return [judged("  extraction, decision and a summary in between", ours, theirs, 1.2, 0.05)]


def after_others(bench: Bench) -> list[Row]:
    """The same after talking in three other conversations."""
    others = [bench.page.begin(f"Hello, number {n}. Answer with one word.") for n in range(3)]

    def talk_elsewhere() -> None:
        for key in others:
            bench.page.say("And one more word, please.", key, stop_after=0.3)
        quiet()

    ours, theirs = bench.pairs(talk_elsewhere)
    return [judged("  three other conversations in between", ours, theirs, 1.5, 0.1)]


def notes(bench: Bench) -> list[Row]:
    """What a turn with a note reads more than bare would, and what the next one reads again."""
    before = PromptReport.objects.filter(reply__conversation=bench.main).order_by("-reply__seq")
    extra, again = [], []
    for known, kind, text in NOTED:
        category = "identity"
        Fact.objects.create(owner=bench.owner, text=known, category=category, kind=kind, confidence=0.75)
        last = before[0]
        _, report = bench.next_turn(text)
        note = Message.objects.get(conversation=bench.main, seq=report.reply.seq - 1).note
        if not note:
            print(f"no note came with {text!r}")
            continue
        new = report.prompt_tokens - (last.prompt_tokens + last.completion_tokens)
        noted = len(bench.bare.native.tokenize(note, special=False))
        extra.append(report.prompt_tokens - report.cached_tokens - (new - noted))
        quiet()
        _, following = bench.next_turn()
        again.append(report.prompt_tokens + report.completion_tokens - following.cached_tokens)
        quiet()
    worst, most = max(extra, default=999), max(again, default=999)
    return [
        Row("tokens read for a note", str(extra), "≤ 60", worst <= 60),
        # The last token is always read again: the next one comes out of it.
        Row("  read again by the next turn", str(again), "≤ 1", most <= 1),
    ]


def edited(bench: Bench) -> list[Row]:
    """The first token after a fact of the block was corrected in the panel."""
    project = Fact.objects.filter(owner=bench.owner, text__contains="booking page").live().get()
    texts = iter(f"User is rewriting the booking page of a climbing gym in {place}" for place in "ABCDE")

    def edit() -> None:
        bench.page.post(f"/memory/{project.pk}/edit/", text=next(texts), category="project")
        quiet()

    ours, theirs = bench.pairs(edit)
    return [judged("first token after a fact was edited", ours, theirs, 1.2, 0)]


def deleted(bench: Bench) -> list[Row]:
    """The first token after a fact of the block was forgotten, and the prompt read anew while idle."""
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
        quiet()

    ours, theirs = bench.pairs(forget, count=2)
    return [judged("first token after a fact was deleted, idle meanwhile", ours, theirs, 1.5, 0)]


def usual(bench: Bench) -> list[Row]:
    """How long the usual way takes: memory ranked anew into the system prompt, one context for everything."""
    reply, _ = bench.next_turn()
    quiet()
    tokens = tokens_of(bench.bare, reply.id)
    bench.bare.read(bench.bare.template.tokens(reading.turns("I play the cello.")))
    other = bench.bare.template.tokens([Turn("system", "You know this user: tea first, then the page.")])
    began = time.perf_counter()
    bench.bare.read([*other, *tokens[60:]])
    seconds = time.perf_counter() - began
    ours, _ = bench.pairs(lambda: None, count=3)
    factor = seconds / statistics.median(ours)
    return [Row("the usual way, one turn of it", f"{seconds:.1f} s, {factor:.0f} times as long", "", True)]


def session(bench: Bench) -> list[Row]:
    """How much of its prompts a session of 40 turns had read before."""
    key = bench.page.begin("Let us plan a small vegetable garden. What comes first?")
    for n in range(SESSION - 1):
        bench.page.say(f"And {GARDEN[n % len(GARDEN)]} in week {n + 1}?", key, stop_after=1.5)
    reports = PromptReport.objects.filter(reply__conversation=key).order_by("reply__seq")[1:]
    share = sum(r.cached_tokens for r in reports) / sum(r.prompt_tokens for r in reports)
    return [Row(f"prompt tokens reused over {SESSION} turns", f"{share:.1%}", "≥ 95 %", share >= 0.95)]


NOTED = (
    ("User is allergic to hazelnuts", "health", "Which cake could I bake for the opening party?"),
    ("User's sister Ingrid collects stamps", "family", "What could I give my sister for her birthday?"),
)
GARDEN = ("the soil", "the beans", "watering", "the compost", "slugs", "the fence", "herbs", "the tomatoes")


def summaries() -> int:
    """Return how many times the model was asked for a summary."""
    return UsageRecord.objects.filter(purpose="summary").count()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
