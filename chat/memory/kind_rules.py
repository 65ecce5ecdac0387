"""Determines the kind of a fact: by the classifier, and without an embedder by its words.

The default model, corrected by the words, chooses right in six of ten cases, the classifier in seven to
eight.
"""

from __future__ import annotations

import re

from chat.llm.registry import registry
from chat.memory.formatting import extract_own_words
from chat.memory.kind_classifier import classify_kind
from chat.memory.kind_patterns import PATTERNS
from chat.memory.kinds import KINDS
from chat.memory.normalize import normalize_sentence

# Kinds that the rules recognise more reliably than the model: they override the model's choice.
_RELIABLE_KINDS = frozenset(
    {
        "reply_language",
        "units",
        "reply_style",
        "name",
        "age",
        "health",
        "diet",
        "deadline",
        "family",
        "learning",
    }
)

# Kinds whose rules look for a word anywhere in the sentence; the word may also be the topic of an activity.
_TOPIC_KINDS = frozenset({"health", "diet"})
# Kinds of what the user does; such an activity may be about a health condition or a diet.
_ACTIVITY_KINDS = frozenset({"building", "learning", "goal", "tools", "job", "employer"})

FALLBACK_KIND = "event"
# Kinds with one value that the model chooses too easily: "User's app is called Rainbook" as `name` would
# replace the user's name. Without a matching rule they become the kind on the right.
_REPLACED_WITHOUT_RULE = {"name": FALLBACK_KIND, "age": FALLBACK_KIND, "relationship": "family"}

_PLACE_KINDS = frozenset({"home", "employer"})


# "User is coeliac", "O usuário é…", but not "User is enjoying …": a sentence of this form is no preference.
_IS_OR_HAS = re.compile(
    r"^(?:user|nutzer\w*|l'utilisat\w+|el usuario|la usuaria|l'utente|o usuário|a usuária) "
    r"(?:is|has|ist|hat|est|a|es|tiene|è|ha|é|tem) (?!\w+(?:ing|ando|endo|iendo|indo)\b)",
    re.I,
)


def guess_kind(text: str) -> str:
    """Return the kind by the classifier; without it that of the first matching rule, else FALLBACK_KIND.

    A kind with one value needs the rule, too; a fact in the user's own words never has one.
    """
    if extract_own_words(text):
        return classify_kind(text, registry.embedder()) or FALLBACK_KIND
    by_rule, found = match_first_rule(text), _classify(text)
    if not found or (KINDS[found].single and found != by_rule):
        return by_rule or FALLBACK_KIND
    return found


def settle_kind(proposed: str, text: str) -> str:
    """Return the kind by the classifier; without it, or where it is less sure, as `settle_kind_by_words`.

    A kind with one value replaces the value before, so two of the classifier, the model and the rules must
    agree to it.
    """
    if extract_own_words(text):
        return guess_kind(text)
    found, by_rule = _classify(text), match_first_rule(text)
    if proposed == by_rule and KINDS[proposed].single:
        return proposed
    if not found or (KINDS[found].single and found not in (proposed, by_rule)):
        return settle_kind_by_words(proposed, text)
    return found


def settle_kind_by_words(proposed: str, text: str) -> str:
    """Return the kind that the model proposed if a rule confirms it, else the kind of the first rule."""
    by_rule = match_first_rule(text)
    if by_rule == proposed:
        return proposed
    if not by_rule and proposed in ("likes", "dislikes") and _IS_OR_HAS.search(text):
        return FALLBACK_KIND
    if not by_rule and text.startswith("User") and proposed in _PLACE_KINDS:
        # "User is not going back" must not replace the employer. Only English: the rules of the other
        # languages miss too many homes and employers.
        return FALLBACK_KIND
    if not by_rule:
        return _REPLACED_WITHOUT_RULE.get(proposed, proposed)
    if proposed == FALLBACK_KIND:
        # The rule for events matches any date, so it would confirm the model too easily.
        return by_rule
    if (proposed, by_rule) == ("likes", "dislikes"):
        return by_rule  # the rule for likes matches the "like" of "doesn't like"
    is_confirmed = any(kind == proposed and pattern.search(text) for kind, pattern in PATTERNS)
    if proposed in _TOPIC_KINDS and by_rule in _ACTIVITY_KINDS:
        return by_rule
    return proposed if is_confirmed and by_rule not in _RELIABLE_KINDS else by_rule


def _classify(text: str) -> str:
    # The classifier expects "User is …"; facts that the user types may begin with "I'm …" or "My …".
    return classify_kind(normalize_sentence(text, text), registry.embedder())


def match_first_rule(text: str) -> str:
    """Return the kind of the first rule whose pattern matches, "" if none matches.

    A condition or a diet after the verb of an activity is what the activity is about: "User is building
    Selene for ADHD management" is of the kind `building`.
    """
    # The rules expect "User is …"; facts that the user types may begin with "I'm …" or "My …".
    text = normalize_sentence(text, text)
    matches = ((kind, match) for kind, pattern in PATTERNS if (match := pattern.search(text)))
    first, found = next(matches, ("", None))
    if found is None or first not in _TOPIC_KINDS:
        return first
    return next(
        (kind for kind, match in matches if kind in _ACTIVITY_KINDS and match.end() <= found.start()), first
    )
