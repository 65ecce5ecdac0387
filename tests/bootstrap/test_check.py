"""The test command plans its runs and retries tests that failed."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryapp.bootstrap import check
from memoryapp.bootstrap.environment import Interpreter
from tests.conftest import ModelFilesTogether


class TestPlan:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        """The root of a project that has browser tests."""
        (tmp_path / "tests" / "e2e").mkdir(parents=True)
        (tmp_path / "tests" / "e2e" / "test_page.py").touch()
        return tmp_path

    def test_browser_tests_run_in_processes_of_their_own(self, root: Path) -> None:
        runs = check.plan_runs(root)
        assert [run[0] for run in runs] == ["tests", "tests/e2e"]
        assert {"--ignore=tests/e2e", "--ignore=tests/benchmarks"} <= set(runs[0])

    @pytest.mark.parametrize(("cores", "processes"), [(1, [2, 1]), (2, [3, 2]), (8, [4, 4])])
    def test_all_tests_run_on_every_core_each_file_in_one_process(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, cores: int, processes: list[int]
    ) -> None:
        monkeypatch.setattr(os, "cpu_count", lambda: cores)
        for run, count in zip(check.plan_runs(root), processes, strict=True):
            assert {f"--numprocesses={count}", "--dist=loadfile"} <= set(run)

    def test_the_tests_of_a_file_stay_together_and_so_do_all_files_with_a_model(
        self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # A test process of pytest-xdist has no list of test processes, which a scheduler needs.
        monkeypatch.setattr(request.config.option, "tx", ["popen"])
        scheduler = ModelFilesTogether(request.config)
        names = ["tests/bootstrap/test_check.py::test_one", "tests/llm/test_llama.py::test_two[a@b]"]
        assert [scheduler._split_scope(name) for name in names] == ["tests/bootstrap/test_check.py", "model"]
        with_model = {
            item.location[0] for item in request.session.items if item.get_closest_marker("model") is not None
        }
        assert with_model <= scheduler.model_files

    @pytest.mark.parametrize(
        ("codes", "worst"), [([0, 0], 0), ([1, 0], 1), ([0, 2], 2), ([5, 0], 0), ([5, 5], 5), ([-9, 1], 9)]
    )
    def test_the_worst_exit_code_counts(self, codes: list[int], worst: int) -> None:
        assert check.worst_exit_code(codes) == worst


FLAKY = """
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", {names!r})
def test_page(name):
    seen = Path(__file__).with_name(name)
    if not seen.exists():
        seen.touch()
        pytest.fail("the browser was too slow")


def test_broken():
    assert {works}


def test_sound():
    ran = Path(__file__).with_name("ran")
    ran.write_text(ran.read_text() + "x" if ran.exists() else "x")
"""


class TestRetries:
    """The suite runs up to two failed tests once more, and prints their names."""

    @pytest.fixture
    def suite(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, list[str]]]:
        """Return a function that runs the suite of a temporary project: its exit code and its retries.

        `flaky` of its tests fail the first time they run; `test_broken` fails unless it `works`.
        """
        (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]")
        monkeypatch.setattr(check, "ROOT", tmp_path)
        # The temporary project has no Django and needs no plugin.
        monkeypatch.delenv("DJANGO_SETTINGS_MODULE", raising=False)
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        retried: dict[str, bool] = {}
        interpreter = Interpreter(Path(sys.executable), "", "", tmp_path)

        def run(flaky: int, *, works: bool = True, folder: str = "tests/e2e") -> tuple[int, list[str]]:
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / "ran").touch()
            names = [f"page{n}-{len(retried)}" for n in range(flaky)]
            tests = FLAKY.format(names=names or ["ran"], works=works)
            (tmp_path / folder / "test_pages.py").write_text(tests)
            code = check.run_with_retries(interpreter, "", [folder], retried)
            return code, [name.partition("::")[2] for name in retried]

        return run

    def test_each_retry_is_printed_and_counted(self, suite, capfd, tmp_path):
        assert suite(2) == (0, ["test_page[page0-0]", "test_page[page1-0]"])
        printed = capfd.readouterr().out
        for n in range(2):
            assert f"Retrying the test tests/e2e/test_pages.py::test_page[page{n}-0]\n" in printed
        # A test that passed is not run again.
        assert (tmp_path / "tests" / "e2e" / "ran").read_text() == "x"

    def test_a_test_that_fails_again_fails_the_run(self, suite):
        assert suite(0, works=False) == (1, ["test_broken"])

    def test_more_than_two_failures_fail_the_run_without_a_retry(self, suite, capfd):
        assert suite(3) == (1, [])
        printed = capfd.readouterr().out
        assert "3 tests failed. A run retries 2 at most, so it fails." in printed

    def test_the_limit_holds_for_all_runs_of_the_suite_together(self, suite):
        assert suite(2)[0] == 0
        code, retried = suite(1)
        assert (code, len(retried)) == (1, 2)

    def test_tests_without_a_browser_are_retried_too(self, suite):
        assert suite(1, folder="tests/actions") == (0, ["test_page[page0-0]"])

    def test_the_summary_counts_and_names_the_retries(self):
        assert check.describe_retries({"a::test_one": True, "b::test_two": False}).splitlines() == [
            "Tests retried: 2 (at most 2)",
            "  passed: a::test_one",
            "  failed again: b::test_two",
        ]
