"""Reads .po files, which the standard library cannot read."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path

_FIELD = re.compile(r'(msgctxt|msgid|msgid_plural|msgstr)(?:\[(\d)\])? (".*")')


@dataclass
class PoEntry:
    """One message and its translations by plural form."""

    texts: dict[str, str] = field(default_factory=dict)
    translations: dict[int, str] = field(default_factory=dict)
    fuzzy: bool = False

    @property
    def key(self) -> str:
        """The key of the message in a .mo file."""
        context = self.texts.get("msgctxt")
        return f"{context}\x04{self.texts['msgid']}" if context else self.texts["msgid"]

    @property
    def plural(self) -> str | None:
        """The plural message, or None."""
        return self.texts.get("msgid_plural")


def read_po(path: Path) -> list[PoEntry]:
    """Return the entries of a .po file, without its header and obsolete entries."""
    entries = []
    for block in path.read_text().split("\n\n")[1:]:
        entry, name, number = PoEntry(), "", 0
        for line in block.splitlines():
            if line.startswith("#"):
                entry.fuzzy |= line.startswith("#,") and "fuzzy" in line
                continue
            text = line
            if match := _FIELD.match(line):
                name, number, text = match[1], int(match[2] or 0), match[3]
            if name == "msgstr":
                entry.translations[number] = entry.translations.get(number, "") + ast.literal_eval(text)
            else:
                entry.texts[name] = entry.texts.get(name, "") + ast.literal_eval(text)
        if entry.texts:
            entries.append(entry)
    return entries
