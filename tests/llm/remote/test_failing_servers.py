"""A server that is away, breaks off, falls silent or refuses: what is tried again and what is said."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
import time

import pytest

from chat.llm import meter
from chat.llm.remote import troubles
from chat.llm.remote.address import parse
from chat.llm.remote.provider import RemoteProvider
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


def test_a_connection_that_the_server_had_just_closed_is_no_trouble(connected):
    with pretending(v1__models=MODELS, v1__chat__completions=chat("Hello.")) as server:
        provider = connected(server)
        closed = iter([(200, iter([None]), {"content-length": "99"}), MODELS])
        server.paths["/v1/models"] = lambda body: next(closed)
        assert provider._wire.get(f"{server.url}/v1/models") == MODELS


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
        ((402, {}), ProviderError, "no credit left"),
        ((429, {"error": {"code": "insufficient_quota"}}), ProviderError, "no credit left"),
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


def test_who_is_away_or_sends_us_away_takes_no_energy(connected):
    meter.background.take()
    with pretending(v1__models=MODELS, v1__chat__completions=chat("Hello.")) as server:
        provider = connected(server, first=0.3)
        server.paths["/v1/chat/completions"] = lambda body: (503, {})
        with pytest.raises(ModelNotReady):
            provider.complete(ASK, slot="s")
        assert meter.background.take() == 0
        # One that took the request and fell silent may well have worked on it.
        server.paths["/v1/chat/completions"] = lambda body: time.sleep(0.6)
        with pytest.raises(ModelNotReady):
            provider.complete(ASK, slot="s")
        assert meter.background.take() > 0.2


def test_a_call_that_is_under_way_when_the_model_is_shut_down_ends_with_a_sentence(connected):
    asked, held = threading.Event(), threading.Event()

    def slow(body):
        asked.set()
        held.wait(10)

    with pretending(v1__models=MODELS, v1__chat__completions=chat("Hello."), slow=slow) as server:
        provider = connected(server)
        closing = threading.Thread(target=lambda: asked.wait(10) and provider.close())
        closing.start()
        with pytest.raises(ModelNotReady, match="shut down"):
            provider._wire.get(f"{server.url}/slow")
        held.set()
        closing.join(10)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_certificate_that_nobody_vouches_for_and_a_server_without_one_are_told_apart(tmp_path, monkeypatch):
    made = ["-x509", "-newkey", "rsa:2048", "-nodes", "-out", "cert", "-keyout", "key"]
    made += ["-subj", "/CN=fox", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", "req", *made], cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    with pretending(v1__models=MODELS) as server:
        assert why_not(server.url.replace("http:", "https:")) == troubles.NOT_SECURE
    with pretending(tls=context, v1__models=(401, {})) as server:
        assert why_not(server.url.replace("http:", "https:")) == troubles.UNTRUSTED
        assert not server.asked
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert"))
        assert why_not(server.url.replace("http:", "https:")) == troubles.REFUSED_KEY


def why_not(url):
    provider = RemoteProvider(parse(url))
    try:
        with pytest.raises(ProviderError) as problem:
            provider.connect()
    finally:
        provider.close()
    return str(problem.value)


def test_where_another_model_answers_it_is_noticed(connected):
    def endpoint(body):
        return iter([{"model": "another", "choices": [{"delta": {"content": "Hi"}}]}])

    with pretending(v1__models=MODELS, v1__chat__completions=after_the_probe(endpoint)) as server:
        provider = connected(server)
        assert "".join(provider.stream(ASK, slot="s")) == "Hi"
        assert provider.trouble.is_set()
