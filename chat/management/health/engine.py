"""The engine as doctor meets it: tried in a process of its own, and never beside a running one."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.conf import settings

from memoryapp.bootstrap.errors import proof_sentence
from memoryapp.env import engine_lock_path
from memoryapp.locking import locked_if_free

PROBE_SECONDS = 300


def engine_runs() -> bool:
    """Whether a server of this data folder holds the engine right now."""
    with locked_if_free(engine_lock_path()) as free:
        return not free


def run_probe(model: Path | None = None) -> tuple[dict[str, Any], str]:
    """What the probe found, and a sentence where it failed."""
    command = [sys.executable, "-m", "chat.llm.probe", *([str(model)] if model else [])]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=PROBE_SECONDS, cwd=settings.BASE_DIR
        )
    except subprocess.TimeoutExpired:
        return {}, f"The engine wrote nothing within {PROBE_SECONDS} seconds."
    if ended.returncode:
        return {}, proof_sentence(ended.returncode, ended.stderr)
    return json.loads(ended.stdout.strip().splitlines()[-1]), ""
