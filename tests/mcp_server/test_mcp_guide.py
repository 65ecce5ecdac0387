"""The settings for an assistant in .github/docs/mcp.md work as written, from any folder."""

from __future__ import annotations

import json
import re

from chat.actions.api_tokens import create_token
from memoryapp.base.env import ROOT

from .mcp_client import start_assistant


def test_the_settings_in_the_guide_start_the_server(address, owner, tmp_path):
    guide = (ROOT / ".github" / "docs" / "mcp.md").read_text()
    [settings] = re.findall(r"```json\n(.*?)```", guide, re.DOTALL)
    [more] = re.findall(r'`"env": (\{"MEMORYAPP.*?\})`', guide)
    written = json.loads(settings)["mcpServers"]["memoryapp"]
    command = [written["command"], *(one.replace("/path/to/memoryapp", str(ROOT)) for one in written["args"])]
    env = json.loads(more)
    assert set(env) == {"MEMORYAPP_URL", "MEMORYAPP_TOKEN"}
    env = {"MEMORYAPP_URL": address, "MEMORYAPP_TOKEN": create_token(owner, "guide")}
    with start_assistant(tmp_path, command, cwd=tmp_path, **env) as one:
        one("add_memory", text="I bake sourdough on Sundays.")
        assert one("search_memories", query="sourdough")["total"] == 1
        for tool in one.tools():
            assert f"`{tool}`" in guide
