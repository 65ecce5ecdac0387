"""Clean noun phrases out of a sentence: short names of things, never half a sentence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from chat.memory.words import MONTHS_AND_DAYS

from .lexicon import Tongue
from .lexicon_germanic import ENGLISH, GERMAN
from .lexicon_iberian import PORTUGUESE, SPANISH
from .lexicon_romance import FRENCH, ITALIAN
from .tie import MAX_NAME

TONGUES: dict[str, Tongue] = {t.code: t for t in (ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE)}

# More words than this are a clause, not a name.
_MAX_WORDS = 4
_WORD = re.compile(r"(?:St|Dr|Mr|Mrs|Ms|Prof)\.|[^\W_][\w'.+#/&-]*[\w+#]|[^\W_][+#]*|[,;:()]|['’]\w+")
_ELISION = re.compile(r"^((?:l|d|n|j|qu|s|m|t|c|un|dell|all|nell|sull|dall)')(?=\w)", re.I)

Words = Sequence[str]


def split_words(text: str, tongue: Tongue) -> list[str]:
    """Return the words as written, commas among them; French and Italian elisions are words of their own."""
    found: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFC", text)):
        elided = _ELISION.match(word) if tongue.code in ("fr", "it") else None
        if elided and word.casefold() not in tongue.called:
            found += [elided[1], word[elided.end() :]]
        else:
            found.append(word)
    return found


def is_proper(word: str) -> bool:
    """Tell whether a word is written as a name; months and days are not."""
    return any(c.isupper() for c in word) and word.casefold().removesuffix("s") not in MONTHS_AND_DAYS


def run_at(tokens: Words, start: int, tongue: Tongue, *, person: bool = False) -> int:
    """Return where the name that begins at `start` ends: "Cape Town", "Rio de Janeiro", "Fusion 360".

    A person may be called Jan or May.
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
        while bridge < len(tokens) and tokens[bridge].casefold() in tongue.inner:
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


def names_in(tokens: Words, tongue: Tongue, skip_first: bool = False) -> list[str]:
    """Return the names in a sentence, in order."""
    found, i = [], 1 if skip_first else 0
    while i < len(tokens):
        end = run_at(tokens, i, tongue)
        if end > i:
            found.append(join(tokens[i:end]))
        i = max(end, i + 1)
    return found


def name_after(
    tokens: Words, markers: frozenset[str], tongue: Tongue, articles: bool = True
) -> tuple[str, int] | None:
    """Return the first name that follows one of the markers, and where it ends: "in Oslo", "in the Alps"."""
    for i, token in enumerate(tokens):
        if token.casefold() not in markers:
            continue
        at = i + 1
        while articles and at < len(tokens) and _is_article(tokens[at], tongue):
            at += 1
        end = run_at(tokens, at, tongue)
        if end > at:
            return join(tokens[at:end]), end
    return None


def _is_article(word: str, tongue: Tongue) -> bool:
    folded = word.casefold()
    return (
        word.islower()
        and (folded in tongue.determiners or folded in tongue.inner)
        and folded not in tongue.indefinite
    )


def after_verb(tokens: Words, tongue: Tongue, *groups: str) -> list[str] | None:
    """Return what follows the verb of a kind, or None where the sentence has no such verb."""
    verbs = frozenset[str]().union(*(tongue.verbs.get(group, frozenset()) for group in groups))
    passed = verbs | tongue.fillers | tongue.copula
    for i, token in enumerate(tokens[:7]):
        if token.casefold() in verbs and len(token) > 2:
            at = i + 1
            while at < len(tokens) and tokens[at].casefold() in passed | tongue.determiners:
                at += 1
            return list(tokens[at:])
    return None


def objects(tokens: Words, tongue: Tongue) -> list[str]:
    """Return the things that a list names: "jazz, old westerns and tea"."""
    found: list[str] = []
    segment: list[str] = []
    ended = False
    for word in [*tokens, ","]:
        joined = word.casefold() in tongue.joins
        if not joined and word not in ",;:()":
            segment.append(word)
            continue
        name, was_cut = phrase(segment, tongue)
        broken = any(w.casefold() in tongue.breaks for w in segment)
        if name and not ended and name not in found:
            found.append(name)
        # "music of the sixties at home and …": what "and" joins on to after a cut is anybody's guess.
        ended = ended or broken or (not name and bool(segment)) or (was_cut and joined)
        segment = []
    return found


def phrase(tokens: Words, tongue: Tongue) -> tuple[str, bool]:
    """Return the noun phrase at the head of the words, "" where there is none, and whether more followed."""
    at = 0
    while at < len(tokens) and _is_head(tokens[at], tongue):
        at += 1
    words = list(tokens[at:])
    if not words or words[0].casefold() in tongue.empty:
        return "", False
    end = _phrase_end(words, tongue)
    kept, was_cut = words[:end], end < len(words)
    if tongue.code == "de":
        kept = _german(kept)
    while kept and kept[-1].casefold() in tongue.cut | tongue.determiners:
        kept.pop()
    if not kept or (
        kept[0].casefold() in tongue.all_verbs and len(kept) > 1 and not was_cut and len(kept) > 3
    ):
        return "", was_cut
    name = join(kept)
    if sum(w.casefold() not in tongue.inner for w in kept) > _MAX_WORDS or len(name) > MAX_NAME:
        proper = names_in(kept, tongue) if tongue.code != "de" else []
        name = proper[0] if proper else ""
    return ("" if name.casefold() in tongue.empty or name.isdigit() else name), was_cut


def _is_head(word: str, tongue: Tongue) -> bool:
    return not is_proper(word) and word.casefold() in tongue.determiners | tongue.indefinite


def _phrase_end(words: Words, tongue: Tongue) -> int:
    """Return where a phrase ends: at a little word, unless it holds a name or a compound together."""
    for i, word in enumerate(words):
        folded = word.casefold()
        if is_proper(word):
            continue
        if folded in MONTHS_AND_DAYS | tongue.called | tongue.breaks | tongue.joins or word in ",;:()":
            return i
        if folded in tongue.inner and i and i + 1 < len(words):
            inside = folded not in tongue.cut or (is_proper(words[i - 1]) and is_proper(words[i + 1]))
            if inside:
                continue
        if folded in tongue.cut and (i or folded not in tongue.determiners):
            return i
    return len(words)


def _german(words: list[str]) -> list[str]:
    """Return a German phrase up to its last noun: nouns have capitals, what follows them is a verb."""
    nouns = [i for i, word in enumerate(words) if any(c.isupper() for c in word)]
    if not nouns:
        return []
    end = nouns[0] + 1
    while end < len(words) and end in nouns:
        end += 1
    return words[:end]


def join(words: Words) -> str:
    """Return words as one name."""
    text = " ".join(words).replace("l' ", "l'").replace("d' ", "d'").replace("L' ", "L'")
    return text.strip(" '.,-")
