"""`manage.py test`: installs what tests need and runs the whole suite."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from memoryapp.bootstrap import browser, environment, preparation
from memoryapp.bootstrap.console import say
from memoryapp.bootstrap.environment import Interpreter
from memoryapp.bootstrap.start import ensure_runtime, exclusive
from memoryapp.env import ROOT

# The smallest model of the catalogue and the embedder: real ones, and soon fetched.
MODELS = ["smollm2-135m", "minilm-l6-int8"]
BROWSER_TESTS = "tests/e2e"
# One process a core, and a file never in two of them. More than four want more memory than they save time.
_SIDE_BY_SIDE = ["--numprocesses=logical", "--maxprocesses=4", "--dist=loadfile"]
_NO_TESTS = 5  # pytest's exit code
_USAGE = """usage: manage.py test [--install-only] [arguments of pytest]

Installs what the tests need and runs all of them, or what pytest's arguments name.

  --install-only  install it and run nothing"""


def test(arguments: Sequence[str]) -> int:
    """Sets up, then runs pytest with the arguments; without any, everything. Raises BootstrapError.

    `--install-only` stops after setting up.
    """
    if {"-h", "--help"} & {*arguments}:
        say(_USAGE)
        return 0
    given = [argument for argument in arguments if argument != "--install-only"]
    with exclusive() as keep:
        interpreter, lock, _ = ensure_runtime(keep)
        environment.install(interpreter, "development", "what tests need", lock.development, keep)
        chromium = browser.ensure(keep)
        if None in preparation.find_weights(MODELS) and not preparation.fetch_weights(interpreter, MODELS):
            return 1
    if "--install-only" in arguments:
        return 0
    return worst([run_patiently(interpreter, chromium, run) for run in plan(given, ROOT)])


def run_patiently(interpreter: Interpreter, chromium: str, arguments: Sequence[str]) -> int:
    """Runs pytest; what failed in the browser gets a second chance, for a busy machine may starve Chromium.

    The first summary stays in sight: who needs the second chance often is a bug in the page or in the test.
    """
    code = run_pytest(interpreter, chromium, arguments)
    if code == 1 and arguments[0] == BROWSER_TESTS:
        return run_pytest(interpreter, chromium, [BROWSER_TESTS, "--last-failed"])
    return code


def plan(given: Sequence[str], root: Path) -> list[list[str]]:
    """The runs of pytest: the given one, or everything but models and the browser, models, then the browser.

    What runs no model runs on every core. Models run one after the other and alone, for two busy engines
    slow each other down out of all proportion. The browser has a process of its own, since
    Playwright's synchronous interface makes Django believe that it is in a coroutine (traps C24). Benchmarks
    are no tests.
    """
    if given:
        return [list(given)]
    most = ["tests", f"--ignore={BROWSER_TESTS}", "--ignore=tests/benchmarks"]
    runs = [[*most, "-m", "not model", *_SIDE_BY_SIDE], [*most, "-m", "model"]]
    if any((root / BROWSER_TESTS).glob("**/test_*.py")):
        runs += [[BROWSER_TESTS, "-m", "not model", *_SIDE_BY_SIDE], [BROWSER_TESTS, "-m", "model"]]
    return runs


def run_pytest(interpreter: Interpreter, chromium: str, arguments: Sequence[str]) -> int:
    """Runs pytest once and returns its exit code."""
    env = {**os.environ, "CHROMIUM": chromium}
    if any(BROWSER_TESTS in argument and not argument.startswith("-") for argument in arguments):
        env["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    say(f"pytest {' '.join(arguments)}")
    return subprocess.call([str(interpreter.path), "-m", "pytest", *arguments], cwd=ROOT, env=env)


def worst(codes: Sequence[int]) -> int:
    """The exit code for several runs: the worst one; a run without tests counts only when all are like it."""
    if all(code == _NO_TESTS for code in codes):
        return _NO_TESTS
    return max((abs(code) for code in codes if code != _NO_TESTS), default=0)
