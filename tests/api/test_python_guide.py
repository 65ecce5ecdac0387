"""The example in .github/docs/python.md works as written, in a new Python process without any setup."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from memoryapp.base.env import ROOT


def test_the_example_prints_what_its_comments_say(tmp_path: Path):
    guide = (ROOT / ".github" / "docs" / "python.md").read_text()
    [example] = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
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
