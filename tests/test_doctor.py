"""`manage.py doctor`: each line is ok, or says what to do."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from chat.llm import weights
from chat.management import health
from chat.management.health import machine, models, storage
from chat.management.health.finding import Finding, State, broken, note, ok
from chat.management.health.remote import kept_safe, remote
from memoryapp.env import ROOT
from memoryapp.locking import locked
from memoryapp.provider import Choice, keep, path
from tests.llm.remote.pretend import chat, pretending

GOOD = {"journal_mode": "wal", "synchronous": 1, "busy_timeout": 20000}
BUILD = {"version": "0.3.36", "llama_cpp": "0.5.0", "system": "AVX2 FMA"}


@pytest.fixture
def findings(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str, int]]:
    """Runs the command over given findings and returns what it prints with its exit code."""

    def run(*found: Finding) -> tuple[str, int]:
        monkeypatch.setattr("chat.management.commands.doctor.examine", lambda deep: iter(found))
        out = StringIO()
        try:
            call_command("doctor", stdout=out, no_color=True)
        except SystemExit as end:
            return out.getvalue(), int(end.code or 0)
        return out.getvalue(), 0

    return run


class TestReport:
    def test_all_well_ends_well(self, findings: Callable[..., tuple[str, int]]) -> None:
        text, code = findings(ok("Python", "3.11.7"))
        assert text == "ok      Python       3.11.7\n"
        assert code == 0

    def test_a_note_is_no_failure(self, findings: Callable[..., tuple[str, int]]) -> None:
        assert findings(note("disk", "Make room."))[1] == 0

    def test_something_broken_ends_with_1(self, findings: Callable[..., tuple[str, int]]) -> None:
        text, code = findings(broken("model", "Fetch it."), ok("disk", "fine"))
        assert text.startswith("broken  model        Fetch it.\n")
        assert code == 1


class TestDatabase:
    def test_the_design_s_settings_are_well(self) -> None:
        assert storage.sqlite_finding(GOOD, "IMMEDIATE").state is State.OK

    @pytest.mark.parametrize(
        ("change", "mode", "says"),
        [
            ({"journal_mode": "delete"}, "IMMEDIATE", "journal_mode must be wal"),
            ({"synchronous": 2}, "IMMEDIATE", "synchronous must be normal"),
            ({"busy_timeout": 0}, "IMMEDIATE", "busy_timeout must be"),
            ({}, "None", "transaction_mode must be IMMEDIATE"),
        ],
    )
    def test_each_wrong_setting_is_named(self, change: dict[str, object], mode: str, says: str) -> None:
        finding = storage.sqlite_finding({**GOOD, **change}, mode)
        assert finding.state is State.BROKEN
        assert says in finding.text

    @pytest.mark.django_db
    def test_the_real_database_is_well_and_up_to_date(self) -> None:
        assert [(finding.topic, finding.state) for finding in storage.database()] == [
            ("database", State.OK),
            ("migrations", State.OK),
        ]


@pytest.mark.skipif(os.name == "nt", reason="permissions are Unix's")
class TestDataFolder:
    def test_a_private_folder_is_well(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o700)
        assert storage.data_folder(tmp_path).state is State.OK

    def test_an_open_folder_names_the_command(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o755)
        finding = storage.data_folder(tmp_path)
        assert finding.state is State.BROKEN
        assert f"chmod 700 '{tmp_path}'" in finding.text

    def test_an_open_key_names_the_command(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o700)
        key = tmp_path / "secret_key"
        key.touch(mode=0o644)
        key.chmod(0o644)
        assert f"chmod 600 '{key}'" in storage.data_folder(tmp_path).text

    def test_a_missing_folder_is_a_line_too(self, tmp_path: Path) -> None:
        assert storage.data_folder(tmp_path / "none").state is State.BROKEN


class TestProcessor:
    def test_amx_is_listed_as_left_out(self) -> None:
        assert "AMX is left out" in machine.processor(frozenset({"sse2", "avx2", "amx_tile"})).text

    def test_an_old_processor_is_told_that_it_is_slow(self) -> None:
        assert machine.processor(frozenset({"sse2", "avx"})).state is State.NOTE

    def test_a_system_that_lists_nothing_is_well(self) -> None:
        assert machine.processor(frozenset()).state is State.OK


class TestModel:
    @pytest.fixture(autouse=True)
    def _no_weights(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MODEL_DIR", str(tmp_path))

    def test_a_missing_model_names_the_command(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MODEL", "smollm2-135m")
        finding = models.model(deep=False)
        assert finding.state is State.BROKEN
        assert "weights fetch smollm2-135m" in finding.text

    def test_a_missing_embedder_is_only_a_note(self) -> None:
        finding = models.embedder(deep=False)
        assert finding.state is State.NOTE
        assert "weights fetch minilm-l6-int8" in finding.text

    def test_deep_reads_the_bytes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MODEL", "smollm2-135m")
        monkeypatch.setattr("chat.llm.weights.entries._has_size", lambda path, size: True)
        path = weights.path_of(weights.entry_named("smollm2-135m"))
        path.parent.mkdir()
        path.write_bytes(b"not these bytes")
        assert models.model(deep=False).state is State.OK
        assert "sha256 differs" in models.model(deep=True).text

    def test_too_little_memory_names_a_smaller_model(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MODEL", "qwen2.5-coder-1.5b")
        monkeypatch.setattr(machine, "total_memory", lambda: 2 * 1024**3)
        finding = machine.memory()
        assert finding.state is State.BROKEN
        assert "MODEL=qwen2.5-coder-0.5b" in finding.text


class TestDecode:
    @pytest.fixture(autouse=True)
    def _a_model(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        own = tmp_path / "mine.gguf"
        own.write_bytes(b"GGUF")
        monkeypatch.setenv("MODEL_PATH", str(own))

    @pytest.fixture
    def engine_lock(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        path = tmp_path / "engine.lock"
        monkeypatch.setattr(models, "engine_lock_path", lambda: path)
        return path

    def test_it_is_skipped_while_a_server_has_the_engine(self, engine_lock: Path) -> None:
        with locked(engine_lock):
            finding = models.decode()
        assert finding.state is State.OK
        assert "skipped" in finding.text

    def test_it_tells_the_speed(self, engine_lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        told = {"tokens_per_second": 12.5, "load_seconds": 0.3}
        monkeypatch.setattr(models, "run_probe", lambda path: (told, ""))
        assert models.decode() == ok("decode", "12.5 tokens a second, loaded in 0.3 s")

    def test_a_crash_is_a_sentence(self, engine_lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def crash(*_: object, **__: object) -> "subprocess.CompletedProcess[str]":
            return subprocess.CompletedProcess([], -4, "", "")

        monkeypatch.setattr("subprocess.run", crash)
        finding = models.decode()
        assert finding.state is State.BROKEN
        assert "instruction that this processor does not have" in finding.text

    def test_a_hanging_engine_is_a_sentence(self, engine_lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def hang(*_: object, **__: object) -> None:
            raise subprocess.TimeoutExpired([], 1)

        monkeypatch.setattr("subprocess.run", hang)
        assert "wrote nothing" in models.decode().text

    def test_the_build_is_told_in_one_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(machine, "run_probe", lambda: (BUILD, ""))
        assert machine.build() == ok("build", "llama-cpp-python 0.3.36, llama.cpp 0.5.0: AVX2 FMA")


@pytest.mark.django_db
def test_every_part_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "run_probe", lambda: (BUILD, ""))
    monkeypatch.setattr(models, "run_probe", lambda path: ({"tokens_per_second": 1, "load_seconds": 1}, ""))
    assert [finding.topic for finding in health.examine(deep=False)] == [
        "Python",
        "build",
        "processor",
        "model",
        "memory",
        "disk",
        "embedder",
        "database",
        "migrations",
        "data folder",
        "decode",
    ]


@pytest.mark.model
class TestProbe:
    """The real one, on the smallest model."""

    @pytest.fixture
    def probe(self) -> Callable[..., "subprocess.CompletedProcess[str]"]:
        def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
            command = [sys.executable, "-m", "chat.llm.probe", *arguments]
            return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)

        return run

    def test_it_writes_a_few_words(self, probe: Callable[..., "subprocess.CompletedProcess[str]"]) -> None:
        ended = probe(str(weights.require(weights.entry_named("smollm2-135m"))))
        told = json.loads(ended.stdout)
        assert told["ok"] is True
        assert told["tokens_per_second"] > 0
        assert "Paris" in told["text"]

    def test_a_file_that_is_no_model_is_a_line_and_not_a_crash(
        self, probe: Callable[..., "subprocess.CompletedProcess[str]"], tmp_path: Path
    ) -> None:
        broken_file = tmp_path / "broken.gguf"
        broken_file.write_bytes(b"not a model")
        ended = probe(str(broken_file))
        assert ended.returncode == 1
        assert ended.stdout == ""
        assert ended.stderr.strip().splitlines()[-1].startswith("ValueError: ")

    def test_without_a_model_it_tells_of_the_build(
        self, probe: Callable[..., "subprocess.CompletedProcess[str]"]
    ) -> None:
        told = json.loads(probe().stdout)
        assert told["version"] == "0.3.36"
        assert "AMX" not in told["system"]


class TestServer:
    """A model on a server needs no weights here; whether it answers is what matters."""

    def test_what_it_can_do_is_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
        models_there = {"data": [{"id": "fox", "max_model_len": 4096}]}
        with pretending(v1__models=models_there, v1__chat__completions=chat("Hello.")) as server:
            keep(Choice(server.url))
            model, key = remote(Choice(server.url))
        assert model.state is State.OK
        assert "4,096 tokens" in model.text
        assert (key.topic, key.state) == ("key", State.OK)
        path().chmod(0o644)
        assert "chmod 600" in kept_safe(path()).text

    def test_one_that_is_away_is_broken(self) -> None:
        (found,) = remote(Choice("http://127.0.0.1:9", fixed=True))
        assert found.state is State.BROKEN
        assert "Couldn't reach the model. Is the server running?" in found.text

    def test_an_address_that_cannot_be_is_told_with_where_to_correct_it(self) -> None:
        (found,) = remote(Choice("http://example.com", fixed=True))
        assert "Correct PROVIDER_URL" in found.text
