"""Facts in the user's own words, between quotation marks, where the model's reading is not reliable.

Of 604 notes that the default model wrote about hard sentences, readers found 58 % true: 81 % where the
sentence is short and begins in the first person, 55 % of the others. The classifier of sentences knows which
of them state a fact, so those sentences are kept as they were written.
"""

from __future__ import annotations

from datetime import date

from chat.memory import clauses, speech_acts
from chat.memory.candidates import FactCandidate, is_duplicate
from chat.memory.date_language import find_date_language
from chat.memory.dates import has_relative_date
from chat.memory.fact_dates import date_fact
from chat.memory.formatting import format_own_words
from chat.memory.kind_rules import guess_kind
from chat.memory.kinds import KINDS
from chat.memory.mask import count_words
from chat.memory.secrets import contains_secret
from chat.memory.subjects import extract_subject

# Words. The notes about longer sentences mix up what belongs to what.
_MAX_READ = 12
# Words. A shorter sentence is seldom understood without those around it.
_MIN_QUOTED = 4
# Characters of the text of a fact, and of the user's words in it.
_MAX_CHARACTERS, _MAX_QUOTED = 300, 270
# Log-odds. A clause is cut off where the rest is so much likelier to state a fact.
_MIN_GAIN = 0.3
# Log-odds. Of the labelled questions above it 98 % state a fact, of those above 0 86 %.
_MIN_SCORE_OF_QUESTION = 0.6
_PUNCTUATION = " \t\n.,;:!。！，；"


def is_read_reliably(sentence: str) -> bool:
    """Return whether the model's note about a sentence is kept, and not the sentence itself.

    The model reads short sentences that begin in the first person well. It also reads the wishes how to
    answer that the classifier does not recognise. Without weights for the embedder nothing else tells which
    sentences state a fact, so the model reads all.
    """
    score = clauses.score(sentence)
    if score is None or (speech_acts.is_standing_request(sentence) and not clauses.states_fact(sentence)):
        return True
    start, end = clauses.find_sentence_spans(sentence)[0]
    first = sentence[start:end]
    beginning = " ".join(first.replace(",", " ").split()[:2])
    return speech_acts.is_first_person(beginning) and count_words(first) <= _MAX_READ


def quote_sentence(
    sentence: str, language: str, today: date | None, redacting: bool, known: list[FactCandidate]
) -> FactCandidate | None:
    """Return a sentence as a candidate in the user's own words; None where it cannot stand by itself.

    `today` is the user's local date of the message, None where it is unknown; `known` are the candidates of
    the message so far.
    """
    said = _trim_to_statement(sentence).strip(_PUNCTUATION)
    if (
        count_words(said) < _MIN_QUOTED
        or len(said) > _MAX_QUOTED
        or not clauses.states_fact(said)
        or (speech_acts.starts_like_question(said) and _score(said) < _MIN_SCORE_OF_QUESTION)
        or (redacting and contains_secret(said))
    ):
        return None
    clearest = max(_split(said), key=_score)
    kind = guess_kind(format_own_words(clearest, _MAX_CHARACTERS))
    dated = date_fact(said, kind, today)
    if dated is None or is_duplicate(said, kind, known):
        return None
    return FactCandidate(
        text=format_own_words(said, _MAX_CHARACTERS, _format_day(said, today)),
        kind=kind,
        category=KINDS[kind].category,
        subject=extract_subject(kind, said),
        hedged=False,
        quote=sentence,
        language=language,
        in_own_words=True,
        dates=dated.dates,
    )


def _format_day(said: str, today: date | None) -> str:
    """Return the day on which a sentence was written, if it has a date that depends on it, else ""."""
    if today is None or not has_relative_date(said):
        return ""
    return find_date_language(said).write("day", today, bare=True)


def _trim_to_statement(sentence: str) -> str:
    """Return a sentence without the clauses at its ends that make a fact less likely: "a day trip for Sunday,
    and I've sold my car" asks for something first.
    """
    parts = _split(sentence)
    if not parts:
        return sentence
    while len(parts) > 1:
        shorter = max((parts[1:], parts[:-1]), key=lambda kept: _score(_cut(sentence, kept)))
        cut = parts[0] if shorter[0] != parts[0] else parts[-1]
        least = _MIN_GAIN if not speech_acts.find_refusal_reason(cut) else 0.0
        if _score(_cut(sentence, shorter)) < _score(_cut(sentence, parts)) + least:
            break
        parts = shorter
    return _cut(sentence, parts)


def _split(text: str) -> list[str]:
    """Return the clauses of all sentences of a text; each is a substring of it."""
    spans = clauses.find_sentence_spans(text)
    return [clause for start, end in spans for clause in clauses.split_clauses(text[start:end])]


def _cut(sentence: str, kept: list[str]) -> str:
    """Return the part of a sentence from the first to the last of its clauses that are `kept`."""
    start = sentence.rfind(kept[0]) if len(kept) == 1 else sentence.find(kept[0])
    return sentence[start : sentence.rfind(kept[-1]) + len(kept[-1])]


def _score(text: str) -> float:
    return clauses.score(text) or 0.0
