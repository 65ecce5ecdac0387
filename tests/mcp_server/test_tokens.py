"""The command for assistants needs a valid token and a valid address."""

from __future__ import annotations

import os
import subprocess

import pytest

from chat.actions.api_tokens import create_token, revoke_token
from chat.models import ApiToken, Fact
from memoryapp.base.env import ROOT

from .mcp_client import COMMAND, start_assistant


@pytest.fixture
def run(tmp_path):
    """Return a function that runs the command with empty input; it returns exit code, output and errors."""

    def begin(*arguments: str, **env: str) -> tuple[int, str, str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("MEMORYAPP_", "MODE"))}
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=ROOT,
            env={**clean, "DATA_DIR": str(tmp_path), **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return begin


def test_a_revoked_token_is_refused_from_then_on(address, owner, make_fact, tmp_path):
    make_fact("Likes green tea")
    token = create_token(owner, "assistant")
    with start_assistant(tmp_path, MEMORYAPP_URL=address, MEMORYAPP_TOKEN=token) as one:
        assert one("list_memories")["total"] == 1
        revoke_token(ApiToken.objects.get())
        for tool, arguments in (("list_memories", {}), ("add_memory", {"text": "I like tea."})):
            said = one.refusal(tool, **arguments)
            assert "was revoked" in said
            assert "MEMORYAPP_TOKEN" in said
    assert Fact.objects.count() == 1


@pytest.mark.parametrize("env", [{"MODE": "server"}, {"MEMORYAPP_URL": "http://127.0.0.1:1"}])
def test_without_a_token_it_says_how_to_create_one_and_ends(run, env):
    code, out, err = run(**env)
    assert (code, out) == (1, "")
    assert "Make one under “Programs”" in err
    assert "MEMORYAPP_TOKEN" in err


@pytest.mark.parametrize("url", ["memoryapp", "ftp://127.0.0.1", "http://", "http://[", "http://a:b"])
def test_an_invalid_address_is_refused_at_once(run, url):
    code, out, err = run("--url", url, MEMORYAPP_TOKEN="mem_x")
    assert (code, out) == (1, "")
    assert f"{url} is no address" in err


def test_a_token_is_not_accepted_as_an_argument(run):
    code, out, err = run("--token", "mem_x")
    assert (code, out) == (2, "")
    assert "unrecognized arguments" in err
