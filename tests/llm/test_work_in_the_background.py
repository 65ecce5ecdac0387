"""The engine knows how long it worked in the background lane, whoever it worked for."""

from __future__ import annotations

import threading
import time

import pytest

from chat.llm import meter
from chat.llm.types import Lane, ProviderError, Turn
from tests.waiting import until

pytestmark = pytest.mark.model
ASK = [Turn("system", "You write stories."), Turn("user", "Tell a story of a fox.")]


def background(llama, slot: str, tokens: int):
    return llama.complete(ASK, slot=slot, max_tokens=tokens)


def test_a_call_in_the_background_takes_the_seconds_that_the_engine_worked(llama):
    answer = background(llama, "work", 12)
    assert 0 < answer.usage.worked <= answer.usage.seconds
    assert meter.background.take() == pytest.approx(answer.usage.worked)


def test_what_the_user_waits_for_takes_none(llama):
    stream = llama.stream(ASK, slot="reply", max_tokens=4)
    list(stream)
    answer = llama.complete(ASK, slot="asked", lane=Lane.INTERACTIVE, max_tokens=4)
    assert stream.usage.worked > 0
    assert answer.usage.worked > 0
    assert meter.background.reading() == 0


def test_reading_in_advance_takes_them_too(llama):
    begins = [Turn("system", "A prompt that everybody begins with. " * 10), Turn("user", "")]
    usage = llama.warm(begins, slot="ahead")
    assert usage.prompt_tokens == llama.count_tokens(begins)
    assert meter.background.take() == pytest.approx(usage.worked)


def test_the_fixed_beginnings_that_are_read_at_the_start_take_none(llama):
    beginning = [Turn("system", "A prompt that everybody begins with. " * 12), Turn("user", "")]
    llama.warm(beginning, slot="fixed", background=True, starting=True)
    assert meter.background.take() == 0


def test_waiting_for_a_chat_message_costs_nothing_and_the_try_that_gave_way_does(llama):
    results = []
    thread = threading.Thread(target=lambda: results.append(background(llama, "disturbed", 120)))
    thread.start()
    until(lambda: (r := llama.engine._running) is not None and len(r.generated) > 3)
    began = time.monotonic()
    list(llama.stream(ASK, slot="urgent", max_tokens=40))
    waited = time.monotonic() - began
    thread.join(120)
    usage = results[0].usage
    assert usage.worked <= usage.seconds - waited * 0.5
    assert meter.background.take() == pytest.approx(usage.worked)


def test_a_call_that_fails_in_the_engine_is_counted(llama, monkeypatch):
    def breaks(request):
        time.sleep(0.05)
        raise ProviderError("no")

    with monkeypatch.context() as patched:
        patched.setattr(llama.engine, "_work", breaks)
        with pytest.raises(ProviderError) as failure:
            background(llama, "broken", 4)
    assert meter.background.take() == pytest.approx(failure.value.usage.worked)
    assert failure.value.usage.worked >= 0.05
