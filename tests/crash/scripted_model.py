"""The scripted model server of the crash test. Its answers have the form that each prompt asks for.

`python -m tests.crash.scripted_model PORT` runs it as a process of its own.
"""

from __future__ import annotations

import json
import random
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from tests.llm.remote.fake_server import (
    MODELS,
    FakeServer,
    only_when_streamed,
    run_fake_server,
    stream_pieces,
)

# The beginnings of two prompts: those of memory/extraction_prompt.py and memory/app_memories.py.
_EXTRACTION, _APP_MEMORY = "You keep notes about one person", "A chat has ended. Note in"
_STATEMENT = re.compile(r"[Kk]eeps? the (\w+) in drawer (\w+)")


def state_fact(words: tuple[str, str]) -> str:
    """Return a message that teaches a fact."""
    return f"I keep the {words[0]} in drawer {words[1]} of my old desk in the hall."


def list_taught(text: str) -> list[str]:
    """Return the facts that a text says, in one wording: memory may keep the words of the message."""
    return [f"User keeps the {what} in drawer {where}" for what, where in _STATEMENT.findall(text)]


def run_scripted_model(port: int = 0) -> AbstractContextManager[FakeServer]:
    """Serve the model until the block ends; without a port the system chooses one."""
    return run_fake_server(port=port, v1__models=MODELS, v1__chat__completions=only_when_streamed(_answer))


def _answer(body: dict[str, Any]) -> Iterator[Any]:
    asked = json.dumps(body["messages"])
    last = str(body["messages"][-1]["content"])
    if _EXTRACTION in asked:
        return stream_pieces("\n".join(f"tools: {fact}" for fact in list_taught(last)) or "none")
    if _APP_MEMORY in asked:
        # Two to four sentences of what was said.
        kept = [fact.replace("User keeps", "The user keeps") + "." for fact in list_taught(last)]
        return stream_pieces(" ".join([*kept[:2], "The user keeps an old desk in the hall."]))
    return _tell_slowly()


def _tell_slowly() -> Iterator[Any]:
    """Yield the chunks of a reply that takes up to a second."""
    for _ in range(random.choice((1, 2, 4, 8))):
        yield from stream_pieces("Once upon a time there was a lighthouse. ")
        time.sleep(random.uniform(0, 0.12))


if __name__ == "__main__":
    with run_scripted_model(int(sys.argv[1])):
        threading.Event().wait()
