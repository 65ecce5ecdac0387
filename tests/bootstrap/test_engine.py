"""The engine is compiled once per set of flags, cached and reused."""

import shutil
import tarfile
from pathlib import Path

import pytest

from memoryapp.base.env import ROOT
from memoryapp.bootstrap import engine, environment
from memoryapp.bootstrap.environment import split_lock
from memoryapp.bootstrap.errors import BootstrapError


class TestEngine:
    def test_without_a_compiler_it_fails_before_any_download(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("shutil.which", lambda name: None)
        monkeypatch.delenv("CC", raising=False)
        monkeypatch.delenv("CXX", raising=False)
        monkeypatch.setattr(engine, "run_logged", lambda *_, **__: pytest.fail("nothing may run"))
        with pytest.raises(BootstrapError, match="no C compiler"):
            engine.require_compiler()

    def test_the_compiler_named_in_the_environment_is_accepted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shutil.which", lambda name: name if name in ("icx", "icpx") else None)
        monkeypatch.setenv("CC", "icx -O2")
        monkeypatch.setenv("CXX", "icpx")
        engine.require_compiler()

    def test_a_cached_wheel_is_installed_and_not_compiled_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        commands: list[list[str]] = []

        def run(label: str, command: list[object], log: Path, **_: object) -> tuple[int, str]:
            commands.append([str(part) for part in command])
            return 0, ""

        monkeypatch.setattr(engine, "cache_dir", lambda: tmp_path)
        monkeypatch.setattr(engine, "run_logged", run)
        monkeypatch.setattr(engine, "current_key", lambda *_: "key")
        wheel = tmp_path / "engine" / "key" / "llama_cpp_python-0.3.36-py3-none-linux_x86_64.whl"
        wheel.parent.mkdir(parents=True)
        wheel.touch()
        python = environment.Interpreter(Path("python"), "cp311", "linux-x86_64", tmp_path)
        lock = split_lock((ROOT / "requirements.txt").read_text())
        assert engine.ensure_engine(python, lock, 0) == "key"
        assert engine.ensure_engine(python, lock, 0) == "key"
        assert len(commands) == 1
        assert commands[0][-1] == str(wheel)
        assert "--no-index" in commands[0]

    def test_compiling_leaves_only_the_wheel_and_its_logs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ran: dict[str, dict[str, str]] = {}

        def run(
            label: str, command: list[object], log: Path, *, env: dict[str, str], **_: object
        ) -> tuple[int, str]:
            ran[label] = env
            words = [str(word) for word in command]
            if "download" in words:
                assert "--require-hashes" in words
                source = tmp_path / "llama_cpp_python-0.3.36"
                source.mkdir()
                (source / "pyproject.toml").touch()
                with tarfile.open(Path(words[-1]) / "llama.tar.gz", "w:gz") as archive:
                    archive.add(source, source.name)
                shutil.rmtree(source)
            else:
                assert (Path(words[-1]) / "pyproject.toml").exists()
                out = Path(words[words.index("--wheel-dir") + 1])
                out.mkdir()
                (out / "llama_cpp_python-0.3.36-py3-none-linux_x86_64.whl").touch()
            return 0, ""

        def make(folder: Path, *_: object) -> None:
            folder.mkdir(parents=True)

        monkeypatch.setattr(engine, "run_logged", run)
        monkeypatch.setattr(environment, "make_venv", make)
        monkeypatch.setattr(environment, "install_into", lambda *_: None)
        monkeypatch.setattr(engine, "require_compiler", lambda: None)
        monkeypatch.setenv("CMAKE_ARGS", "-DMINE=1")
        python = environment.Interpreter(Path("python"), "cp311", "linux-x86_64", tmp_path)
        lock = split_lock((ROOT / "requirements.txt").read_text())
        wheel = engine.compile_engine(tmp_path, python, lock, [0])
        assert ran["Compiling"]["CMAKE_ARGS"] == "-DMINE=1"
        assert {path.name for path in tmp_path.iterdir()} == {wheel.name, "engine.txt", "flags.txt"}

    def test_too_little_disk_space_is_detected_before_compiling(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(engine, "NEEDED_BYTES", 10**18)
        python = environment.Interpreter(Path("python"), "cp311", "linux-x86_64", tmp_path)
        lock = split_lock((ROOT / "requirements.txt").read_text())
        with pytest.raises(BootstrapError, match="Make room"):
            engine.compile_engine(tmp_path, python, lock, [0])
