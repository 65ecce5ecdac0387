"""`manage.py doctor`: each check prints ok or the command that fixes the problem."""

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
from chat.management.health import checks, data_folder
from chat.management.health.checks import check_remote
from chat.management.health.findings import Finding, FindingState, broken, note, ok
from memoryapp.base.env import ROOT
from memoryapp.base.locking import hold_lock
from memoryapp.base.provider import ServerChoice, choice_path, save_choice
from tests.gguf import make_gguf
from tests.llm.remote.fake_server import chat_endpoint, run_fake_server

GOOD = {"journal_mode": "wal", "synchronous": 1, "busy_timeout": 20000}
BUILD = {"version": "0.3.36", "llama_cpp": "0.5.0", "system": "AVX2 FMA"}


@pytest.fixture
def run_doctor(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str, int]]:
    """Return a function that runs the command with given findings and returns its output and exit code."""

    def run(*found: Finding) -> tuple[str, int]:
        monkeypatch.setattr("chat.management.commands.doctor.run_checks", lambda deep: iter(found))
        out = StringIO()
        try:
            call_command("doctor", stdout=out, no_color=True)
        except SystemExit as end:
            return out.getvalue(), int(end.code or 0)
        return out.getvalue(), 0

    return run


class TestReport:
    def test_ok_findings_exit_with_0(self, run_doctor: Callable[..., tuple[str, int]]) -> None:
        text, code = run_doctor(ok("Python", "3.11.7"))
        assert text == "ok      Python       3.11.7\n"
        assert code == 0

    def test_a_note_exits_with_0(self, run_doctor: Callable[..., tuple[str, int]]) -> None:
        assert run_doctor(note("disk", "Make room."))[1] == 0

    def test_a_broken_finding_exits_with_1(self, run_doctor: Callable[..., tuple[str, int]]) -> None:
        text, code = run_doctor(broken("model", "Fetch it."), ok("disk", "fine"))
        assert text.startswith("broken  model        Fetch it.\n")
        assert code == 1


class TestDatabase:
    def test_the_products_settings_are_ok(self) -> None:
        assert checks.judge_sqlite(GOOD, "IMMEDIATE").state is FindingState.OK

    @pytest.mark.parametrize(
        ("change", "mode", "says"),
        [
            ({"journal_mode": "delete"}, "IMMEDIATE", "journal_mode must be wal"),
            ({"synchronous": 2}, "IMMEDIATE", "synchronous must be normal"),
            ({"busy_timeout": 0}, "IMMEDIATE", "busy_timeout must be"),
            ({}, "None", "transaction_mode must be IMMEDIATE"),
        ],
    )
    def test_a_wrong_setting_is_named(self, change: dict[str, object], mode: str, says: str) -> None:
        finding = checks.judge_sqlite({**GOOD, **change}, mode)
        assert finding.state is FindingState.BROKEN
        assert says in finding.text

    @pytest.mark.django_db
    def test_the_test_database_is_ok_and_migrated(self) -> None:
        assert [(finding.topic, finding.state) for finding in checks.check_database()] == [
            ("database", FindingState.OK),
            ("migrations", FindingState.OK),
        ]


@pytest.mark.skipif(os.name == "nt", reason="permissions are Unix's")
class TestDataFolder:
    def test_a_private_folder_is_ok(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o700)
        assert data_folder.check_data_folder(tmp_path).state is FindingState.OK

    def test_an_open_folder_names_the_command(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o755)
        finding = data_folder.check_data_folder(tmp_path)
        assert finding.state is FindingState.BROKEN
        assert f"chmod 700 '{tmp_path}'" in finding.text

    def test_an_open_key_names_the_command(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o700)
        key = tmp_path / "secret_key"
        key.touch(mode=0o644)
        key.chmod(0o644)
        assert f"chmod 600 '{key}'" in data_folder.check_data_folder(tmp_path).text

    def test_a_missing_folder_is_reported(self, tmp_path: Path) -> None:
        assert data_folder.check_data_folder(tmp_path / "none").state is FindingState.BROKEN


class TestProcessor:
    def test_amx_is_reported_as_unused(self) -> None:
        assert "AMX is left out" in checks.check_processor(frozenset({"sse2", "avx2", "amx_tile"})).text

    def test_a_processor_without_avx2_gets_a_note(self) -> None:
        assert checks.check_processor(frozenset({"sse2", "avx"})).state is FindingState.NOTE

    def test_unknown_processor_features_are_ok(self) -> None:
        assert checks.check_processor(frozenset()).state is FindingState.OK


class TestModel:
    @pytest.fixture(autouse=True)
    def _no_weights(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MODEL_DIR", str(tmp_path))

    def test_a_missing_model_names_the_command(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MODEL", "smollm2-135m")
        finding = checks.check_model(deep=False)
        assert finding.state is FindingState.BROKEN
        assert "weights fetch smollm2-135m" in finding.text

    def test_the_embedder_is_installed_with_the_program(self) -> None:
        finding = checks.check_embedder(deep=True)
        assert finding.state is FindingState.OK
        assert finding.text.startswith("use-multilingual-v3: ")

    def test_an_unknown_embedder_is_broken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("EMBEDDER", "word2vec")
        assert checks.check_embedder(deep=False).state is FindingState.BROKEN

    def test_a_missing_embedder_is_only_a_note(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("EMBEDDER", "minilm-l6-int8")
        finding = checks.check_embedder(deep=False)
        assert finding.state is FindingState.NOTE
        assert "weights fetch minilm-l6-int8" in finding.text

    def test_a_deep_check_verifies_the_checksum(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MODEL", "smollm2-135m")
        monkeypatch.setattr("chat.llm.weights.entries._has_size", lambda path, size: True)
        path = weights.path_of(weights.entry_named("smollm2-135m"))
        path.parent.mkdir()
        path.write_bytes(b"not these bytes")
        assert checks.check_model(deep=False).state is FindingState.OK
        assert "sha256 differs" in checks.check_model(deep=True).text

    def test_too_little_memory_names_a_smaller_model(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MODEL", "qwen2.5-coder-1.5b")
        monkeypatch.setattr(checks, "total_memory", lambda: 2 * 1024**3)
        finding = checks.check_memory()
        assert finding.state is FindingState.BROKEN
        assert "MODEL=qwen2.5-coder-0.5b" in finding.text


class TestDecode:
    @pytest.fixture(autouse=True)
    def _a_model(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        own = tmp_path / "mine.gguf"
        own.write_bytes(make_gguf(general__architecture="qwen3"))
        monkeypatch.setenv("MODEL_PATH", str(own))

    @pytest.fixture
    def engine_lock(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        path = tmp_path / "engine.lock"
        monkeypatch.setattr(checks, "engine_lock_path", lambda: path)
        return path

    def test_decoding_is_skipped_while_a_server_uses_the_engine(self, engine_lock: Path) -> None:
        with hold_lock(engine_lock):
            finding = checks.check_decode()
        assert finding.state is FindingState.OK
        assert "skipped" in finding.text

    def test_decoding_reports_its_speed(self, engine_lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        report = {"tokens_per_second": 12.5, "load_seconds": 0.3}
        monkeypatch.setattr(checks, "run_engine_probe", lambda path: (report, ""))
        assert checks.check_decode() == ok("decode", "12.5 tokens a second, loaded in 0.3 s")

    def test_a_crash_is_reported(self, engine_lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def crash(*_: object, **__: object) -> "subprocess.CompletedProcess[str]":
            return subprocess.CompletedProcess([], -4, "", "")

        monkeypatch.setattr("subprocess.run", crash)
        finding = checks.check_decode()
        assert finding.state is FindingState.BROKEN
        assert "instruction that this processor does not have" in finding.text

    def test_a_hanging_engine_is_reported(self, engine_lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def hang(*_: object, **__: object) -> None:
            raise subprocess.TimeoutExpired([], 1)

        monkeypatch.setattr("subprocess.run", hang)
        assert "wrote nothing" in checks.check_decode().text

    def test_the_build_is_reported_in_one_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(checks, "run_engine_probe", lambda: (BUILD, ""))
        assert checks.check_build() == ok("build", "llama-cpp-python 0.3.36, llama.cpp 0.5.0: AVX2 FMA")


@pytest.mark.django_db
def test_all_parts_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    speed = {"tokens_per_second": 1, "load_seconds": 1}
    monkeypatch.setattr(checks, "run_engine_probe", lambda *path: (speed if path else BUILD, ""))
    assert [finding.topic for finding in health.run_checks(deep=False)] == [
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
        "encryption",
        "decode",
    ]


@pytest.mark.model
class TestSelftest:
    """The real self-test of the engine with the smallest model."""

    @pytest.fixture
    def probe(self) -> Callable[..., "subprocess.CompletedProcess[str]"]:
        def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
            command = [sys.executable, "-m", "chat.llm.selftest", *arguments]
            return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)

        return run

    def test_the_selftest_generates_a_few_words(
        self, probe: Callable[..., "subprocess.CompletedProcess[str]"]
    ) -> None:
        ended = probe(str(weights.require(weights.entry_named("smollm2-135m"))))
        report = json.loads(ended.stdout)
        assert report["ok"] is True
        assert report["tokens_per_second"] > 0
        assert "Paris" in report["text"]

    def test_a_file_that_is_no_model_is_one_error_line(
        self, probe: Callable[..., "subprocess.CompletedProcess[str]"], tmp_path: Path
    ) -> None:
        broken_file = tmp_path / "broken.gguf"
        broken_file.write_bytes(b"not a model")
        ended = probe(str(broken_file))
        assert ended.returncode == 1
        assert ended.stdout == ""
        assert ended.stderr.strip().splitlines()[-1].startswith("ValueError: ")

    def test_without_a_model_the_selftest_reports_the_build(
        self, probe: Callable[..., "subprocess.CompletedProcess[str]"]
    ) -> None:
        report = json.loads(probe().stdout)
        assert report["version"] == "0.3.36"
        assert "AMX" not in report["system"]


class TestServer:
    """A remote model needs no local weights; the check connects to its server."""

    def test_a_running_server_is_ok(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
        models_there = {"data": [{"id": "fox", "max_model_len": 4096}]}
        with run_fake_server(
            v1__models=models_there, v1__chat__completions=chat_endpoint("Hello.")
        ) as server:
            save_choice(ServerChoice(server.url))
            model, key = check_remote(ServerChoice(server.url))
        assert model.state is FindingState.OK
        assert "4,096 tokens" in model.text
        assert (key.topic, key.state) == ("key", FindingState.OK)
        choice_path().chmod(0o644)
        assert "chmod 600" in data_folder.check_key_file(choice_path()).text

    def test_an_unreachable_server_is_broken(self) -> None:
        (found,) = check_remote(ServerChoice("http://127.0.0.1:9", fixed=True))
        assert found.state is FindingState.BROKEN
        assert "Couldn't reach the model. Is the server running?" in found.text

    def test_an_invalid_address_names_the_setting_to_correct(self) -> None:
        (found,) = check_remote(ServerChoice("http://example.com", fixed=True))
        assert "Correct PROVIDER_URL" in found.text
