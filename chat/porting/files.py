"""Opens an import file, recognises its format, and yields its validated parts one by one."""

from __future__ import annotations

import errno
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, Any, Literal, Protocol, cast

from django.conf import settings

from chat.errors import BadFile
from memoryapp.base.encryption import AGE_HEADER, decrypt_from_people
from memoryapp.base.env import data_path
from memoryapp.base.passphrase import WrongPassphrase, is_encrypted

from . import chatgpt, claude, mem0, ours
from .parts import BrokenItem, FilePart, join_place, place_in_archive
from .reader import Reader

# Bytes of unpacked text: three times the largest exports that are known.
MOST_BYTES = 1 << 30
# Bytes of an encrypted file, which is decrypted in memory.
_MOST_ENCRYPTED_BYTES = 256 << 20
# A zip bomb is assumed where more than _SHRUNK_FROM bytes are compressed by more than this factor; chats
# compress to about a tenth.
_MOST_SHRUNK, _SHRUNK_FROM = 200, 16 << 20
# Errors that Python's archive modules raise for damaged data.
_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError)
# mem0's API wraps its list of memories in an object with one of these keys.
_WRAPPED = ("results", "memories")
# Names of the files with conversations in other programs' archives; a large export has several.
_INSIDE = re.compile(r"(?:^|/)conversations(?:-\d+)?\.json$")


class ImportSource(Protocol):
    """A file to import: a path, or an encrypted upload."""

    def open(self, mode: Literal["rb"]) -> IO[bytes]:
        """Open it for reading; it can be read at any place."""
        ...


def read_parts(path: ImportSource) -> Iterator[FilePart]:
    """Yield the validated parts of a file: first its source, then its items in their order.

    Reads JSON of this program, of ChatGPT, Claude and mem0, and zip archives with such files, also encrypted
    with the passphrase of the data here. A conversation
    or fact whose content is wrong is a broken part. Raises BadFile at any other error, which can be at the
    end of the file.
    """
    seen: set[str] = set()
    for name, stream in _open_streams(path):
        with stream:
            try:
                for part in _read_document(Reader(io.TextIOWrapper(stream, "utf-8-sig", newline=""))):
                    if part.kind != "source" or part.value not in seen:
                        yield replace(part, where=join_place(name, part.where))
                    if part.kind == "source":
                        seen.add(part.value)
                        if len(seen) > 1:
                            raise BadFile("archive-mixed")
            except BadFile as problem:
                raise BadFile(problem.reason, place_in_archive(name, problem.where)) from problem
            except _DAMAGE as error:
                if not name:
                    # Not in an archive: an error of the disk.
                    raise
                raise BadFile("archive-damaged", name) from error


def _read_document(reader: Reader) -> Iterator[FilePart]:
    begin = reader.peek()
    if begin == "{":
        yield from _read_object(reader)
    elif begin == "[":
        yield from _read_list(reader)
    else:
        raise BadFile("file-not-json")
    reader.end()


def _read_object(reader: Reader) -> Iterator[FilePart]:
    members = reader.members()
    known = False
    for number, name in enumerate(members):
        if name == "format" and not number:
            yield from ours.read_export(reader, members)
            return
        if name not in _WRAPPED:
            reader.value(name)
            continue
        known = True
        yield FilePart("source", mem0.SOURCE)
        for n, _item in enumerate(reader.items()):
            yield _parse_item(mem0, reader.value(f"{name}[{n}]"), f"{name}[{n}]")
    if not known:
        raise BadFile("file-unknown")


def _read_list(reader: Reader) -> Iterator[FilePart]:
    read: Any = None
    for number, _item in enumerate(reader.items()):
        where = f"[{number}]"
        value = reader.value(where)
        if read is None:
            read = _detect_program(value, where)
            yield FilePart("source", read.SOURCE)
        yield _parse_item(read, value, where)
    if read is None:
        raise BadFile("file-empty")


def _detect_program(value: Any, where: str) -> Any:
    for module in (chatgpt, claude, mem0):
        if isinstance(value, dict) and any(mark in value for mark in module.MARKS):
            return module
    raise BadFile("file-unknown", where)


def _open_streams(source: ImportSource) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the names and streams of the files to read; the name is "" where the file is not an archive."""
    with _decrypt(source.open("rb")) as file:
        yield from _open_file(file)


def _open_file(file: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    if not _is_archive(file):
        if file.seek(0, io.SEEK_END) > MOST_BYTES:
            raise BadFile("file-size-exceeded")
        file.seek(0)
        yield "", file
        return
    with _open_archive(file) as archive:
        found = [info for info in archive.infolist() if _INSIDE.search(info.filename)]
        found = found or [info for info in archive.infolist() if info.filename.endswith(".json")][:1]
        if not found:
            raise BadFile("archive-without-conversations")
        whole = sum(info.file_size for info in found)
        packed = sum(info.compress_size for info in found)
        if whole > MOST_BYTES or (whole > _SHRUNK_FROM and whole > packed * _MOST_SHRUNK):
            raise BadFile("file-size-exceeded")
        for info in sorted(found, key=lambda info: info.filename):
            # zipfile reads no more bytes than the header claims.
            yield info.filename, archive.open(info)


def _decrypt(file: IO[bytes]) -> IO[bytes]:
    """Return a file's text, decrypted in memory where the file is encrypted. Raises BadFile."""
    if file.read(len(AGE_HEADER)) != AGE_HEADER:
        file.seek(0)
        return file
    with file:
        # On a server the passphrase is its operator's, and nobody else may try others.
        if settings.MODE == "server" or not is_encrypted(data_path()):
            raise BadFile("file-encrypted")
        if file.seek(0, io.SEEK_END) > _MOST_ENCRYPTED_BYTES:
            raise BadFile("file-size-exceeded")
        file.seek(0)
        try:
            return io.BytesIO(decrypt_from_people(file.read()))
        except WrongPassphrase as error:
            raise BadFile("file-encrypted") from error


@contextmanager
def _open_archive(file: IO[bytes]) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError) as error:
        raise BadFile("archive-unreadable") from error
    except OSError as error:
        # EINVAL: the archive names an offset before the beginning of the file. Where the file is in memory,
        # this is a ValueError. Any other OSError is an error of the disk.
        if error.errno != errno.EINVAL:
            raise
        raise BadFile("archive-unreadable") from error


def _is_archive(file: IO[bytes]) -> bool:
    try:
        return zipfile.is_zipfile(file)
    except zipfile.BadZipFile:
        # One of several parts; opening it says so.
        return True


def _parse_item(module: Any, value: Any, where: str) -> FilePart:
    """Return the parsed item, or a broken part where its structure is not as expected."""
    kind: Literal["conversation", "fact"] = "fact" if module is mem0 else "conversation"
    try:
        return cast("FilePart", module.read_item(value, where))
    except BadFile as fault:
        return FilePart("broken", BrokenItem(kind, fault), where)
    except (AttributeError, KeyError, TypeError, RecursionError):
        return FilePart("broken", BrokenItem(kind, BadFile("file-item-malformed", where)), where)
