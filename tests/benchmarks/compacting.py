"""What a compaction adds to the turn that needs it: `python -m tests.benchmarks.compacting`.

The default model behind the real server with a window of 4,096 tokens, and a conversation that has passed
70 % of it: while nobody writes it is summed up and its next prompt read. Then a message takes it past 80 %,
and its first token is compared with bare llama.cpp that has read the same prompt up to that message. Prints a
table and exits with 1 when the bar is missed.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup()

from chat.actions.owners import local_owner  # noqa: E402
from chat.llm import weights  # noqa: E402
from chat.models import Conversation, Fact, PromptReport  # noqa: E402
from tests.benchmarks import talk  # noqa: E402
from tests.benchmarks.bare import Bare  # noqa: E402
from tests.benchmarks.live import Row, loaded, planted, printed, quiet, turns_of  # noqa: E402
from tests.benchmarks.more_talk import MORE  # noqa: E402
from tests.page_client import Page, serve  # noqa: E402

WINDOW = 4096
CONVERSATIONS = 3
LONGEST_WAIT = 1.0  # seconds
# Takes the conversation from some 75 % of the window past its 80 %.
LONG = f"{talk.LONG} Now to my question: what of all this has to stand on the page, and what can go?"


def main() -> int:
    """Compact some conversations and print the table; returns the exit code."""
    process, base = serve({**os.environ, "WINDOW": str(WINDOW)}, "-m", "tests.benchmarks.server")
    bare = Bare(weights.model_path())
    try:
        page = loaded(base)
        owner = local_owner()
        for text, category, kind in talk.FACTS:
            Fact.objects.create(owner=owner, text=text, category=category, kind=kind, confidence=0.75)
        waits = [
            wait(page, bare, planted(owner, [*talk.TALK[n:], *talk.TALK[:n], *MORE[:11]]))
            for n in range(CONVERSATIONS)
        ]
    finally:
        process.terminate()
        process.wait(20)
        bare.native.close()
    figures = f"{statistics.median(waits):+.2f} s, at most {max(waits):+.2f} s of {len(waits)}"
    return printed([Row("wait that a compaction adds", figures, "≤ 1 s", max(waits) <= LONGEST_WAIT)])


def wait(page: Page, bare: Bare, conversation: str) -> float:
    """Return by how many seconds the compacted turn's first token is later than bare llama.cpp's."""
    page.say("Where were we? Answer in one sentence.", conversation)
    quiet()
    if not Conversation.objects.get(pk=conversation).prepared:
        raise RuntimeError("nothing was prepared")
    reply = page.say(LONG, conversation, stop_after=0.6)
    report = PromptReport.objects.get(reply_id=reply.id)
    quiet()
    if not report.stage:
        raise RuntimeError("nothing was compacted")
    turns = turns_of(bare, reply.id)
    tokens, before = bare.template.tokens(turns), bare.template.tokens(turns[:-1])
    known = next((n for n, (a, b) in enumerate(zip(tokens, before, strict=False)) if a != b), len(before))
    bare.read(tokens[:known])
    theirs = bare.read(tokens)
    read = report.prompt_tokens - report.cached_tokens
    print(f"  read {read}, bare {len(tokens) - known}: {reply.first:.3f} {theirs:.3f}", flush=True)
    return reply.first - theirs


if __name__ == "__main__":
    sys.exit(main())
