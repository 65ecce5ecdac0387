"""Tells why a file cannot be a chat model, from the header of its format GGUF. Standard library only."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from chat.errors import Reason

# llama.cpp's formats before GGUF, by their first four bytes.
_OLD_MAGICS = (b"lmgg", b"fmgg", b"tjgg", b"algg")
# Version 1 had shorter lengths and is not read by llama.cpp any more.
_FIRST_VERSION = 2
# The types of values by number (gguf.md in llama.cpp's repository); two have lengths of their own.
_FORMATS = dict(enumerate(["B", "b", "H", "h", "I", "i", "f", "?", "", "", "Q", "q", "d"]))
_STRING, _ARRAY = 8, 9
_MAX_TEXT = 1_000_000
_MAX_ITEMS = 10_000_000
# 8 TiB: more than any model has, and less than the longest file of common file systems (16 TiB of ext4).
_MAX_BYTES = 1 << 43
# Architectures of models that compute vectors and cannot write.
_EMBEDDERS = ("bert", "t5encoder", "gemma-embedding")
# The end of a part's name, as llama.cpp writes it.
_PART = re.compile(r"-\d{5}-of-(\d{5})\.gguf\Z", re.ASCII)


@dataclass
class Header:
    """What the header says: the values by key (arrays left out), and where the data of the last tensor
    begins, in bytes.
    """

    values: dict[str, Any]
    last_tensor_at: int


def find_fault(path: Path) -> Reason | None:
    """Return why this file is no chat model, None where nothing speaks against it. Raises OSError."""
    with path.open("rb") as file:
        magic = file.read(4)
        if magic in _OLD_MAGICS:
            return Reason("model-file-old", {"file": path.name})
        if magic != b"GGUF":
            return Reason("model-file-not-gguf", {"file": path.name})
        if int.from_bytes(file.read(4), "little") < _FIRST_VERSION:
            return Reason("model-file-old", {"file": path.name})
        try:
            header = _read_header(file)
        except (EOFError, struct.error):
            return Reason("model-file-incomplete", {"file": path.name})
        except (ValueError, KeyError, OverflowError):
            # This may be a newer version of the format. The engine will tell whether it can load the file.
            return None
    return _judge(path, header)


def _judge(path: Path, header: Header) -> Reason | None:
    about = {"file": path.name}
    architecture = str(header.values.get("general.architecture", ""))
    if architecture == "clip" or header.values.get("general.type") in ("mmproj", "projector"):
        return Reason("model-file-projector", about)
    if header.values.get("general.type") == "adapter":
        return Reason("model-file-adapter", about)
    if any(name in architecture for name in _EMBEDDERS):
        return Reason("model-file-embedder", about)
    if path.stat().st_size <= header.last_tensor_at:
        return Reason("model-file-incomplete", about)
    return _find_missing_part(path, header.values)


def _find_missing_part(path: Path, values: dict[str, Any]) -> Reason | None:
    """Return what is wrong with a model in several files, of which the first one is to be named."""
    named = _PART.search(path.name)
    if named is None or "split.count" not in values:
        return None
    stem, count = path.name[: named.start()], int(named[1])
    parts = [path.with_name(f"{stem}-{number:05}-of-{count:05}.gguf") for number in range(1, count + 1)]
    if values.get("split.no"):
        return Reason("model-file-part", {"file": path.name, "first": parts[0].name})
    missing = next((part for part in parts if not part.exists()), None)
    return None if missing is None else Reason("model-file-part-missing", {"file": missing.name})


def _read_header(file: BinaryIO) -> Header:
    """Return the header behind magic and version; raises EOFError, ValueError, KeyError or struct.error."""
    tensors, count = _read(file, "Q"), _read(file, "Q")
    values: dict[str, Any] = {}
    for _ in range(count):
        key = _read_text(file)
        kind = _read(file, "I")
        if kind == _ARRAY:
            _skip_array(file)
        else:
            values[key] = _read_value(file, kind)
    last = 0
    for _ in range(tensors):
        _read_text(file)
        _skip(file, 8 * _read(file, "I") + 4)
        last = max(last, _read(file, "Q"))
    alignment = int(values.get("general.alignment", 32)) or 1
    begin = -(-file.tell() // alignment) * alignment
    return Header(values, begin + last if tensors else 0)


def _read(file: BinaryIO, kind: str) -> Any:
    content = file.read(struct.calcsize("<" + kind))
    if not content:
        raise EOFError
    return struct.unpack("<" + kind, content)[0]


def _read_text(file: BinaryIO) -> str:
    length = _read(file, "Q")
    if length > _MAX_TEXT:
        raise ValueError("a text is too long")
    content = file.read(length)
    if len(content) < length:
        raise EOFError
    return content.decode(errors="replace")


def _read_value(file: BinaryIO, kind: int) -> Any:
    return _read_text(file) if kind == _STRING else _read(file, _FORMATS[kind])


def _skip_array(file: BinaryIO) -> None:
    kind, length = _read(file, "I"), _read(file, "Q")
    if kind == _ARRAY or length > _MAX_ITEMS:
        raise ValueError("an array of arrays, or a very long one")
    if kind != _STRING:
        _skip(file, struct.calcsize("<" + _FORMATS[kind]) * length)
        return
    for _ in range(length):
        _skip(file, _read(file, "Q"))


def _skip(file: BinaryIO, size: int) -> None:
    position = file.tell() + size
    if position > _MAX_BYTES:
        raise EOFError
    file.seek(position)
