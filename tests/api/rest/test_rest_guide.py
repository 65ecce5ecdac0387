"""The examples in .github/docs/rest-api.md work as written, one after the other in one shell."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from chat.actions.api_tokens import create_token
from memoryapp.base.env import ROOT
from tests.live_server import run_server


@pytest.fixture
def address(transactional_db: None, scripted: Any) -> Iterator[str]:
    """A running server with the test's database and scripted model."""
    with run_server() as there:
        yield there


@pytest.mark.skipif(not shutil.which("curl"), reason="the examples need curl")
def test_the_examples_do_what_the_guide_says(address, owner, scripted):
    guide = (ROOT / ".github" / "docs" / "rest-api.md").read_text()
    script = "\n".join(re.findall(r"```bash\n(.*?)```", guide, re.DOTALL))
    scripted.replies.append("Sourdough, on Sundays.")

    def extract(turns):
        return "building: User is building a proofing box" if "proofing" in turns[-1].content else "none"

    scripted.default_completion = extract
    done = subprocess.run(
        ["bash", "-eu", "-c", script.replace("http://127.0.0.1:8000", address)],
        env={**os.environ, "MEMORYAPP_TOKEN": create_token(owner, "guide"), "no_proxy": "*"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    fact, found, sent, read, extracted, refused, pinned, undone = map(json.loads, done.stdout.splitlines())
    assert fact["text"] == "I bake sourdough on Sundays."
    assert [hit["id"] for hit in found["items"]] == [fact["id"]]
    assert sent["reply"]["content"] == "Sourdough, on Sundays."
    assert read["items"] == []
    assert extracted["facts"] == [
        {"fact": "User is building a proofing box", "type": "context", "confidence": 0.75}
    ]
    assert refused["status"] == 422
    assert refused["errors"][0]["loc"] == ["body", "text"]
    assert (pinned["id"], pinned["pinned"]) == (fact["id"], True)
    assert undone["returned"] == [fact["id"]]
