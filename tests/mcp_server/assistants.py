"""Another assistant: the real client of the `mcp` package, with `manage.py mcp` as the process it starts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client

from memoryapp.env import ROOT

COMMAND = [sys.executable, "manage.py", "mcp"]


class Assistant:
    """Calls tools as an assistant does, and waits for the answers."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal, self.client = portal, client

    def tools(self) -> dict[str, Any]:
        """Return the tools that it is offered, by name."""
        return {tool.name: tool for tool in self._portal.call(self.client.list_tools).tools}

    def answer(self, tool: str, **arguments: Any) -> Any:
        """Return what a tool answers, failed or not."""
        return self._portal.call(partial(self.client.call_tool, tool, arguments))

    def at_once(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        """Return what the tools answer that are all called before the first one answers."""
        begun = [
            self._portal.start_task_soon(partial(self.client.call_tool, tool, arguments))
            for tool, arguments in calls
        ]
        return [one.result() for one in begun]

    def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the data that a tool answers with."""
        answer = self.answer(tool, **arguments)
        assert not answer.is_error, text(answer)
        return answer.structured_content

    def refusal(self, tool: str, **arguments: Any) -> str:
        """Return the sentence with which a tool fails."""
        answer = self.answer(tool, **arguments)
        assert answer.is_error, text(answer)
        return text(answer).removeprefix(f"Error executing tool {tool}: ")


def text(answer: Any) -> str:
    """Return the text of a tool's answer."""
    [content] = answer.content
    return content.text


@contextmanager
def assistant(
    folder: Path,
    command: Sequence[str] = COMMAND,
    *,
    cwd: Path = ROOT,
    mode: str = "auto",
    **env: str,
) -> Iterator[Assistant]:
    """Start one with an environment of its own, as clients do, and end it by closing the process's input.

    `mode` is how the client agrees on the protocol's version: "legacy" is the handshake of older ones.
    """
    given = {"DATA_DIR": str(folder), **env}
    asked = StdioServerParameters(command=command[0], args=list(command[1:]), env=given, cwd=cwd)
    errors = folder / "stderr.txt"
    with errors.open("w") as log, start_blocking_portal() as portal:
        client = Client(stdio_client(asked, errlog=log), mode=mode, read_timeout_seconds=90)
        with portal.wrap_async_context_manager(client):
            yield Assistant(portal, client)
    assert errors.read_text() == ""
