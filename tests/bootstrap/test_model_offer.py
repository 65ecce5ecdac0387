"""Before anything is installed, `start` offers models of other programs, and chooses none by itself."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from memoryapp.bootstrap import environment, model_offer, start
from memoryapp.bootstrap.errors import BootstrapError
from tests import local_programs
from tests.local_programs import RunProgram

EITHER = ["ollama:qwen3:4b", "ollama:gpt-oss:120b-cloud"]


@pytest.fixture(autouse=True)
def _nothing_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    for name in ("PROVIDER_URL", "MODEL", "MODEL_PATH", "MODE", "FIND_MODEL_SERVERS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[RunProgram]:
    """Runs a fake program."""
    yield from local_programs.make_runner(monkeypatch)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is typed at the questions, on a terminal."""
    typed: list[str] = []

    def read(_question: str) -> str:
        if not typed:
            raise EOFError
        return typed.pop(0)

    monkeypatch.setattr("builtins.input", read)
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(model_offer, "sys", SimpleNamespace(stdin=terminal, stdout=terminal))
    return typed


@pytest.mark.parametrize(
    ("typed", "use"),
    [
        (["1"], EITHER[0]),
        (["2"], EITHER[1]),
        ([""], ""),
        (["3", "0", "x", "²", "2"], EITHER[1]),
        ([], ""),
    ],
)
def test_a_number_chooses_and_enter_does_not(
    run: RunProgram, answers: list[str], typed: list[str], use: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run("ollama")
    answers += typed
    assert model_offer.offer_found(8000, {}) == use
    assert f"2  {EITHER[1]}  (leaves this machine)" in capsys.readouterr().out


def test_without_a_terminal_the_commands_are_printed(
    run: RunProgram, capsys: pytest.CaptureFixture[str]
) -> None:
    run("ollama")
    run("jan", v1__models=(401, {}))
    assert model_offer.offer_found(8000, {}) == ""
    printed = capsys.readouterr().out
    assert f"start --use {EITHER[0]}\n" in printed
    assert "Jan runs here. It asks for a key" in printed


def test_a_name_is_quoted_for_the_shell(run: RunProgram, capsys: pytest.CaptureFixture[str]) -> None:
    run("llama-server", v1__models={"data": [{"id": "x'; date; '", "owned_by": "llamacpp"}]})
    model_offer.offer_found(8000, {})
    command = capsys.readouterr().out.partition("python3 manage.py ")[2]
    assert shlex.split(command) == ["start", "--use", "llama-server:x'; date; '"]


def test_nothing_is_printed_where_nothing_is_found(
    run: RunProgram, answers: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert model_offer.offer_found(8000, {}) == ""
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "env",
    [
        {"MODE": "server"},
        {"FIND_MODEL_SERVERS": "off"},
        {"MODEL": "smollm2-135m"},
        {"MODEL_PATH": "/m.gguf"},
        {"PROVIDER_URL": "http://127.0.0.1:9"},
    ],
)
def test_nobody_is_asked_where_it_is_not_wanted(
    run: RunProgram, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = run("ollama")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert model_offer.offer_found(8000, env) == ""
    assert server.asked == []


def test_nobody_is_asked_once_the_own_engine_is_installed(run: RunProgram) -> None:
    server = run("ollama")
    environment.mark_done("engine", "key")
    assert model_offer.offer_found(8000, {}) == ""
    assert server.asked == []


def test_use_is_completed_by_the_full_name(run: RunProgram) -> None:
    run("ollama", api__version={"version": "1"}, api__tags={"models": [{"name": "gemma:latest"}]})
    assert model_offer.check_use("ollama:gemma", {}) == "ollama:gemma:latest"
    assert model_offer.check_use("ollama", {}) == "ollama:gemma:latest"


@pytest.mark.parametrize(
    ("use", "env", "sentence"),
    [
        ("ollama:x", {"MODE": "server"}, "local mode"),
        ("ollama:x", {"PROVIDER_URL": "http://127.0.0.1:9"}, "PROVIDER_URL"),
        ("else:x", {}, "names no program"),
        ("vllm:x", {}, "does not answer"),
    ],
)
def test_a_use_that_cannot_work_is_refused_before_anything_is_installed(
    run: RunProgram, use: str, env: dict[str, str], sentence: str
) -> None:
    with pytest.raises(BootstrapError, match=sentence):
        model_offer.check_use(use, env)


def test_use_and_model_exclude_each_other() -> None:
    options = start.build_parser().parse_args(["--use", "ollama", "--model", "smollm2-135m"])
    with pytest.raises(BootstrapError, match="exclude each other"):
        start.choose_server(options)
