"""An assistant sees only the memories of its token's owner, and none without a token."""

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


def test_memories_of_another_owner_are_never_shown(server_mode, address, owner, other, make_fact, tmp_path):
    mine = make_fact("Likes green tea")
    theirs = make_fact("Likes black coffee", owner=other)
    token = create_token(other, "assistant")
    with start_assistant(tmp_path, MEMORYAPP_URL=address, MEMORYAPP_TOKEN=token, MODE="server") as one:
        assert [fact["id"] for fact in one("list_memories")["memories"]] == [str(theirs.pk)]
        assert one("search_memories", query="likes")["memories"] == one("list_memories")["memories"]
        assert str(mine.pk) not in str(one("search_memories", query="green tea"))
        assert "no memory with this id" in one.refusal("forget_memory", id=str(mine.pk))
        one("add_memory", text="I like green tea.")
    assert Fact.objects.for_owner(owner).get() == mine
    assert Fact.objects.for_owner(other).count() == 2


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


def test_an_unknown_token_is_refused(address, owner, tmp_path):
    with start_assistant(tmp_path, MEMORYAPP_URL=address, MEMORYAPP_TOKEN="mem_unknown") as one:
        assert "does not accept this token" in one.refusal("search_memories", query="tea")


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
