"""Reads what a page answered."""

from __future__ import annotations

import json
from typing import Any


def triggers(answer: Any) -> dict[str, Any]:
    """Return the events that an answer sets off in the page."""
    found: dict[str, Any] = json.loads(answer.headers.get("HX-Trigger", "{}"))
    return found


def text(answer: Any) -> str:
    """Return an answer as it was sent."""
    return str(answer.content.decode())
