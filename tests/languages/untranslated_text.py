"""Finds texts of a page, visible or read by screen readers, that were not translated."""

from __future__ import annotations

import re
from html.parser import HTMLParser

OPEN, CLOSE = "⟦", "⟧"
# Not visible, or the same in every language: commands, keys, names (`translate="no"`), typed text.
_SILENT = {"script", "style", "code", "kbd", "svg", "textarea"}
_SPOKEN = ("aria-label", "title", "placeholder", "alt", "aria-description", "content")
_VOID = {"meta", "link", "input", "img", "br", "hr", "use", "rect", "path", "line", "circle"}
_WORD = re.compile(r"[^\W\d_]{2,}")


def text_outside_marks(text: str, depth: int = 0) -> tuple[str, int]:
    """Return the text outside of marks, and the number of marks still open at its end; marks can nest."""
    kept = []
    for character in text:
        depth += character == OPEN
        if not depth:
            kept.append(character)
        depth -= character == CLOSE
    return "".join(kept), depth


class UntranslatedTextParser(HTMLParser):
    """Collects the untranslated words of a page together with their elements."""

    def __init__(self, user_content: re.Pattern[str]) -> None:
        super().__init__()
        self.user_content = user_content
        self.silent: list[str] = []
        self.open: list[tuple[str, bool]] = []
        self.found: list[str] = []
        self.depth = 0  # open marks; a message can contain elements, so its marks can be in several texts

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Check the attributes that screen readers read, and note elements whose text is skipped."""
        given = dict(attrs)
        silent = tag in _SILENT or given.get("translate") == "no"
        if not silent and not self._is_silent():
            for name in _SPOKEN:
                if name != "content" or given.get("name") == "description":
                    self._note(text_outside_marks(given.get(name) or "")[0], f"<{tag} {name}>")
        if tag not in _VOID:
            self.open.append((tag, silent))

    def handle_endtag(self, tag: str) -> None:
        """Close all open elements up to this one."""
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Note the untranslated words of a text."""
        text, self.depth = text_outside_marks(data, self.depth)
        if not self._is_silent():
            self._note(text, self.open[-1][0] if self.open else "")

    def _is_silent(self) -> bool:
        return any(silent for _, silent in self.open)

    def _note(self, text: str, where: str) -> None:
        rest = self.user_content.sub(" ", text).replace("memoryapp", " ")
        if words := _WORD.findall(rest):
            self.found.append(f"{where}: {' '.join(words)}")


def untranslated_words(page: str, user_content: str = r"[\u0370-\u03ff]+") -> list[str]:
    """Return the words of a page that did not pass through a translation function.

    `user_content` matches texts to ignore: tests write user content in Greek.
    """
    reader = UntranslatedTextParser(re.compile(user_content))
    reader.feed(page)
    return sorted(set(reader.found))
