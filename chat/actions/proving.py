"""The engine tried in a process of its own: a build that does not fit the processor ends that one only."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.conf import settings

from chat.llm.types import ProviderError
from memoryapp.bootstrap.errors import proof_sentence

PROBE_SECONDS = 300


def run_probe(model: Path | None = None) -> tuple[dict[str, Any], str]:
    """Return what the probe found, and a sentence where it failed; blocks up to five minutes."""
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


def prove(model: Path) -> None:
    """Let the engine decode once with the model; raises ProviderError with the reason. Blocks."""
    _found, sentence = run_probe(model)
    if sentence:
        raise ProviderError(sentence)
