"""Real weights for the tests that need them."""

from __future__ import annotations

import pytest

from chat.llm import weights


def needed(name: str) -> weights.Entry:
    """Return a model of the catalogue, or skip the test that asks for it, saying how to get the file."""
    entry = weights.entry_named(name)
    if not weights.is_present(entry):
        pytest.skip(f"the weights of {name} are missing: `manage.py weights fetch {name}`")
    return entry
