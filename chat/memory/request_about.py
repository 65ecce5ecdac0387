"""Finds what a classified request is about, in the user's words.

A request stands before what it is about ("make sure you keep it in mind that I …"), after it ("my age, remove
it"), or alone ("don't keep that").
"""

from __future__ import annotations

import re

from .request_features import CLAUSE_END, Suspect, load_patterns
from .text_similarity import extract_content_stems

# Whose words make the request, by its kind.
_TRIGGERS = {
    "remember": ("keep",),
    "forget": ("forget", "keep"),
    "wrong": ("wrong",),
    "keep-out": ("keep", "private"),
}
_BREAK = re.compile(rf"{CLAUSE_END.pattern}|\s(?=(?:but|aber|mais|pero|ma|mas)\s)|(?<=[一-鿿])(?=但)")
_EDGES = " \t\n,，;；:：.。…!！?？()（）–—-\"'"
_HAN = re.compile(r"[\u3400-\u9fff]")


def find_about(kind: str, suspect: Suspect) -> str:
    """Return what a suspect of this kind is about, "" if that is what was said beside it."""
    text = suspect.text
    start, end = _find_trigger(kind, suspect)
    left = max((m.end() for m in _BREAK.finditer(text, 0, start)), default=0)
    right = next((m.start() for m in _BREAK.finditer(text, end)), len(text))
    before, inside, after = text[:left], text[end:right], text[right:]
    if kind == "forget":
        return _find_forgotten(text[:start], inside, after)
    others = [clause for clause in (after, before) if _is_content(clause, kind)]
    if kind == "wrong":
        return text.strip(_EDGES) if others or load_patterns()["i"].search(inside) else ""
    inner = _after_connector(inside)
    if kind == "remember":
        inner = _keep_if_content(inner, kind) or _from_first_person(inside)
    if inner:
        # What follows belongs to it: "keep that my birthday is near, on 3 October".
        return text[text.index(inner, end) :].strip(_EDGES)
    return _after_connector(others[0], at_start=True) or others[0].strip(_EDGES) if others else ""


def addresses_assistant(said: str) -> bool:
    """Return whether a text has a word for the assistant."""
    return load_patterns()["you"].search(said) is not None


def _find_forgotten(before: str, inside: str, after: str) -> str:
    """Return what is to be forgotten; `before` reaches up to the trigger, the other two are behind it."""
    for clause in (inside, after):
        if said := _narrow(_after_connector(clause)):
            return said
    if said := _from_first_person(inside):
        return said
    clauses = [clause for clause in reversed(_BREAK.split(before)) if clause and clause.strip()]
    for clause in clauses:
        connected = _after_connector(clause)
        if said := _from_first_person(connected or clause, last=True) or connected:
            return said
    if said := _from_first_person(after):
        return said
    # "the note about Marco": a thing that is not called the user's
    named = [clause.strip(_EDGES) for clause in (inside, *clauses) if _has_content_words(clause)]
    return named[0] if named else ""


def _find_trigger(kind: str, suspect: Suspect) -> tuple[int, int]:
    for topic in _TRIGGERS[kind]:
        for start, end, found in suspect.triggers:
            if found == topic:
                return start, end
    return suspect.start, suspect.end


def _after_connector(clause: str, *, at_start: bool = False) -> str:
    """Return what follows a "that" of a clause, "" if at least two words do not."""
    pattern = load_patterns()["that"]
    match = pattern.match(clause.lstrip(_EDGES)) if at_start else pattern.search(clause)
    # "That's me" has no clause behind its "that".
    if match is None or match.string[match.end() :].startswith(("'", "’")):
        return ""
    rest = match.string[match.end() :].strip(_EDGES)
    return rest if len(rest.split()) > 1 else ""


def _from_first_person(clause: str, *, last: bool = False) -> str:
    """Return a clause from its first or last first-person word on, up to a word for the assistant.

    "what I told you about my boss" gives "my boss", "where I live" itself.
    """
    patterns = load_patterns()
    found = [match.start() for match in patterns["i"].finditer(clause)]
    if not found:
        return ""
    asked = patterns["how"].search(clause, 0, found[0])
    start = found[-1 if last or asked else 0]
    said = clause[asked.start() if asked and len(found) == 1 else start :].strip(_EDGES)
    addressed = patterns["you"].search(said, 1)
    if addressed is not None:
        said = said[: addressed.start()].strip(_EDGES)
        # The word before belongs to it: "my address | from your memory", "meinen Chef | darfst du".
        said = said.rpartition(" ")[0] if len(said.split()) > 2 else said
    return said if len(said.split()) > 1 or _HAN.search(said) else ""


def _narrow(said: str) -> str:
    """Return what the assistant is said to know of ("dass du mein Gewicht weißt"), else the same."""
    patterns = load_patterns()
    own, addressed = patterns["i"].search(said), patterns["you"].search(said)
    if own is None or addressed is None or own.start() < addressed.start():
        return said
    return _from_first_person(said[own.start() :]) or said


def _is_content(clause: str, kind: str) -> bool:
    """Return whether a clause says something beside the request: two words, no trigger, no "would you"."""
    said = clause.strip(_EDGES)
    patterns = load_patterns()
    words = len(_HAN.findall(said)) // 2 if _HAN.search(said) else len(said.split())
    if words <= 3 and patterns["you"].search(said) and not patterns["i"].search(said):
        return False
    return words >= 2 and not any(patterns[topic].search(said) for topic in _TRIGGERS[kind])


def _keep_if_content(said: str, kind: str) -> str:
    """Return what follows a "that" if it has a first-person word or is a longer clause of its own."""
    is_own = load_patterns()["i"].search(said) is not None
    return said if is_own or (len(said.split()) > 2 and _is_content(said, kind)) else ""


def _has_content_words(clause: str) -> bool:
    patterns = load_patterns()
    for name in ("keep", "forget", "you", "i"):
        clause = patterns[name].sub(" ", clause)
    return bool(extract_content_stems(clause))
