"""`manage.py evaluate` as a process, with a real model and a temporary database."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.small_model import require_weights

ROOT = Path(__file__).resolve().parents[2]
SMALL = "smollm2-135m"

EXTRACTION = [
    {
        "id": "plain",
        "messages": [{"role": "user", "content": "I live in Oslo and my password is hunter2."}],
        "expect": [{"any": ["Oslo"], "category": "identity"}],
        "forbid": ["hunter2"],
    },
    {"id": "question", "messages": [{"role": "user", "content": "What is the capital of Peru?"}]},
]
UPDATES = [
    {
        "id": "stays",
        "facts": ["User lives in Oslo"],
        "message": "What is the weather like?",
        "max_facts": 1,
        "keeps_or_gains": [["Oslo"]],
    }
]
RECALL = [
    {
        "id": "project",
        "facts": ["*User is building a sauna", "User likes jazz"],
        "message": "hello",
        "in_prompt": ["sauna"],
        "not_in_prompt": ["jazz"],
    }
]


@pytest.fixture
def evaluate(tmp_path):
    """Return a function that runs the command on cases with the smallest model."""
    require_weights(SMALL)

    def run(kind, cases, *options):
        file = tmp_path / "cases.jsonl"
        file.write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
        command = [sys.executable, "manage.py", "evaluate", kind, str(file), "--model", SMALL, *options]
        environment = os.environ | {
            "DATA_DIR": str(tmp_path / "data"),
            "DJANGO_SETTINGS_MODULE": "memoryapp.settings",
        }
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False
        )

    return run


@pytest.mark.model
@pytest.mark.slow
def test_extraction_is_scored_and_printed_as_one_json_object(evaluate, tmp_path):
    done = evaluate("extraction", EXTRACTION, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [case["id"] for case in answer["cases"]] == ["plain", "question"]
    assert set(answer["summary"]) == {
        "recall",
        "precision",
        "category_accuracy",
        "cases_with_trap",
        "seconds_per_message_p50",
    }
    assert answer["summary"]["cases_with_trap"] == 0
    assert not any(case["errors"] for case in answer["cases"])
    assert not list((tmp_path / "data").glob("*.sqlite3*")), "the user's own database is not touched"


@pytest.mark.model
@pytest.mark.slow
def test_updates_and_recall_are_printed_one_line_per_case(evaluate):
    done = evaluate("updates", UPDATES)
    assert done.returncode == 0, done.stderr
    assert "ok   stays" in done.stdout
    assert "correct_share 1.0" in done.stdout
    done = evaluate("recall", RECALL)
    assert done.returncode == 0, done.stderr
    assert "ok   project" in done.stdout


def test_an_invalid_file_is_refused_before_a_model_is_loaded(evaluate):
    done = evaluate("extraction", [{"id": "a"}])
    assert done.returncode == 1
    assert "line 1: messages" in done.stderr
