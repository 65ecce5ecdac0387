"""The virtual environment is created once, and repaired after an interrupted install."""

import sys
from pathlib import Path

import pytest

from memoryapp.bootstrap import environment
from memoryapp.bootstrap.errors import BootstrapError


class TestEnvironment:
    def test_a_half_installed_package_is_found(self, tmp_path: Path) -> None:
        for name, finished in (("whole-1.0.dist-info", True), ("half-1.0.dist-info", False)):
            (tmp_path / name).mkdir()
            (tmp_path / name / "METADATA").touch()
            if finished:
                (tmp_path / name / "INSTALLER").touch()
        (tmp_path / "~ld").mkdir()
        assert [path.name for path in environment.find_half_installed(tmp_path)] == [
            "half-1.0.dist-info",
            "~ld",
        ]

    def test_half_installed_packages_are_removed_before_pip_runs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        half = tmp_path / "half-1.0.dist-info"
        half.mkdir()
        there_at_install: list[bool] = []
        monkeypatch.setattr(environment, "install_into", lambda *_: there_at_install.append(half.exists()))
        python = environment.Interpreter(Path("python"), "cp311", "linux-x86_64", tmp_path)
        environment.install_once(python, "runtime", "the program", "django==5\n", 0)
        environment.install_once(python, "runtime", "the program", "django==5\n", 0)
        assert there_at_install == [False]

    def test_an_interpreter_is_inspected(self) -> None:
        found = environment.inspect_python(Path(sys.executable))
        assert found is not None
        assert found.tag == f"cp{sys.version_info.major}{sys.version_info.minor}"
        assert found.packages.is_dir()

    def test_a_missing_interpreter_is_none(self, tmp_path: Path) -> None:
        assert environment.inspect_python(tmp_path / "python") is None

    def test_a_failed_install_leaves_no_stamp(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(environment, "run_logged", lambda *_, **__: (1, "No matching distribution found"))
        monkeypatch.setattr(environment, "cache_dir", lambda: tmp_path)
        python = environment.Interpreter(Path("python"), "cp311", "linux-x86_64", tmp_path)
        with pytest.raises(BootstrapError, match="does not hand out"):
            environment.install_once(python, "runtime", "the program", "django==5\n", 0)
        assert not (environment.STAMPS / "runtime").exists()
