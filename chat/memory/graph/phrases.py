"""Finds names and noun phrases in the words of a fact."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from chat.memory.stopwords import MONTHS_AND_DAYS

from .lexicon import Lexicon
from .lexicon_germanic import ENGLISH, GERMAN
from .lexicon_iberian import PORTUGUESE, SPANISH
from .lexicon_romance import FRENCH, ITALIAN
from .types import MAX_NAME

LEXICONS: dict[str, Lexicon] = {
    lexicon.code: lexicon for lexicon in (ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE)
}

# A phrase of more words is a clause, not a name.
_MAX_WORDS = 4
# An abbreviation ("St."), a word ("Node.js", "C++", "don't"), a punctuation mark, or a contracted ending
# ("'s").
_WORD = re.compile(r"(?:St|Dr|Mr|Mrs|Ms|Prof)\.|[^\W_][\w'.+#/&-]*[\w+#]|[^\W_][+#]*|[,;:()]|['’]\w+")
_ELISION = re.compile(r"^((?:l|d|n|j|qu|s|m|t|c|un|dell|all|nell|sull|dall)')(?=\w)", re.I)

Words = Sequence[str]


def split_words(text: str, lexicon: Lexicon) -> list[str]:
    """Return the words and punctuation marks; French and Italian elisions ("l'") are separate words."""
    found: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFC", text)):
        elided = _ELISION.match(word) if lexicon.code in ("fr", "it") else None
        if elided and word.casefold() not in lexicon.called:
            found += [elided[1], word[elided.end() :]]
        else:
            found.append(word)
    return found


def is_proper(word: str) -> bool:
    """Return whether a word has a capital letter and is no month or weekday."""
    return any(c.isupper() for c in word) and word.casefold().removesuffix("s") not in MONTHS_AND_DAYS


def find_name_end(tokens: Words, start: int, lexicon: Lexicon, *, person: bool = False) -> int:
    """Return the index after the name that begins at `start`; `start` if no name begins there.

    Names are such as "Cape Town", "Rio de Janeiro", "Fusion 360". With `person` a month may be a name
    ("May").
    """
    end = start
    while end < len(tokens):
        if (
            is_proper(tokens[end])
            or (person and tokens[end][0].isupper())
            or (end > start and tokens[end].isdigit() and len(tokens[end]) < 4)
        ):
            end += 1
            continue
        bridge = end
        while bridge < len(tokens) and tokens[bridge].casefold() in lexicon.inner:
            bridge += 1
        if (
            end == start
            or bridge in (end, len(tokens))
            or bridge > end + 2
            or not tokens[bridge][0].isupper()
        ):
            break
        end = bridge + 1
    return end


def find_names(tokens: Words, lexicon: Lexicon, skip_first: bool = False) -> list[str]:
    """Return all names in the words, in order."""
    found, i = [], 1 if skip_first else 0
    while i < len(tokens):
        end = find_name_end(tokens, i, lexicon)
        if end > i:
            found.append(join_words(tokens[i:end]))
        i = max(end, i + 1)
    return found


def find_name_after(
    tokens: Words, markers: frozenset[str], lexicon: Lexicon, articles: bool = True
) -> tuple[str, int] | None:
    """Return the first name after one of the `markers` and the index after it: "in Oslo", "in the Alps".

    With `articles` false no article may stand between the marker and the name.
    """
    for i, token in enumerate(tokens):
        if token.casefold() not in markers:
            continue
        at = i + 1
        while articles and at < len(tokens) and _is_article(tokens[at], lexicon):
            at += 1
        end = find_name_end(tokens, at, lexicon)
        if end > at:
            return join_words(tokens[at:end]), end
    return None


def _is_article(word: str, lexicon: Lexicon) -> bool:
    folded = word.casefold()
    return (
        word.islower()
        and (folded in lexicon.determiners or folded in lexicon.inner)
        and folded not in lexicon.indefinite
    )


def take_after_verb(tokens: Words, lexicon: Lexicon, *groups: str) -> list[str] | None:
    """Return the words after the first verb of the groups; None if the first 7 words have no such verb."""
    verbs = frozenset[str]().union(*(lexicon.verbs.get(group, frozenset()) for group in groups))
    passed = verbs | lexicon.fillers | lexicon.copula
    for i, token in enumerate(tokens[:7]):
        if token.casefold() in verbs and len(token) > 2:
            at = i + 1
            while at < len(tokens) and tokens[at].casefold() in passed | lexicon.determiners:
                at += 1
            return list(tokens[at:])
    return None


def split_objects(tokens: Words, lexicon: Lexicon) -> list[str]:
    """Return the names in a list of objects: "jazz, old westerns and tea" gives three."""
    found: list[str] = []
    segment: list[str] = []
    ended = False
    for word in [*tokens, ","]:
        joined = word.casefold() in lexicon.joins
        if not joined and word not in ",;:()":
            segment.append(word)
            continue
        name, was_cut = take_noun_phrase(segment, lexicon)
        broken = any(w.casefold() in lexicon.breaks for w in segment)
        if name and not ended and name not in found:
            found.append(name)
        # After a cut phrase it is unclear what "and" joins: "music of the sixties at home and …".
        ended = ended or broken or (not name and bool(segment)) or (was_cut and joined)
        segment = []
    return found


def take_noun_phrase(tokens: Words, lexicon: Lexicon) -> tuple[str, bool]:
    """Return the noun phrase at the beginning of the words, or "", and whether more words follow it."""
    at = 0
    while at < len(tokens) and _is_determiner(tokens[at], lexicon):
        at += 1
    words = list(tokens[at:])
    if not words or words[0].casefold() in lexicon.empty:
        return "", False
    end = _find_phrase_end(words, lexicon)
    kept, was_cut = words[:end], end < len(words)
    if lexicon.code == "de":
        kept = _cut_after_last_noun(kept)
    while kept and kept[-1].casefold() in lexicon.cut | lexicon.determiners:
        kept.pop()
    if not kept or (
        kept[0].casefold() in lexicon.all_verbs and len(kept) > 1 and not was_cut and len(kept) > 3
    ):
        return "", was_cut
    name = join_words(kept)
    if sum(w.casefold() not in lexicon.inner for w in kept) > _MAX_WORDS or len(name) > MAX_NAME:
        proper = find_names(kept, lexicon) if lexicon.code != "de" else []
        name = proper[0] if proper else ""
    return ("" if name.casefold() in lexicon.empty or name.isdigit() else name), was_cut


def _is_determiner(word: str, lexicon: Lexicon) -> bool:
    return not is_proper(word) and word.casefold() in lexicon.determiners | lexicon.indefinite


def _find_phrase_end(words: Words, lexicon: Lexicon) -> int:
    """Return the index of the first word that ends a phrase, such as a preposition outside a name."""
    for i, word in enumerate(words):
        folded = word.casefold()
        if is_proper(word):
            continue
        if folded in MONTHS_AND_DAYS | lexicon.called | lexicon.breaks | lexicon.joins or word in ",;:()":
            return i
        if folded in lexicon.inner and i and i + 1 < len(words):
            inside = folded not in lexicon.cut or (is_proper(words[i - 1]) and is_proper(words[i + 1]))
            if inside:
                continue
        if folded in lexicon.cut and (i or folded not in lexicon.determiners):
            return i
    return len(words)


def _cut_after_last_noun(words: list[str]) -> list[str]:
    """Return a German phrase up to the end of its first run of capitalised nouns; a verb may follow them."""
    nouns = [i for i, word in enumerate(words) if any(c.isupper() for c in word)]
    if not nouns:
        return []
    end = nouns[0] + 1
    while end < len(words) and end in nouns:
        end += 1
    return words[:end]


def join_words(words: Words) -> str:
    """Return words as one name, with elided articles attached again."""
    text = " ".join(words).replace("l' ", "l'").replace("d' ", "d'").replace("L' ", "L'")
    return text.strip(" '.,-")
