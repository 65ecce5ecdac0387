"""What of a page a person reads or hears, as far as it did not go through the translation functions."""

from __future__ import annotations

import re
from html.parser import HTMLParser

OPEN, CLOSE = "⟦", "⟧"
# Read by nobody, or the same in every language: commands, keys, names (`translate="no"`), what one typed.
_SILENT = {"script", "style", "code", "kbd", "svg", "textarea"}
_SPOKEN = ("aria-label", "title", "placeholder", "alt", "aria-description", "content")
_VOID = {"meta", "link", "input", "img", "br", "hr", "use", "rect", "path", "line", "circle"}
_WORD = re.compile(r"[^\W\d_]{2,}")


def outside(text: str, depth: int = 0) -> tuple[str, int]:
    """Return what stands outside of all marks, which may be nested, and in how many the text ends."""
    kept = []
    for character in text:
        depth += character == OPEN
        if not depth:
            kept.append(character)
        depth -= character == CLOSE
    return "".join(kept), depth


class Reader(HTMLParser):
    """Collects the untranslated words of a page, each with what stands around it."""

    def __init__(self, user_content: re.Pattern[str]) -> None:
        super().__init__()
        self.user_content = user_content
        self.silent: list[str] = []
        self.open: list[tuple[str, bool]] = []
        self.found: list[str] = []
        self.depth = 0  # a message may hold elements, so that its marks stand in several texts

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read the attributes that are spoken, and note where silence begins."""
        given = dict(attrs)
        silent = tag in _SILENT or given.get("translate") == "no"
        if not silent and not self._is_silent():
            for name in _SPOKEN:
                if name != "content" or given.get("name") == "description":
                    self._note(outside(given.get(name) or "")[0], f"<{tag} {name}>")
        if tag not in _VOID:
            self.open.append((tag, silent))

    def handle_endtag(self, tag: str) -> None:
        """Close the elements down to this one."""
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Read a text."""
        text, self.depth = outside(data, self.depth)
        if not self._is_silent():
            self._note(text, self.open[-1][0] if self.open else "")

    def _is_silent(self) -> bool:
        return any(silent for _, silent in self.open)

    def _note(self, text: str, where: str) -> None:
        rest = self.user_content.sub(" ", text).replace("memoryapp", " ")
        if words := _WORD.findall(rest):
            self.found.append(f"{where}: {' '.join(words)}")


def untranslated(page: str, user_content: str = r"[\u0370-\u03ff]+") -> list[str]:
    """Return the words of a page that no translation function has seen; user content is Greek in tests."""
    reader = Reader(re.compile(user_content))
    reader.feed(page)
    return sorted(set(reader.found))
