"""A server that is unreachable, disconnects, hangs or refuses: what is retried and what is reported."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
import time

import pytest

from chat.errors import ModelNotReady, PromptTooLong, ProviderError, Reason
from chat.llm import meter
from chat.llm.remote.address import parse_address
from chat.llm.remote.provider import RemoteProvider
from chat.llm.types import GenerationOptions

from .fake_server import (
    MODELS,
    STORY_TURNS,
    chat_endpoint,
    only_when_streamed,
    run_fake_server,
    stream_pieces,
)


def test_a_failure_before_the_first_chunk_is_retried(connected):
    answers = iter([(503, {"error": "Loading model"}), (429, {}), None])

    def endpoint(body):
        return next(answers) or chat_endpoint("Here I am.")(body)

    with run_fake_server(v1__models=MODELS, v1__chat__completions=only_when_streamed(endpoint)) as server:
        provider = connected(server)
        assert "".join(provider.stream(STORY_TURNS, GenerationOptions.for_reply("s"))) == "Here I am."
        assert not provider.servers[0].needs_reconnect.is_set()


def test_a_connection_just_closed_by_the_server_is_retried(connected):
    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("Hello.")) as server:
        provider = connected(server)
        closed = iter([(200, iter([None]), {"content-length": "99"}), MODELS])
        server.paths["/v1/models"] = lambda body: next(closed)
        assert provider.servers[0].transport.get(f"{server.url}/v1/models") == MODELS


def test_after_several_attempts_the_model_is_reported_as_unreachable(connected):
    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("Hello.")) as server:
        provider = connected(server)
    with pytest.raises(ModelNotReady, match="Your message is saved"):
        list(provider.stream(STORY_TURNS, GenerationOptions.for_reply("s")))
    assert provider.servers[0].needs_reconnect.is_set()


def test_a_lost_connection_keeps_the_text_and_is_reported(connected):
    def endpoint(body):
        return stream_pieces("Once ", "upon ", then=[None])

    with run_fake_server(v1__models=MODELS, v1__chat__completions=only_when_streamed(endpoint)) as server:
        pieces = iter(connected(server).stream(STORY_TURNS, GenerationOptions.for_reply("s")))
        assert [next(pieces), next(pieces)] == ["Once ", "upon "]
        with pytest.raises(ProviderError) as problem:
            next(pieces)
        assert problem.value.code == "server-connection-lost"


def test_a_server_that_stops_sending_times_out(connected):
    held = threading.Event()

    def silent(body):
        yield from stream_pieces("Once ")
        held.wait(10)

    with run_fake_server(v1__models=MODELS, v1__chat__completions=only_when_streamed(silent)) as server:
        provider = connected(server, first=0.5, next=0.2)
        pieces = iter(provider.stream(STORY_TURNS, GenerationOptions.for_reply("s")))
        assert next(pieces) == "Once "
        with pytest.raises(ProviderError, match="broke off"):
            next(pieces)
        server.paths["/v1/chat/completions"] = lambda body: held.wait(10)
        with pytest.raises(ModelNotReady, match="did not answer in time"):
            list(provider.stream(STORY_TURNS, GenerationOptions.for_reply("s")))
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
        ({"choices": []}, ProviderError, "is not a model server"),
    ],
)
def test_refusals_are_reported_in_plain_sentences(connected, answer, kind, why):
    endpoint = only_when_streamed(lambda body: answer)
    with run_fake_server(v1__models=MODELS, v1__chat__completions=endpoint) as server:
        stream = connected(server).stream(STORY_TURNS, GenerationOptions.for_reply("s"))
        with pytest.raises(kind, match=why):
            list(stream)


def test_an_error_event_in_a_stream_is_not_text(connected):
    def endpoint(body):
        return stream_pieces("Once ", then=[{"error": {"message": "out of memory"}}])

    with run_fake_server(v1__models=MODELS, v1__chat__completions=only_when_streamed(endpoint)) as server:
        stream = connected(server).stream(STORY_TURNS, GenerationOptions.for_reply("s"))
        with pytest.raises(ProviderError, match="broke off"):
            list(stream)


def test_a_server_that_never_ends_its_stream_is_disconnected(connected):
    def endless(body):
        while True:
            yield from stream_pieces("word " * 50)

    with run_fake_server(v1__models=MODELS, v1__chat__completions=only_when_streamed(endless)) as server:
        stream = connected(server).stream(STORY_TURNS, GenerationOptions.for_reply("s", max_tokens=10))
        assert len("".join(stream)) < 2000
        assert stream.finish == "length"
        assert server.gone.wait(10)


def test_an_unreachable_or_refusing_server_takes_no_energy(connected):
    meter.background.take()
    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("Hello.")) as server:
        provider = connected(server, first=0.3)
        server.paths["/v1/chat/completions"] = lambda body: (503, {})
        with pytest.raises(ModelNotReady):
            provider.complete(STORY_TURNS, GenerationOptions(slot="s"))
        assert meter.background.take() == 0
        # A server that accepted the request and then hung may have worked on it.
        server.paths["/v1/chat/completions"] = lambda body: time.sleep(0.6)
        with pytest.raises(ModelNotReady):
            provider.complete(STORY_TURNS, GenerationOptions(slot="s"))
        assert meter.background.take() > 0.2


def test_a_call_in_progress_ends_with_an_error_when_the_model_is_shut_down(connected):
    asked, held = threading.Event(), threading.Event()

    def slow(body):
        asked.set()
        held.wait(10)

    with run_fake_server(
        v1__models=MODELS, v1__chat__completions=chat_endpoint("Hello."), slow=slow
    ) as server:
        provider = connected(server)
        closing = threading.Thread(target=lambda: asked.wait(10) and provider.close())
        closing.start()
        with pytest.raises(ModelNotReady, match="shut down"):
            provider.servers[0].transport.get(f"{server.url}/slow")
        held.set()
        closing.join(10)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_an_untrusted_certificate_and_a_server_without_tls_are_distinguished(tmp_path, monkeypatch):
    made = ["-x509", "-newkey", "rsa:2048", "-nodes", "-out", "cert", "-keyout", "key"]
    made += ["-subj", "/CN=fox", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", "req", *made], cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    with run_fake_server(v1__models=MODELS) as server:
        assert connection_error(server.url.replace("http:", "https:")) == str(Reason("server-without-tls"))
    with run_fake_server(tls=context, v1__models=(401, {})) as server:
        assert connection_error(server.url.replace("http:", "https:")) == str(
            Reason("server-certificate-untrusted")
        )
        assert not server.asked
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert"))
        assert connection_error(server.url.replace("http:", "https:")) == str(Reason("server-key-refused"))


def connection_error(url):
    provider = RemoteProvider(parse_address(url))
    try:
        with pytest.raises(ProviderError) as problem:
            provider.connect()
    finally:
        provider.close()
    return str(problem.value)


def test_a_response_from_another_model_triggers_a_new_probe(connected):
    def endpoint(body):
        return iter([{"model": "another", "choices": [{"delta": {"content": "Hi"}}]}])

    with run_fake_server(v1__models=MODELS, v1__chat__completions=only_when_streamed(endpoint)) as server:
        provider = connected(server)
        assert "".join(provider.stream(STORY_TURNS, GenerationOptions.for_reply("s"))) == "Hi"
        assert provider.servers[0].needs_reconnect.is_set()
