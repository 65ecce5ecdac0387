"""The test command runs the suite with what it needs."""

from pathlib import Path

import pytest

from memoryapp.bootstrap import browser, check
from memoryapp.bootstrap.errors import BootstrapError


class TestTests:
    @pytest.fixture
    def runs(self, tmp_path: Path) -> list[list[str]]:
        """What a whole suite is run as."""
        (tmp_path / "tests" / "e2e").mkdir(parents=True)
        (tmp_path / "tests" / "e2e" / "test_page.py").touch()
        return check.plan([], tmp_path)

    def test_browser_tests_run_in_a_process_of_their_own(self, runs: list[list[str]]) -> None:
        assert [run[0] for run in runs] == ["tests", "tests", "tests/e2e", "tests/e2e"]
        assert all({"--ignore=tests/e2e", "--ignore=tests/benchmarks"} <= set(run) for run in runs[:2])

    def test_models_run_alone_and_everything_else_on_every_core(self, runs: list[list[str]]) -> None:
        for beside, alone in (runs[:2], runs[2:]):
            assert "not model" in beside
            assert "--dist=loadfile" in beside
            assert "model" in alone
            assert not any("dist" in argument for argument in alone)

    def test_what_failed_in_the_browser_runs_once_more(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ran: list[list[str]] = []

        def fail_every_other_time(_: object, __: str, run: list[str]) -> int:
            ran.append(run)
            return len(ran) % 2

        monkeypatch.setattr(check, "run_pytest", fail_every_other_time)
        assert check.run_patiently(None, "", ["tests/e2e", "-m", "model"]) == 0  # type: ignore[arg-type]
        assert ran == [["tests/e2e", "-m", "model"], ["tests/e2e", "--last-failed"]]
        assert check.run_patiently(None, "", ["tests", "-m", "model"]) == 1  # type: ignore[arg-type]
        assert len(ran) == 3

    def test_given_arguments_are_one_run(self, tmp_path: Path) -> None:
        assert check.plan(["-k", "undo"], tmp_path) == [["-k", "undo"]]

    @pytest.mark.parametrize(
        ("codes", "worst"), [([0, 0], 0), ([1, 0], 1), ([0, 2], 2), ([5, 0], 0), ([5, 5], 5), ([-9, 1], 9)]
    )
    def test_the_worst_exit_code_counts(self, codes: list[int], worst: int) -> None:
        assert check.worst(codes) == worst

    def test_the_chromium_that_is_named_wins(self, tmp_path: Path) -> None:
        mine = tmp_path / "my-chromium"
        mine.touch(mode=0o755)
        assert browser.find({"CHROMIUM": str(mine)}) == str(mine)
        assert browser.find({"CHROMIUM": str(tmp_path / "missing")}) is None

    def test_without_chromium_and_rights_the_command_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(browser, "find", lambda env: None)
        monkeypatch.setattr("os.geteuid", lambda: 1000)
        monkeypatch.delenv("CHROMIUM", raising=False)
        with pytest.raises(BootstrapError, match="CHROMIUM=<path>"):
            browser.ensure(0)
