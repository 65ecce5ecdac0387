"""A server that is away, breaks off, falls silent or refuses: what is tried again and what is said."""

from __future__ import annotations

import threading

import pytest

from chat.llm.remote import troubles
from chat.llm.types import ModelNotReady, PromptTooLong, ProviderError

from .pretend import ASK, MODELS, after_the_probe, chat, pretending, words


def test_what_fails_before_its_first_word_is_tried_again(connected):
    answers = iter([(503, {"error": "Loading model"}), (429, {}), None])

    def endpoint(body):
        return next(answers) or chat("Here I am.")(body)

    with pretending(v1__models=MODELS, v1__chat__completions=after_the_probe(endpoint)) as server:
        provider = connected(server)
        assert "".join(provider.stream(ASK, slot="s")) == "Here I am."
        assert not provider.trouble.is_set()


def test_after_some_tries_it_is_said_that_the_model_cannot_be_reached(connected):
    with pretending(v1__models=MODELS, v1__chat__completions=chat("Hello.")) as server:
        provider = connected(server)
    with pytest.raises(ModelNotReady, match="Your message is saved"):
        list(provider.stream(ASK, slot="s"))
    assert provider.trouble.is_set()


def test_a_line_that_breaks_keeps_its_words_and_says_so(connected):
    def endpoint(body):
        return words("Once ", "upon ", then=[None])

    with pretending(v1__models=MODELS, v1__chat__completions=after_the_probe(endpoint)) as server:
        pieces = iter(connected(server).stream(ASK, slot="s"))
        assert [next(pieces), next(pieces)] == ["Once ", "upon "]
        with pytest.raises(ProviderError) as problem:
            next(pieces)
        assert str(problem.value) == troubles.BROKEN_OFF


def test_a_server_that_falls_silent_is_waited_for_so_long_and_no_longer(connected):
    held = threading.Event()

    def silent(body):
        yield from words("Once ")
        held.wait(10)

    with pretending(v1__models=MODELS, v1__chat__completions=after_the_probe(silent)) as server:
        provider = connected(server, first=0.5, next=0.2)
        pieces = iter(provider.stream(ASK, slot="s"))
        assert next(pieces) == "Once "
        with pytest.raises(ProviderError, match="broke off"):
            next(pieces)
        server.paths["/v1/chat/completions"] = lambda body: held.wait(10)
        with pytest.raises(ModelNotReady, match="did not answer in time"):
            list(provider.stream(ASK, slot="s"))
        held.set()


@pytest.mark.parametrize(
    ("answer", "kind", "why"),
    [
        (
            (400, {"error": {"type": "exceed_context_size_error"}}),
            PromptTooLong,
            "longer than the model's window",
        ),
        ((401, {}), ProviderError, "does not accept the key"),
        ((307, {}, {"location": "/elsewhere"}), ProviderError, "sends requests on"),
        ((404, {"error": "The model `m` does not exist"}), ProviderError, "no model of this name"),
        ((500, {"error": "oh"}), ProviderError, "refused the request"),
        ({"choices": []}, ProviderError, "does not answer as a model's server"),
    ],
)
def test_refusals_are_plain_sentences(connected, answer, kind, why):
    endpoint = after_the_probe(lambda body: answer)
    with pretending(v1__models=MODELS, v1__chat__completions=endpoint) as server:
        stream = connected(server).stream(ASK, slot="s")
        with pytest.raises(kind, match=why):
            list(stream)


def test_an_error_within_a_stream_is_no_text(connected):
    def endpoint(body):
        return words("Once ", then=[{"error": {"message": "out of memory"}}])

    with pretending(v1__models=MODELS, v1__chat__completions=after_the_probe(endpoint)) as server:
        stream = connected(server).stream(ASK, slot="s")
        with pytest.raises(ProviderError, match="broke off"):
            list(stream)


def test_a_server_that_never_stops_is_left(connected):
    def endless(body):
        while True:
            yield from words("word " * 50)

    with pretending(v1__models=MODELS, v1__chat__completions=after_the_probe(endless)) as server:
        stream = connected(server).stream(ASK, slot="s", max_tokens=10)
        assert len("".join(stream)) < 2000
        assert stream.finish == "length"
        assert server.gone.wait(10)


def test_where_another_model_answers_it_is_noticed(connected):
    def endpoint(body):
        return iter([{"model": "another", "choices": [{"delta": {"content": "Hi"}}]}])

    with pretending(v1__models=MODELS, v1__chat__completions=after_the_probe(endpoint)) as server:
        provider = connected(server)
        assert "".join(provider.stream(ASK, slot="s")) == "Hi"
        assert provider.trouble.is_set()
