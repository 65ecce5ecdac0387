"""The example in the README works as it stands there, in a Python that has set nothing up."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from memoryapp.env import ROOT


def test_the_example_prints_what_its_comments_say(tmp_path: Path):
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    [example] = [text for text in examples if "MemoryManager" in text]
    env = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(
        [sys.executable, "-c", example],
        env={**env, "DATA_DIR": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == re.findall(r"^# (.*)$", example, re.MULTILINE)
