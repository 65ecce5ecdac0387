"""Helpers that read the responses of pages."""

from __future__ import annotations

import json
from typing import Any


def triggered_events(answer: Any) -> dict[str, Any]:
    """Return the events in the HX-Trigger header by name."""
    found: dict[str, Any] = json.loads(answer.headers.get("HX-Trigger", "{}"))
    return found


def text_of(answer: Any) -> str:
    """Return the body of a response as text."""
    return str(answer.content.decode())
