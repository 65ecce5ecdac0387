"""Measures a sentence that may ask something of memory, for the classifier of requests.

Only a suspect is measured: a sentence with one of the word beginnings that the language files name. The
search for them is linear in the length of the sentence.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

FOLDER = Path(__file__).parent / "languages"
# What a suspect's words say: to keep something, to forget it, that it is wrong, that it is private.
TOPICS = ("keep", "forget", "wrong", "private")
# The lists in `[requests]` of the language files that give features, too.
_LISTS = {"negation": "negation", "it": "pronouns", "polite": "polite"}
_START, _END = "start", "end"
# What a word beside a trigger can be.
_NAMES = (*TOPICS, "negation", "you", "i", "that", "it", "how", "memory", "polite", _START, _END)
# A sentence with more characters is taken for a text and not for a request.
MAX_SENTENCE = 400
# Characters on either side of the first trigger that are measured and embedded apart from the sentence.
_WINDOW = 40
CLAUSE_END = re.compile(r"[,，;；:：.。!！?？()（）\n]|\s[–—-]\s")
_QUESTION = re.compile(r"[?？]\s*$")
_HAN = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Suspect:
    """A sentence with triggers: their spans and topics, in the order of the text."""

    text: str
    triggers: tuple[tuple[int, int, str], ...]

    @property
    def start(self) -> int:
        """Where the first trigger begins."""
        return self.triggers[0][0]

    @property
    def end(self) -> int:
        """Where the first trigger ends."""
        return self.triggers[0][1]

    @property
    def topics(self) -> frozenset[str]:
        """What the triggers say."""
        return frozenset(topic for _, _, topic in self.triggers)

    @property
    def window(self) -> str:
        """The words around the first trigger."""
        left = self.text.rfind(" ", 0, max(self.start - _WINDOW, 0)) + 1
        right = self.text.find(" ", self.end + _WINDOW)
        return self.text[left : right if right > 0 else None].strip()


@lru_cache(maxsize=256)
def find_suspect(sentence: str) -> Suspect | None:
    """Return the sentence as a suspect; None if it has no trigger or is too long for a request."""
    text = sentence.strip().replace("’", "'")
    if not text or len(text) > MAX_SENTENCE:
        return None
    patterns = load_patterns()
    found = [(*match.span(), topic) for topic in TOPICS for match in patterns[topic].finditer(text)]
    return Suspect(text, tuple(sorted(found))) if found else None


def measure(suspect: Suspect) -> list[float]:
    """Return the features of a suspect besides its vectors, each between 0 and 1."""
    text = suspect.text
    tags = _tag(suspect)
    first = next(i for i, (start, _, _) in enumerate(tags) if start >= suspect.start)
    last = max(i for i, (_, _, name) in enumerate(tags) if name in TOPICS)
    names = [_START, _START, *(name for _, _, name in tags), _END, _END]
    around = [names[first], names[first + 1], names[first + 3], names[first + 4]]
    topic = names[first + 2]
    flags = [
        *(name == one for one in around for name in _NAMES),
        *(topic == one and around[1] == name for one in TOPICS for name in _NAMES),
        *(topic == one and around[2] == name for one in TOPICS for name in _NAMES),
        *(names[last + 1] == name for name in _NAMES),
        *(names[last + 3] == name for name in _NAMES),
        *(name in names for name in _NAMES),
        *_measure_form(suspect),
    ]
    return [*map(float, flags), suspect.start / len(text), min(len(text) / 200, 1.0)]


def _measure_form(suspect: Suspect) -> list[bool]:
    """Return features of the sentence's form: where the first trigger stands, negation, punctuation."""
    patterns, text = load_patterns(), suspect.text
    clause_start = max((m.end() for m in CLAUSE_END.finditer(text, 0, suspect.start)), default=0)
    before = text[clause_start : suspect.start]
    words_before = len(before.split()) if not _HAN.search(text) else len(before.strip())
    negated = bool(patterns["negation"].search(suspect.window))
    return [
        *(topic in suspect.topics and negated for topic in TOPICS),
        bool(patterns["negation"].search(before)),
        words_before == 0,
        words_before <= 2,
        bool(patterns["i"].match(text)),
        bool(_QUESTION.search(text)),
        ":" in text or "：" in text,
        bool(CLAUSE_END.search(text, 0, suspect.start)),
        bool(CLAUSE_END.search(text, suspect.end, len(text) - 1)),
    ]


def _tag(suspect: Suspect) -> list[tuple[int, int, str]]:
    """Return the known words of a suspect in order, each with the name of its list; triggers come first."""
    found = list(suspect.triggers)
    for name, pattern in load_patterns().items():
        if name not in TOPICS:
            found += [(*match.span(), name) for match in pattern.finditer(suspect.text) if match[0]]
    tags: list[tuple[int, int, str]] = []
    for start, end, name in sorted(found, key=lambda tag: (tag[0], tag[2] not in TOPICS, -tag[1])):
        if not tags or start >= tags[-1][1]:
            tags.append((start, end, name))
        elif name in TOPICS and tags[-1][2] not in TOPICS:
            tags[-1] = (start, end, name)
    return tags


@cache
def load_patterns() -> dict[str, re.Pattern[str]]:
    """Return for each list of `suspects` one pattern for all languages, and one for negation.

    The words of a language with spaces begin where a word begins; the lists of whole words end there too.
    """
    entries: dict[str, list[str]] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        requests = data["requests"]
        lists = data["suspects"] | {name: requests[_LISTS[name]] for name in _LISTS}
        for name, words in lists.items():
            patterns = words if name in ("that", *_LISTS) else map(re.escape, words)
            whole = name not in TOPICS
            entries.setdefault(name, []).extend(
                pattern if path.stem == "zh" else _bound(pattern, whole=whole) for pattern in patterns
            )
    return {name: re.compile("|".join(words), re.I) for name, words in entries.items()}


def _bound(pattern: str, *, whole: bool) -> str:
    """Return a pattern that begins where a word begins, and ends where it ends if it is `whole`."""
    return rf"(?<!\w)(?:{pattern})" + (r"(?!\w)" if whole and not pattern.endswith("'") else "")
