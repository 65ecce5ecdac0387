"""What is wrong with a call, in one sentence that helps to make it right."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from pydantic import ValidationError


class Server(MCPServer):
    """The package's server; it tells a fault in a sentence and refuses what a tool does not know."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context | None = None) -> Any:
        """Call a tool; raises ToolError with a sentence."""
        tools = {tool.name: tool.input_schema["properties"] for tool in await self.list_tools()}
        if name not in tools:
            raise ToolError(f"There is no tool “{name}”. There are {', '.join(tools)}.")
        if unknown := [key for key in arguments if key not in tools[name]]:
            # It may be a slip of the pen: what it asked for would be left out in silence.
            raise ToolError(f"{name} takes no “{unknown[0]}”. It takes {', '.join(tools[name])}.")
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError:
            raise
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(_sentence(error.__cause__)) from error
            raise ToolError(str(error).removeprefix(f"Error executing tool {name}: ")) from error


def _sentence(error: ValidationError) -> str:
    return " ".join(_of(one["type"], ".".join(map(str, one["loc"])), one["msg"]) for one in error.errors())


def _of(kind: str, place: str, message: str) -> str:
    if kind == "missing":
        return f"“{place}” is missing."
    if kind.startswith("uuid"):
        return f"“{place}” is no id. Take one as another of these tools told it."
    return f"“{place}” is not right: {message[:1].lower()}{message[1:]}."
