"""Every MCP tool, called by every kind of caller; the server of the tools runs in this process."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client

from chat.actions import owners
from chat.actions.api_tokens import create_token
from chat.mcp.access import Access
from chat.mcp.client import McpClient
from chat.mcp.server import build_server
from chat.mcp.tools import Tools
from chat.models import Scope
from tests.full_token import create_full_token
from tests.live_server import run_server
from tests.mcp_server.mcp_client import Assistant, text

from .bad_tokens import REASONS, make_bad_token
from .conftest import MARK, MARK_OF_THE_OTHER, make_ids
from .entries import fill
from .table import READ_CHATS, TOOLS
from .watch import keep_owned, read_rows

# Either of its scopes is enough: the deletion may be of a chat or of a memory.
EITHER = {"undo_forget"}
pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def start_assistant(address: str, token: str):
    """Yield an assistant with this token, whose tools ask the server at the address."""
    client = McpClient(Access(address, token))
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(client),
        portal.wrap_async_context_manager(Client(build_server(Tools(client)))) as connected,
    ):
        yield Assistant(portal, connected)


@pytest.fixture
def address(ids, owner, other):
    """The URL of a running server, which may recall the earlier chats of both users for assistants."""
    for user in (owner, other):
        owners.set_offering_past_chats(user, "on")
    with run_server(jobs=False) as url:
        yield url


def call_all(assistant: Assistant, ids) -> dict[str, tuple[bool, str]]:
    """Call every tool with an owner's ids; return whether each failed, and its text."""
    answers = {name: assistant.answer(name, **fill(given, ids)) for name, (given, _) in TOOLS.items()}
    return {name: (one.is_error, text(one)) for name, one in answers.items()}


def test_every_tool_is_in_the_table_and_nothing_else_is_offered(address, owner):
    with start_assistant(address, create_token(owner, "assistant")) as one:
        offered = one.offers()
    missing = set(offered["tools"]) - TOOLS.keys()
    assert not missing, f"Say in table.py which scopes these tools need: {', '.join(missing)}"
    assert offered == {"tools": list(TOOLS), "resources": [], "templates": [], "prompts": []}


def test_the_owner_may_call_every_tool_with_just_the_needed_scopes(address, ids, owner):
    for name, (given, scopes) in TOOLS.items():
        secret = create_token(owner, name, {min(scopes)} if name in EITHER else scopes)
        with start_assistant(address, secret) as one:
            answer = one.answer(name, **fill(given, ids))
        assert not answer.is_error, text(answer)
        assert MARK in text(answer) or name not in ("search_memories", "list_memories")


@pytest.mark.parametrize(
    ("make", "mode"), [(create_token, "server"), (create_full_token, "local")], ids=["server", "local"]
)
def test_another_user_gets_no_memory_of_the_owner_and_changes_none(address, ids, other, settings, make, mode):
    keys = read_rows().keys()
    make_ids(other, MARK_OF_THE_OTHER)
    mine = keep_owned(read_rows(), keys, other)
    settings.MODE = mode
    with start_assistant(address, make(other, "assistant")) as one:
        answers = call_all(one, ids)
    assert {name for name, (failed, _) in answers.items() if failed} == {"forget_memory", "undo_forget"}
    assert MARK not in str(answers)
    assert MARK_OF_THE_OTHER in answers["list_memories"][1]
    after = read_rows()
    assert {key: after.get(key) for key in mine} == mine
    assert not [row for key, row in after.items() if key not in keys and MARK in str(row)]


@pytest.mark.parametrize("reason", REASONS)
def test_a_token_that_is_not_valid_is_refused_by_every_tool(address, ids, owner, reason):
    secret, before = make_bad_token(owner, reason), read_rows()
    with start_assistant(address, secret) as one:
        answers = call_all(one, ids)
    assert {failed for failed, _ in answers.values()} == {True}
    assert all("does not accept this token" in said for _, said in answers.values())
    assert read_rows() == before


def test_without_a_token_every_tool_asks_for_one(address, ids):
    before = read_rows()
    with start_assistant(address, "") as one:
        answers = call_all(one, ids)
    assert all(failed and "it wants a token" in said for failed, said in answers.values())
    assert read_rows() == before


def test_a_token_without_a_needed_scope_is_refused(address, ids, owner, subtests):
    everything = set(Scope.values)
    for scopes in [{scope} for scope in everything] + [everything - {scope} for scope in everything]:
        refusing = {
            name: given
            for name, (given, needed) in TOOLS.items()
            if not (needed <= scopes or (name in EITHER and needed & scopes))
        }
        secret, before = create_token(owner, "+".join(sorted(scopes)), scopes), read_rows()
        with subtests.test(sorted(scopes)), start_assistant(address, secret) as one:
            for name, given in refusing.items():
                assert "This token does not allow that. It needs:" in one.refusal(name, **fill(given, ids))
            assert read_rows() == before


def test_earlier_chats_are_recalled_only_to_their_owner(address, owner, other, embedder, index_all):
    make_ids(other, MARK_OF_THE_OTHER)
    index_all(embedder)
    given = TOOLS["recall_chats"][0]
    for user, shown, hidden in ((owner, MARK, MARK_OF_THE_OTHER), (other, MARK_OF_THE_OTHER, MARK)):
        with start_assistant(address, create_token(user, "recalling", READ_CHATS)) as one:
            said = text(one.answer("recall_chats", **given))
        assert shown in said
        assert hidden not in said
