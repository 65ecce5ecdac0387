"""The engine measures the seconds of its work in the background lane."""

from __future__ import annotations

import threading
import time

import pytest

from chat.errors import ProviderError
from chat.llm import meter
from chat.llm.types import GenerationOptions, Lane, Turn
from tests.waiting import wait_until

pytestmark = pytest.mark.model
ASK = [Turn("system", "You write stories."), Turn("user", "Tell a story of a fox.")]


def background(llama, slot: str, tokens: int):
    return llama.complete(ASK, GenerationOptions(slot=slot, max_tokens=tokens))


def test_a_background_call_is_metered_with_the_seconds_that_the_engine_worked(llama):
    answer = background(llama, "work", 12)
    assert 0 < answer.usage.worked_seconds <= answer.usage.seconds
    assert meter.background.take() == pytest.approx(answer.usage.worked_seconds)


def test_calls_that_the_user_waits_for_are_not_metered(llama):
    stream = llama.stream(ASK, GenerationOptions.for_reply("reply", max_tokens=4))
    list(stream)
    answer = llama.complete(ASK, GenerationOptions(slot="asked", lane=Lane.INTERACTIVE, max_tokens=4))
    assert stream.usage.worked_seconds > 0
    assert answer.usage.worked_seconds > 0
    assert meter.background.read() == 0


def test_prefill_is_metered(llama):
    begins = [Turn("system", "A prompt that everybody begins with. " * 10), Turn("user", "")]
    usage = llama.prefill(begins, slot="ahead", owner="")
    assert usage.prompt_tokens == llama.count_tokens(begins)
    assert meter.background.take() == pytest.approx(usage.worked_seconds)


def test_a_fixed_prompt_is_not_metered(llama):
    beginning = [Turn("system", "A prompt that everybody begins with. " * 12), Turn("user", "")]
    llama.prefill_fixed(beginning, slot="fixed", background=True)
    assert meter.background.take() == 0


def test_waiting_for_a_chat_message_is_not_metered_but_preempted_work_is(llama):
    results = []
    thread = threading.Thread(target=lambda: results.append(background(llama, "disturbed", 120)))
    thread.start()
    wait_until(lambda: (r := llama.engine._running) is not None and len(r.generated) > 3)
    began = time.monotonic()
    list(llama.stream(ASK, GenerationOptions.for_reply("urgent", max_tokens=40)))
    waited = time.monotonic() - began
    thread.join(120)
    usage = results[0].usage
    assert usage.worked_seconds <= usage.seconds - waited * 0.5
    assert meter.background.take() == pytest.approx(usage.worked_seconds)


def test_a_failed_call_is_metered(llama, monkeypatch):
    def breaks(request):
        time.sleep(0.05)
        raise ProviderError("verbatim", sentence="no")

    with monkeypatch.context() as patched:
        patched.setattr(llama.engine, "_work", breaks)
        with pytest.raises(ProviderError) as failure:
            background(llama, "broken", 4)
    assert meter.background.take() == pytest.approx(failure.value.usage.worked_seconds)
    assert failure.value.usage.worked_seconds >= 0.05
