"""Small files in the format of models, for tests of what reads their headers."""

from __future__ import annotations

import struct


def _text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(given: object) -> bytes:
    if isinstance(given, str):
        return struct.pack("<I", 8) + _text(given)
    if isinstance(given, list):
        return struct.pack("<IIQ", 9, 8, len(given)) + b"".join(map(_text, given))
    return struct.pack("<II", 4, given)


def make_gguf(*, version: int = 3, data: int = 64, **values: object) -> bytes:
    """Return the bytes of a GGUF file with one tensor of `data` bytes and these metadata values.

    Two underscores in the name of a value stand for a dot.
    """
    stored = {
        "tokenizer.tokens": ["a", "b"],
        **{name.replace("__", "."): one for name, one in values.items()},
    }
    head = b"GGUF" + struct.pack("<IQQ", version, 1, len(stored))
    head += b"".join(_text(name) + _value(one) for name, one in stored.items())
    head += _text("output.weight") + struct.pack("<IQIQ", 1, 16, 0, 0)
    return head.ljust(-(-len(head) // 32) * 32, b"\0") + b"\1" * data
