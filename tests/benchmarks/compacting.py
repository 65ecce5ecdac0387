"""The delay that a compaction adds to its turn: `python -m tests.benchmarks.compacting`.

Runs the real server with the default model, a window of 4,096 tokens and a conversation over 70 % of it.
While idle, the server summarises the conversation and prefills its next prompt. Then a message takes it over
80 %, and the time to the first token is compared with bare llama.cpp that has decoded the same prompt up to
that message. Prints a table and exits with 1 when the bar is missed.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from uuid import UUID

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")

import django

django.setup()

from chat.actions.owners import local_owner  # noqa: E402
from chat.llm import weights  # noqa: E402
from chat.models import Conversation, Fact, PromptReport  # noqa: E402
from tests.benchmarks import sample_talk  # noqa: E402
from tests.benchmarks.bare_llama_cpp import BareLlama  # noqa: E402
from tests.benchmarks.more_sample_talk import MORE  # noqa: E402
from tests.benchmarks.running_server import (  # noqa: E402
    Row,
    create_conversation,
    open_page,
    print_table,
    read_prompt_turns,
    wait_until_idle,
)
from tests.page_client import PageClient, start_server_process  # noqa: E402

WINDOW = 4096
CONVERSATION_COUNT = 3
MAX_DELAY = 1.0  # seconds
# Takes the conversation from about 75 % of the window to over 80 %.
LONG = f"{sample_talk.LONG} Now to my question: what of all this has to stand on the page, and what can go?"


def main() -> int:
    """Compact some conversations, print the table, and return the exit code."""
    process, base = start_server_process(
        {**os.environ, "WINDOW": str(WINDOW)}, "-m", "tests.benchmarks.server"
    )
    bare = BareLlama(weights.model_path())
    try:
        page = open_page(base)
        owner = local_owner()
        for text, category, kind in sample_talk.FACTS:
            Fact.objects.create(owner=owner, text=text, category=category, kind=kind, confidence=0.75)
        waits = [
            measure_delay(
                page,
                bare,
                create_conversation(owner, [*sample_talk.TALK[n:], *sample_talk.TALK[:n], *MORE[:11]]),
            )
            for n in range(CONVERSATION_COUNT)
        ]
    finally:
        process.terminate()
        process.wait(20)
        bare.native.close()
    figures = f"{statistics.median(waits):+.2f} s, at most {max(waits):+.2f} s of {len(waits)}"
    return print_table([Row("wait that a compaction adds", figures, "≤ 1 s", max(waits) <= MAX_DELAY)])


def measure_delay(page: PageClient, bare: BareLlama, conversation: str) -> float:
    """Return how many seconds later the compacted turn's first token is than bare llama.cpp's."""
    page.say("Where were we? Answer in one sentence.", conversation)
    wait_until_idle()
    if not Conversation.objects.get(pk=conversation).prepared:
        raise RuntimeError("nothing was prepared")
    reply = page.say(LONG, conversation, stop_after=0.6)
    report = PromptReport.objects.get(reply_id=UUID(reply.id))
    wait_until_idle()
    if not report.stage:
        raise RuntimeError("nothing was compacted")
    turns = read_prompt_turns(bare, reply.id)
    tokens, before = bare.template.tokens(turns), bare.template.tokens(turns[:-1])
    known = next((n for n, (a, b) in enumerate(zip(tokens, before, strict=False)) if a != b), len(before))
    bare.read(tokens[:known])
    theirs = bare.read(tokens)
    read = report.prompt_tokens - report.cached_tokens
    print(f"  read {read}, bare {len(tokens) - known}: {reply.first:.3f} {theirs:.3f}", flush=True)
    return reply.first - theirs


if __name__ == "__main__":
    sys.exit(main())
