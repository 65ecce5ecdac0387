"""Runs `manage.py mcp` and connects the client of the `mcp` package to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client

from memoryapp.base.env import ROOT

COMMAND = [sys.executable, "manage.py", "mcp"]


def start_mcp(environment: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start `manage.py mcp` with pipes for input, output and errors."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        COMMAND, cwd=ROOT, env=environment, text=True, stdin=pipe, stdout=pipe, stderr=pipe
    )


class Assistant:
    """Calls tools as an assistant does and waits for their results."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal, self.client = portal, client

    def tools(self) -> dict[str, Any]:
        """Return the offered tools by name."""
        return {tool.name: tool for tool in self._portal.call(self.client.list_tools).tools}

    def offers(self) -> dict[str, list[str]]:
        """Return the names of all that the server offers, by kind."""
        call, client = self._portal.call, self.client
        return {
            "tools": [one.name for one in call(client.list_tools).tools],
            "resources": [one.name for one in call(client.list_resources).resources],
            "templates": [one.name for one in call(client.list_resource_templates).resource_templates],
            "prompts": [one.name for one in call(client.list_prompts).prompts],
        }

    def answer(self, tool: str, **arguments: Any) -> Any:
        """Call a tool and return its result, which may be an error."""
        return self._portal.call(partial(self.client.call_tool, tool, arguments))

    def call_concurrently(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        """Call several tools at the same time and return their results."""
        begun = [
            self._portal.start_task_soon(partial(self.client.call_tool, tool, arguments))
            for tool, arguments in calls
        ]
        return [one.result() for one in begun]

    def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its structured result; fail if the tool failed."""
        answer = self.answer(tool, **arguments)
        assert not answer.is_error, text(answer)
        return answer.structured_content

    def refusal(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must fail, and return its error message."""
        answer = self.answer(tool, **arguments)
        assert answer.is_error, text(answer)
        return text(answer).removeprefix(f"Error executing tool {tool}: ")


def text(answer: Any) -> str:
    """Return the text of a tool's result."""
    [content] = answer.content
    return content.text


@contextmanager
def start_assistant(
    folder: Path,
    command: Sequence[str] = COMMAND,
    *,
    cwd: Path = ROOT,
    mode: str = "auto",
    **env: str,
) -> Iterator[Assistant]:
    """Start the command with this environment, and end it by closing its standard input.

    `mode` is how the client negotiates the protocol version; "legacy" is the older handshake.
    """
    given = {"DATA_DIR": str(folder), **env}
    asked = StdioServerParameters(command=command[0], args=list(command[1:]), env=given, cwd=cwd)
    errors = folder / "stderr.txt"
    with errors.open("w") as log, start_blocking_portal() as portal:
        client = Client(stdio_client(asked, errlog=log), mode=mode, read_timeout_seconds=90)
        with portal.wrap_async_context_manager(client):
            yield Assistant(portal, client)
    assert errors.read_text() == ""
