"""Model servers of other programs on this machine are found by what they answer, and by nothing else."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.base import local_servers
from memoryapp.base.env import BadValue
from memoryapp.base.local_servers import FoundModel, FoundServer
from tests import local_programs

EXPECTED = {
    "ollama": ["qwen3:4b", "gpt-oss:120b-cloud"],
    "lmstudio": ["qwen3-4b"],
    "llama-server": ["fox.gguf"],
    "jan": ["jan-v3-4b"],
    "vllm": ["Qwen/Qwen3-4B"],
}


@pytest.fixture
def run(monkeypatch):
    """Runs a fake program."""
    yield from local_programs.make_runner(monkeypatch)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_program_is_found_with_its_models_for_chats(run, name):
    run(name)
    (found,) = local_servers.find_servers()
    assert found.program.name == name
    assert [model.name for model in found.models] == EXPECTED[name]


def test_several_programs_are_found_at_once(run):
    for name in EXPECTED:
        run(name)
    assert [found.program.name for found in local_servers.find_servers()] == list(EXPECTED)


def test_a_model_in_ollamas_cloud_is_marked(run):
    run("ollama")
    (found,) = local_servers.find_servers()
    assert [model.leaves for model in found.models] == [False, True]


@pytest.mark.parametrize(("name", "leaves"), [("a:1b-cloud", True), ("a:cloud", True), ("cloud:1b", False)])
def test_the_name_of_a_cloud_model_is_enough(run, name, leaves):
    run("ollama", api__version={"version": "1"}, api__tags={"models": [{"name": name}]})
    (found,) = local_servers.find_servers()
    assert found.models == (FoundModel(name, leaves=leaves),)


def test_only_get_requests_are_sent(run):
    servers = [run(name) for name in EXPECTED]
    local_servers.find_servers()
    asked = [path for server in servers for path, _body, _headers in server.asked]
    assert sorted(asked) == [
        *("/api/tags", "/api/v0/models", "/api/version"),
        *("/v1/models", "/v1/models", "/v1/models"),
    ]


def test_the_own_port_is_not_asked(run):
    server = run("vllm")
    port = int(server.url.rpartition(":")[2])
    assert local_servers.find_servers(own_port=port) == []
    assert server.asked == []


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize(
    "answer",
    [
        b"<html>another program</html>",
        {"data": "models"},
        {"data": [{"id": "m", "owned_by": "somebody"}], "version": "1", "models": [7]},
        [],
        b"[" * 100_000,
        b"\xff\xfe",
        (500, {"error": "no"}),
        (301, {}, {"Location": "https://example.org/"}),
    ],
    ids=["html", "a text", "odd entries", "a list", "nested", "no text", "an error", "a redirect"],
)
def test_other_answers_are_not_offered(run, name, answer):
    paths = {"api__version": answer, "api__tags": answer, "api__v0__models": answer, "v1__models": answer}
    run(name, **paths)
    found = local_servers.find_servers()
    # Jan says nothing about itself, so any list of models at its port counts as its own.
    assert found == [] or (name == "jan" and isinstance(answer, dict))


@given(
    st.recursive(st.none() | st.text() | st.integers(), lambda v: st.lists(v) | st.dictionaries(st.text(), v))
)
def test_no_answer_is_too_odd_to_read(value):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_servers, "_get", lambda url: value)
        for program in local_servers.PROGRAMS:
            found = local_servers.look_at(program, program.root)
            assert found is None or found.models == ()
            assert local_servers.is_other_program(program, program.root) in (True, False)


@pytest.mark.parametrize(("name", "is_told"), [("jan", True), ("lmstudio", True), ("vllm", False)])
def test_a_server_that_wants_a_key_is_told_where_the_port_is_its_own(run, name, is_told):
    refusal = (401, {"error": "Invalid API key"})
    run(name, v1__models=refusal, api__v0__models=refusal)
    found = local_servers.find_servers()
    assert [server.needs_key for server in found] == [True] * is_told


@pytest.mark.parametrize("model", ["\x1b[2J", "", "n" * 201])
def test_a_name_that_cannot_be_shown_is_left_out(run, model):
    run("llama-server", v1__models={"data": [{"id": model, "owned_by": "llamacpp"}]})
    assert local_servers.find_servers() == []


def test_a_server_that_does_not_answer_holds_nobody_back(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        monkeypatch.setattr(
            local_servers,
            "PROGRAMS",
            tuple(replace(program, port=port) for program in local_servers.PROGRAMS),
        )
        began = time.monotonic()
        assert local_servers.find_servers() == []
        assert time.monotonic() - began < 3 * local_servers.PATIENCE_SECONDS


def test_no_proxy_of_the_environment_is_asked(run, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    run("vllm")
    assert len(local_servers.find_servers()) == 1


class TestAnotherProgram:
    """`is_other_program` is certain, or says no."""

    @pytest.mark.parametrize("name", EXPECTED)
    def test_the_program_itself_is_none(self, run, name):
        server = run(name)
        assert not local_servers.is_other_program(local_servers.find_program(name), server.url)

    @pytest.mark.parametrize("name", ["ollama", "lmstudio", "llama-server", "vllm"])
    def test_each_other_program_is_one(self, run, name):
        program = local_servers.find_program(name)
        for other in EXPECTED.keys() - {name}:
            assert local_servers.is_other_program(program, run(other).url)

    def test_silence_a_failure_and_a_wish_for_a_key_tell_nothing(self, run):
        program = local_servers.find_program("ollama")
        assert not local_servers.is_other_program(program, "http://127.0.0.1:1")
        for status in (401, 403, 500, 503):
            server = run("ollama", api__version=(status, {}), api__tags=(status, {}))
            assert not local_servers.is_other_program(program, server.url)


class TestUse:
    """`--use` names a program and a model."""

    OLLAMA = FoundServer(local_servers.OLLAMA, (FoundModel("qwen3:4b"), FoundModel("gemma:latest")))

    def test_a_program_and_a_model_with_a_colon(self):
        assert local_servers.parse_use("ollama:qwen3:4b") == (local_servers.OLLAMA, "qwen3:4b")
        assert local_servers.parse_use(" vllm ") == (local_servers.VLLM, "")

    def test_an_unknown_program_is_refused_with_the_known_ones(self):
        with pytest.raises(BadValue, match="Known are: ollama, lmstudio"):
            local_servers.parse_use("llamafile:x")

    @pytest.mark.parametrize(("wanted", "name"), [("qwen3:4b", "qwen3:4b"), ("gemma", "gemma:latest")])
    def test_the_model_is_found_by_its_name(self, wanted, name):
        assert local_servers.choose_model(self.OLLAMA, local_servers.OLLAMA, wanted).name == name

    def test_the_only_model_needs_no_name(self):
        only = FoundServer(local_servers.VLLM, (FoundModel("m"),))
        assert local_servers.choose_model(only, local_servers.VLLM, "").name == "m"

    @pytest.mark.parametrize(
        ("found", "wanted", "sentence"),
        [
            (None, "", "does not answer at http://127.0.0.1:11434"),
            (FoundServer(local_servers.OLLAMA, needs_key=True), "m", "asks for a key"),
            (FoundServer(local_servers.OLLAMA), "m", "has no model for a chat"),
            (OLLAMA, "", "Name one: --use ollama:MODEL"),
            (OLLAMA, "llama3", "has no model “llama3”. It has: qwen3:4b, gemma:latest"),
        ],
    )
    def test_what_cannot_be_used_is_told(self, found, wanted, sentence):
        with pytest.raises(BadValue, match=sentence):
            local_servers.choose_model(found, local_servers.OLLAMA, wanted)


def test_an_answer_in_small_pieces_holds_nobody_back(monkeypatch):
    class Slow(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            for _ in range(40):
                self.wfile.write(b" ")
                time.sleep(0.1)

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setattr(
            local_servers, "PROGRAMS", (replace(local_servers.OLLAMA, port=server.server_port),)
        )
        began = time.monotonic()
        assert local_servers.find_servers() == []
        assert time.monotonic() - began < 3 * local_servers.PATIENCE_SECONDS
        server.shutdown()
