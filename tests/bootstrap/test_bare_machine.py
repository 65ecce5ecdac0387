"""The bootstrap on a machine with an old Python, without packages and without a virtual environment."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memoryapp.base.env import ROOT
from memoryapp.bootstrap.cli import COMMANDS


def test_manage_py_has_syntax_of_python_3_6() -> None:
    ast.parse((ROOT / "manage.py").read_text(), feature_version=(3, 6))


def test_an_old_python_is_refused_with_a_message() -> None:
    program = (
        "import runpy, sys; sys.version_info = (3, 8, 18, 'final', 0); sys.argv = ['manage.py', 'start'];"
        "runpy.run_path('manage.py', run_name='__main__')"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "needs Python 3.11 or newer, and this is Python 3.8.18" in ended.stderr
    assert "python3.11 manage.py start" in ended.stderr


def test_bootstrap_and_weights_need_no_package() -> None:
    modules = "import memoryapp.bootstrap.cli, chat.llm.weights.cli, chat.llm.weights.fetching"
    ended = subprocess.run([sys.executable, "-S", "-c", modules], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_other_commands_before_the_first_start_name_the_command_to_run(tmp_path: Path) -> None:
    shutil.copy(ROOT / "manage.py", tmp_path)
    ended = subprocess.run(
        [sys.executable, "-S", "manage.py", "migrate"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ended.returncode == 1
    assert "python3 manage.py start" in ended.stderr


def test_commands_run_in_the_python_of_the_environment(tmp_path: Path) -> None:
    shutil.copy(ROOT / "manage.py", tmp_path)
    inside = tmp_path / ".venv" / "bin" / "python"
    inside.parent.mkdir(parents=True)
    inside.write_text('#!/bin/sh\necho "inside $*"\n')
    inside.chmod(0o755)
    ended = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--deep"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ended.stdout == f"inside {tmp_path / 'manage.py'} doctor --deep\n"


def test_a_copy_without_the_lock_file_names_the_missing_file(tmp_path: Path) -> None:
    shutil.copy(ROOT / "manage.py", tmp_path)
    shutil.copytree(ROOT / "memoryapp", tmp_path / "memoryapp", ignore=shutil.ignore_patterns("__pycache__"))
    ended = subprocess.run(
        [sys.executable, "-S", "manage.py", "test"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"HOME": str(tmp_path), "PATH": ""},
    )
    assert ended.returncode == 1
    assert "requirements.txt is missing" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_without_a_command_all_commands_are_listed() -> None:
    named = {path.stem for path in (ROOT / "chat" / "management" / "commands").glob("[a-z]*.py")}
    assert {name for name, _does in COMMANDS} == (named - {"makemessages", "migrate"}) | {
        "start",
        "prepare",
        "test",
        "mcp",
    }
    for asked in ([], ["help"], ["--help"]):
        ended = subprocess.run(
            [sys.executable, "-S", "manage.py", *asked], cwd=ROOT, capture_output=True, text=True
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        assert all(f"  {name} " in ended.stdout for name, _does in COMMANDS)


@pytest.mark.parametrize("command", ["start", "prepare", "test", "mcp"])
def test_help_of_a_command_that_django_does_not_know(command: str) -> None:
    for asked in (["help", command], [command, "--help"]):
        ended = subprocess.run(
            [sys.executable, "manage.py", *asked], cwd=ROOT, capture_output=True, text=True
        )
        assert ended.returncode == 0
        assert ended.stdout.startswith(f"usage: manage.py {command}")
