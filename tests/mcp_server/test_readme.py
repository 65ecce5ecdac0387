"""What the README tells to write into an assistant's settings works as it stands there, from any folder."""

from __future__ import annotations

import json
import re

from chat.actions.tokens import create_token
from memoryapp.env import ROOT

from .assistants import assistant


def test_its_settings_start_the_server(address, owner, tmp_path):
    readme = (ROOT / "README.md").read_text()
    [settings] = re.findall(r"```json\n(.*?)```", readme, re.DOTALL)
    [more] = re.findall(r'`"env": (\{.*?\})`', readme)
    written = json.loads(settings)["mcpServers"]["memoryapp"]
    command = [written["command"], *(one.replace("/path/to/memoryapp", str(ROOT)) for one in written["args"])]
    env = json.loads(more)
    assert set(env) == {"MEMORYAPP_URL", "MEMORYAPP_TOKEN"}
    env = {"MEMORYAPP_URL": address, "MEMORYAPP_TOKEN": create_token(owner, "README")}
    with assistant(tmp_path, command, cwd=tmp_path, **env) as one:
        one("add_memory", text="I bake sourdough on Sundays.")
        assert one("search_memories", query="sourdough")["total"] == 1
        for tool in one.tools():
            assert f"`{tool}`" in readme
