"""Cold storage: the contents of messages as JSON, gzipped, with a checksum (seed 002, "Compression Format").

Pure and deterministic: the same contents give the same bytes. The seed's base64 is left out, since a database
keeps bytes; so are its roles and times, which stay in the messages' rows.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass


class CorruptArchive(Exception):
    """What is stored is not what was packed; the text says how that was seen."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The bytes to store, and the checksum of what went into them."""

    data: bytes
    sha256: str


def pack(contents: Mapping[int, str]) -> Packed:
    """Return contents by their messages' places, packed; any text of Python's comes back as it was."""
    entries = [[seq, contents[seq]] for seq in sorted(contents)]
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
    raw = text.encode("utf-8", "surrogatepass")
    # A time in the header would make equal archives differ.
    return Packed(gzip.compress(raw, compresslevel=9, mtime=0), hashlib.sha256(raw).hexdigest())


def unpack(data: bytes, sha256: str) -> dict[int, str]:
    """Return the contents by place, bit for bit, in order; raises CorruptArchive where they are not."""
    try:
        raw = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise CorruptArchive(f"it cannot be decompressed: {error}") from error
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise CorruptArchive("its checksum is another one")
    return dict(json.loads(raw.decode("utf-8", "surrogatepass")))
