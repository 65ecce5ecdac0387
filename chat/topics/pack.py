"""The archive format of packed messages: JSON, compressed with gzip, and a SHA-256 checksum of the JSON.

Pure and deterministic: the same contents give the same bytes. Only the contents are packed; roles and times
stay in the message rows.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass


class CorruptArchive(Exception):
    """The stored bytes are not what was packed; the exception's text says how the damage was detected."""


@dataclass(frozen=True, slots=True)
class PackedContents:
    """The gzip bytes to store, and the hexadecimal SHA-256 of the JSON before compression."""

    data: bytes
    sha256: str


def pack_contents(contents: Mapping[int, str]) -> PackedContents:
    """Pack contents, given by `Message.seq`; any Python string round-trips, even with lone surrogates."""
    entries = [[seq, contents[seq]] for seq in sorted(contents)]
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
    raw = text.encode("utf-8", "surrogatepass")
    # mtime=0: a timestamp in the gzip header would make equal archives differ.
    return PackedContents(gzip.compress(raw, compresslevel=9, mtime=0), hashlib.sha256(raw).hexdigest())


def unpack_contents(data: bytes, sha256: str) -> dict[int, str]:
    """Return the contents by `Message.seq`, in ascending order; raises CorruptArchive on damage."""
    try:
        raw = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise CorruptArchive(f"it cannot be decompressed: {error}") from error
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise CorruptArchive("its checksum is another one")
    return dict(json.loads(raw.decode("utf-8", "surrogatepass")))
