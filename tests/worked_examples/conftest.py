"""Fixtures of other folders that the worked examples use too."""

from __future__ import annotations

from tests.api.conftest import manager
from tests.api.rest.conftest import program
from tests.jobs.conftest import immediate_app_memories, ten_memories
from tests.terminal.conftest import talk_of

__all__ = ["immediate_app_memories", "manager", "program", "talk_of", "ten_memories"]
