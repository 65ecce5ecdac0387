"""Where the model is on a server, the program runs without llama-cpp-python, as in the container image."""

from __future__ import annotations

import subprocess
import sys

from tests.data_folder import build_environment
from tests.page_client import ROOT

CODE = """
import sys
sys.modules["llama_cpp"] = None  # importing it raises ModuleNotFoundError
import django
django.setup()
import memoryapp.asgi
import chat.management.commands.serve, chat.management.commands.run_jobs
from chat.llm.registry import registry
registry.load()
print(registry.status().state.value, registry.status().reason.code)
"""


def test_servers_and_workers_can_be_loaded_and_say_what_is_missing(tmp_path):
    (tmp_path / "data" / "static").mkdir(parents=True)
    (tmp_path / "data").chmod(0o700)
    environment = build_environment(tmp_path / "data", DJANGO_SETTINGS_MODULE="memoryapp.settings")
    environment |= {"MODEL_DIR": str(tmp_path), "EMBEDDER": "minilm-l6-int8"}
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.stdout.split() == ["missing", "no-engine"], done.stderr[-2000:]
