"""Opens a file of somebody's chats or memories, finds out whose it is, and gives its parts one by one."""

from __future__ import annotations

import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from django.utils.translation import gettext as _

from . import chatgpt, claude, mem0, ours
from .parts import Part
from .problems import BadFile, within
from .reader import Reader

# Bytes of text, unpacked: three times the largest exports that are told of.
MOST_BYTES = 1 << 30
# Chats shrink to a tenth or so; what shrinks to less than this share was made to fill a disk.
_MOST_SHRUNK, _SHRUNK_FROM = 200, 16 << 20
# What the packers of archives raise over bytes that they cannot have written.
_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError)
# Where mem0 answers with an object, its memories are under one of these.
_WRAPPED = ("results", "memories")
# Where other programs put the chats in the archives that they hand out; large ones come in several files.
_INSIDE = re.compile(r"(?:^|/)conversations(?:-\d+)?\.json$")


def parts(path: Path) -> Iterator[Part]:
    """Yield what a file holds, checked: first what it is, then its parts in the order of the file.

    Takes JSON of ours, of ChatGPT, of Claude and of mem0, and zip archives with such. Raises BadFile at the
    first thing that is wrong, which may be its last.
    """
    seen: set[str] = set()
    for name, stream in _streams(path):
        with stream:
            try:
                for part in _of(Reader(io.TextIOWrapper(stream, "utf-8-sig", newline=""))):
                    if part.kind != "source" or part.value not in seen:
                        yield replace(part, where=within(name, part.where))
                    if part.kind == "source":
                        seen.add(part.value)
                        if len(seen) > 1:
                            raise BadFile(_("This archive holds files of several programs."))
            except BadFile as problem:
                raise problem.within(name) from problem
            except _DAMAGE as error:
                if not name:
                    # The disk's fault, and no archive's.
                    raise
                raise BadFile(_("This archive is damaged."), name) from error


def _of(reader: Reader) -> Iterator[Part]:
    begin = reader.peek()
    if begin == "{":
        yield from _of_object(reader)
    elif begin == "[":
        yield from _of_list(reader)
    else:
        raise BadFile(_("This is not a JSON file, nor an archive with one."))
    reader.end()


def _of_object(reader: Reader) -> Iterator[Part]:
    members = reader.members()
    known = False
    for number, name in enumerate(members):
        if name == "format" and not number:
            yield from ours.parts(reader, members)
            return
        if name not in _WRAPPED:
            reader.value(name)
            continue
        known = True
        yield Part("source", mem0.SOURCE)
        for n, _item in enumerate(reader.items()):
            yield _understood(mem0.part, reader.value(f"{name}[{n}]"), f"{name}[{n}]")
    if not known:
        raise BadFile(_("This is none of the files that can be taken."))


def _of_list(reader: Reader) -> Iterator[Part]:
    read: Any = None
    for number, _item in enumerate(reader.items()):
        where = f"[{number}]"
        value = reader.value(where)
        if read is None:
            read = _reader_of(value, where)
            yield Part("source", read.SOURCE)
        yield _understood(read.part, value, where)
    if read is None:
        raise BadFile(_("There is nothing in this file."))


def _reader_of(value: Any, where: str) -> Any:
    for module in (chatgpt, claude, mem0):
        if isinstance(value, dict) and any(mark in value for mark in module.MARKS):
            return module
    raise BadFile(_("This is none of the files that can be taken."), where)


def _streams(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the files that are read, those of an archive with their names."""
    if not zipfile.is_zipfile(path):
        if path.stat().st_size > MOST_BYTES:
            raise BadFile(_("This file is too large."))
        yield "", path.open("rb")
        return
    with _archive(path) as archive:
        found = [info for info in archive.infolist() if _INSIDE.search(info.filename)]
        found = found or [info for info in archive.infolist() if info.filename.endswith(".json")][:1]
        if not found:
            raise BadFile(_("There is no conversations.json in this archive."))
        whole = sum(info.file_size for info in found)
        packed = sum(info.compress_size for info in found)
        if whole > MOST_BYTES or (whole > _SHRUNK_FROM and whole > packed * _MOST_SHRUNK):
            raise BadFile(_("This file is too large."))
        for info in sorted(found, key=lambda info: info.filename):
            # No more is read of it than it claims to hold.
            yield info.filename, archive.open(info)


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise BadFile(_("This archive is damaged, or locked with a password.")) from error


def _understood(read: Callable[[Any, str], Part], value: Any, where: str) -> Part:
    """Return what one item says; other programs' files may hold any shape where another was meant."""
    try:
        return read(value, where)
    except (AttributeError, KeyError, TypeError) as error:
        raise BadFile(_("this has not the form that it should have"), where) from error
