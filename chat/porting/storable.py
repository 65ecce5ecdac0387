"""What every database can hold of texts and of what JSON holds; imports no Django."""

from __future__ import annotations

from typing import Any


def storable(value: Any) -> Any:
    """Return a value of JSON's kinds without NUL and lone halves of pairs in its texts."""
    if isinstance(value, str):
        text = value.replace("\x00", "")
        return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(name): storable(item) for name, item in value.items()}
    return value
