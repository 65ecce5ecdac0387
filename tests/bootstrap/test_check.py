"""The test command runs the suite with what it needs."""

from pathlib import Path

import pytest

from memoryapp.bootstrap import browser, check
from memoryapp.bootstrap.errors import BootstrapError


class TestTests:
    def test_browser_tests_run_in_a_process_of_their_own(self, tmp_path: Path) -> None:
        (tmp_path / "tests" / "e2e").mkdir(parents=True)
        (tmp_path / "tests" / "e2e" / "test_page.py").touch()
        first, second = check.plan([], tmp_path)
        assert "--ignore=tests/e2e" in first
        assert "--ignore=tests/benchmarks" in first
        assert second == ["tests/e2e"]

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
