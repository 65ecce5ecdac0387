"""`manage.py test`: installs what the tests need, programs included, and runs the whole suite."""

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from memoryapp.base.env import ROOT
from memoryapp.bootstrap import engine, environment, preparation
from memoryapp.bootstrap.console import say
from memoryapp.bootstrap.environment import Interpreter
from memoryapp.bootstrap.programs import ensure_chromium, ensure_servers
from memoryapp.bootstrap.start import ensure_packages, ensure_postgres, ensure_redis, hold_setup_lock

# The smallest chat model and the embedder: real models that are quickly downloaded.
MODELS = ["smollm2-135m", "minilm-l6-int8"]
BROWSER_TESTS = "tests/e2e"
# How many tests get a second try in one run of the suite.
MOST_RETRIES = 2
# Beyond this number of test processes the memory that they need grows, and the run gets hardly shorter.
_MOST_PROCESSES = 4
# The slowest tests are listed, because they decide how long the run takes.
_SLOWEST = "--durations=25"
_TESTS_FAILED, _NO_TESTS = 1, 5  # pytest's exit codes
_USAGE = """usage: manage.py test [--install-only] [arguments of pytest]

Installs what the tests need and runs all of them, or what pytest's arguments name.

  --install-only  install it and run nothing"""


def test(arguments: Sequence[str]) -> int:
    """Set up, then run pytest with the arguments; without arguments, the whole suite. Raises BootstrapError.

    `--install-only` stops after the set-up.
    """
    if {"-h", "--help"} & {*arguments}:
        say(_USAGE)
        return 0
    given = [argument for argument in arguments if argument != "--install-only"]
    with hold_setup_lock() as keep:
        interpreter, lock = ensure_packages(keep, with_engine=True)
        engine.ensure_engine(interpreter, lock, keep)
        ensure_postgres(interpreter, lock, keep)
        ensure_redis(interpreter, lock, keep)
        environment.install_once(interpreter, "development", "what tests need", lock.development, keep)
        chromium = ensure_chromium(keep)
        ensure_servers(keep)
        if None in preparation.find_weights(MODELS) and not preparation.fetch_weights(interpreter, MODELS):
            return 1
    if "--install-only" in arguments:
        return 0
    if given:
        return run_pytest(interpreter, chromium, given)
    retried: dict[str, bool] = {}
    code = worst_exit_code([run_with_retries(interpreter, chromium, run, retried) for run in plan_runs(ROOT)])
    if retried:
        say(describe_retries(retried))
    return code


def run_with_retries(
    interpreter: Interpreter, chromium: str, arguments: Sequence[str], retried: dict[str, bool]
) -> int:
    """Run pytest, and run the tests that failed once more, without the others; return the exit code.

    On a busy machine a browser or another process may be too slow for a test. `retried` collects the names
    of the repeated tests and whether they passed, over all runs of the suite. Where more than MOST_RETRIES
    would be needed, nothing is repeated and the run fails: then the program or its tests are at fault.
    """
    code, failed = _run_and_list_failures(interpreter, chromium, arguments)
    if code != _TESTS_FAILED or not failed:
        return code
    if len(retried) + len(failed) > MOST_RETRIES:
        earlier = f" after {len(retried)} that were run again before" if retried else ""
        say(f"{len(failed)} tests failed{earlier}. A run retries {MOST_RETRIES} at most, so it fails.")
        return code
    for name in failed:
        say(f"Retrying the test {name}")
    code, failed_again = _run_and_list_failures(interpreter, chromium, failed)
    retried.update({name: name not in failed_again for name in failed})
    return code


def describe_retries(retried: dict[str, bool]) -> str:
    """Return the lines about repeated tests: their number, their names, and whether they passed."""
    lines = [f"Tests retried: {len(retried)} (at most {MOST_RETRIES})"]
    lines += [f"  {'passed' if passed else 'failed again'}: {name}" for name, passed in retried.items()]
    return "\n".join(lines)


def _run_and_list_failures(
    interpreter: Interpreter, chromium: str, arguments: Sequence[str]
) -> tuple[int, list[str]]:
    """Run pytest; return its exit code and the names of the failed tests.

    pytest's cache keeps the failures of earlier runs too, so each run gets a cache folder of its own.
    """
    with tempfile.TemporaryDirectory() as cache:
        code = run_pytest(interpreter, chromium, [*arguments, "-o", f"cache_dir={cache}"])
        names = Path(cache) / "v" / "cache" / "lastfailed"
        return code, sorted(json.loads(names.read_text())) if names.exists() else []


def plan_runs(root: Path) -> list[list[str]]:
    """Return the arguments of the two pytest runs that make up the whole suite, one list for each run.

    Browser tests run in processes of their own, since Playwright's synchronous API makes Django detect a
    running event loop. Benchmarks are left out.
    """
    cores = os.cpu_count() or 1
    # Unit tests often wait for processes that they start. On two cores, three test processes took a fifth
    # less time than two. Browser tests keep the cores busy, so they get one process for each core.
    runs = [
        ["tests", f"--ignore={BROWSER_TESTS}", "--ignore=tests/benchmarks", *_run_in_processes(cores + 1)]
    ]
    if any((root / BROWSER_TESTS).glob("**/test_*.py")):
        runs.append([BROWSER_TESTS, *_run_in_processes(cores)])
    return runs


def _run_in_processes(count: int) -> list[str]:
    """Return pytest's arguments that run tests in `count` processes, but at most `_MOST_PROCESSES`.

    tests/conftest.py decides which tests stay together in one process, and their order.
    """
    number = min(count, _MOST_PROCESSES)
    return [_SLOWEST, f"--numprocesses={number}", "--dist=loadfile", "--no-loadscope-reorder"]


def run_pytest(interpreter: Interpreter, chromium: str, arguments: Sequence[str]) -> int:
    """Run pytest once; return its exit code."""
    # Without columns in tracebacks: for them Python 3.11 parses the line. Where it does so while pytest
    # parses the source of a failed test, pytest ends with "AST constructor recursion depth mismatch".
    env = {**os.environ, "CHROMIUM": chromium, "PYTHONNODEBUGRANGES": "1"}
    if any(BROWSER_TESTS in argument and not argument.startswith("-") for argument in arguments):
        env["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    say(f"pytest {' '.join(arguments)}")
    return subprocess.call([str(interpreter.path), "-m", "pytest", *arguments], cwd=ROOT, env=env)


def worst_exit_code(codes: Sequence[int]) -> int:
    """Return the worst exit code of several runs. "No tests" counts only where all runs report it."""
    if all(code == _NO_TESTS for code in codes):
        return _NO_TESTS
    return max((abs(code) for code in codes if code != _NO_TESTS), default=0)
