"""`manage.py evaluate`: once as a process with a real model and a temporary database, else in process."""

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from chat.actions import provider
from chat.llm.registry import registry
from chat.management import evaluation
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
def write_cases(tmp_path):
    """Return a function that writes cases into a file and returns its path."""

    def write(cases):
        file = tmp_path / "cases.jsonl"
        file.write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
        return str(file)

    return write


@pytest.mark.model
@pytest.mark.slow
def test_extraction_is_scored_and_printed_as_one_json_object(write_cases, tmp_path):
    require_weights(SMALL)
    command = ["manage.py", "evaluate", "extraction", write_cases(EXTRACTION), "--model", SMALL, "--json"]
    environment = os.environ | {
        "DATA_DIR": str(tmp_path / "data"),
        "DJANGO_SETTINGS_MODULE": "memoryapp.settings",
    }
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
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


@pytest.mark.django_db
def test_updates_and_recall_are_printed_one_line_per_case(write_cases, scripted, monkeypatch):
    # The test's database and model are used, and stay.
    monkeypatch.setattr(evaluation, "throwaway_database", nullcontext)
    monkeypatch.setattr(provider, "load_chosen_model", lambda: None)
    monkeypatch.setattr(registry, "close", lambda: None)
    for kind, cases, line, summary in (
        ("updates", UPDATES, "ok   stays", "correct_share 1.0"),
        ("recall", RECALL, "ok   project", "correct_share 1.0"),
    ):
        printed = StringIO()
        call_command("evaluate", kind, write_cases(cases), stdout=printed)
        assert line in printed.getvalue()
        assert summary in printed.getvalue()


def test_an_invalid_file_is_refused_before_a_model_is_loaded(write_cases):
    with pytest.raises(CommandError, match="line 1: messages"):
        call_command("evaluate", "extraction", write_cases([{"id": "a"}]))
