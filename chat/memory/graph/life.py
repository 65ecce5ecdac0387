"""Ties of who the owner is: where from and where at, at work, in health, on the way."""

from __future__ import annotations

from .known import TOOLS, type_of
from .lexicon import Tongue, words
from .owner import Sentence
from .phrases import TONGUES, after_verb, is_proper, join, name_after, names_in, objects, phrase, run_at
from .tie import Thing, Tie, TypeName

_AT = words("at bei chez presso")
# Before or after what one is allergic to: "a peanut allergy", "lactose intolerant".
_ALLERGY = words("allergy allergies intolerant intolerance")
# Adjectives that stand where a profession would.
_NO_PROFESSION = words(
    "retired unemployed retraité retraitée jubilado jubilada pensionato pensionata aposentado aposentada "
    "célibataire marié mariée casado casada sposato sposata soltero soltera solteiro solteira arbeitslos "
    "étudiant étudiante studente studentessa estudiante estudante student"
)


def home(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Lives in Porto, Portugal", "lives near Toledo", "moved from Lima to Quito"."""
    tongue = TONGUES[sentence.language]
    lived = next((i for i, t in enumerate(tokens) if t.casefold() in tongue.verbs["lived"]), None)
    if lived == 0 or (lived is not None and tongue.code != "en"):
        return _left(tokens, tongue)
    # "Has lived in Quito since 2020" is where they live; in the other languages the perfect is over.
    found = _left(tokens, tongue) if lived is None else []
    place = _place(tokens, tongue)
    near = name_after(tokens, tongue.near | _with_of(tongue), tongue) if _says_near(tokens, tongue) else None
    if place is not None and (near is None or place[1] < near[1]):
        name, end = place
        found.append(Tie("lives_in", Thing(name, "place")))
        found += _wider(tokens, end, Thing(name, "place"), tongue)
    elif near is not None:
        found.append(Tie("lives_near", Thing(near[0], "place")))
    return found


def _place(tokens: list[str], tongue: Tongue) -> tuple[str, int] | None:
    """Return the place after "in"; in German, where every noun has a capital, best one without an article."""
    if tongue.code == "de":
        bare = name_after(tokens, tongue.place, tongue, articles=False)
        if bare is not None:
            return bare
    return name_after(tokens, tongue.place, tongue)


def _says_near(tokens: list[str], tongue: Tongue) -> bool:
    return any(t.casefold() in tongue.near for t in tokens)


def _with_of(tongue: Tongue) -> frozenset[str]:
    """Return the words that follow "near" in "près de", "vicino a"."""
    return {
        "fr": frozenset({"de", "d'", "du"}),
        "es": frozenset({"de"}),
        "it": frozenset({"a", "ad"}),
        "pt": frozenset({"de", "do"}),
    }.get(tongue.code, frozenset())


def _wider(tokens: list[str], end: int, place: Thing, tongue: Tongue) -> list[Tie]:
    """Return the country that a place's comma leads to."""
    if end + 1 < len(tokens) and tokens[end] == ",":
        stop = run_at(tokens, end + 1, tongue)
        if stop > end + 1:
            return [Tie("located_in", Thing(join(tokens[end + 1 : stop]), "place"), place)]
    return []


def _left(tokens: list[str], tongue: Tongue) -> list[Tie]:
    if after_verb(tokens, tongue, "lived") is not None:
        left = _place(tokens, tongue)
    elif after_verb(tokens, tongue, "moved") is not None:
        left = name_after(tokens, tongue.from_, tongue)
    else:
        return []
    return [Tie("lived_in", Thing(left[0], "place"))] if left else []


def origin(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Comes from Ghana", "grew up in Rio de Janeiro"."""
    tongue = TONGUES[sentence.language]
    place = name_after(tokens, tongue.from_ | tongue.place, tongue)
    return [Tie("comes_from", Thing(place[0], "place"))] if place else []


def employer(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Works at Nordic Wind as a turbine engineer", "works at a bakery in Leeds"."""
    tongue = TONGUES[sentence.language]
    found = workplace(tokens, tongue)
    return [*found, *_works_as(tokens, tongue)]


def workplace(tokens: list[str], tongue: Tongue, source: Thing | None = None) -> list[Tie]:
    """Return where somebody works: a name, with the noun it belongs to, or a plain noun and its town."""
    start = next((i for i in range(len(tokens)) if _is_at(tokens, i, tongue)), None)
    if start is None:
        return []
    rest = _until_as(tokens[start + 1 :], tongue)
    while rest and rest[0].casefold() in tongue.determiners:
        rest = rest[1:]
    head = next((i for i, t in enumerate(rest) if is_proper(t)), None)
    stop = next((i for i, t in enumerate(rest) if t.casefold() in tongue.cut - tongue.inner), len(rest))
    if head is not None and head <= stop and (tongue.code != "de" or head < stop or head == 0):
        name = _with_its_nouns(rest, head, tongue)
        if type_of(name) != "place":
            return [Tie("works_at", Thing(name, "organisation"), source)]
    name, _ = phrase(rest, tongue)
    if not name:
        return []
    place = Thing(name, "organisation")
    town = None if _says_near(rest, tongue) else name_after(rest, tongue.place, tongue, articles=False)
    return [
        Tie("works_at", place, source),
        *([Tie("located_in", Thing(town[0], "place"), place)] if town else []),
    ]


def _with_its_nouns(rest: list[str], head: int, tongue: Tongue) -> str:
    """Return a name with the nouns around it: "hôpital Saint-Louis", "St. Olav's hospital"."""
    little = tongue.cut | tongue.inner | tongue.determiners | tongue.joins
    start, end = head, run_at(rest, head, tongue)
    while start and rest[start - 1].isalpha() and rest[start - 1].casefold() not in little:
        start -= 1
    while end < len(rest) and rest[end].isalpha() and rest[end].casefold() not in little:
        end += 1
    return join(rest[start:end])


def _is_at(tokens: list[str], i: int, tongue: Tongue) -> bool:
    """Tell whether a workplace follows; in German "in" is one only before "a": "in Teilzeit" is none."""
    word = tokens[i].casefold()
    if tongue.code == "de" and word in {"in", "an"}:
        return i + 1 < len(tokens) and tokens[i + 1].casefold() in tongue.indefinite
    return word in tongue.at


def _until_as(tokens: list[str], tongue: Tongue) -> list[str]:
    return tokens[: next((i for i, t in enumerate(tokens) if t.casefold() in tongue.as_), len(tokens))]


def _works_as(tokens: list[str], tongue: Tongue) -> list[Tie]:
    at = next((i for i, t in enumerate(tokens) if t.casefold() in tongue.as_), None)
    name = phrase(tokens[at + 1 :], tongue)[0] if at is not None else ""
    return _profession(name)


def _profession(name: str) -> list[Tie]:
    if not name or name.casefold() in _NO_PROFESSION:
        return []
    tools = [Tie("uses", Thing(word, "tool")) for word in name.split() if word in TOOLS and word != name]
    return [Tie("works_as", Thing(name, "concept")), *tools]


def job(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Is a React developer", "works as a night guard", "studies law", "leads a team at Maersk"."""
    tongue = TONGUES[sentence.language]
    studied = after_verb(tokens, tongue, "studies")
    if studied is not None:
        return _studies(studied, tongue)
    if any(t.casefold() in tongue.as_ for t in tokens):
        return _works_as(tokens, tongue)
    if tokens and tokens[0].casefold() in tongue.copula | {"fa"}:
        return _is_a(tokens[1:], tongue)
    at = name_after(tokens, tongue.at - tongue.place | {"at"}, tongue)
    return [Tie("works_at", Thing(at[0], "organisation"))] if at else []


def _is_a(rest: list[str], tongue: Tongue) -> list[Tie]:
    while rest and rest[0].casefold() in tongue.fillers - tongue.indefinite:
        rest = rest[1:]
    # "Is retired" is no profession, nor "est à la retraite"; other languages name one without an article.
    if (
        not rest
        or rest[0].casefold() in tongue.place
        or (tongue.code == "en" and rest[0].casefold() not in tongue.determiners)
    ):
        return []
    found = _profession(phrase(rest, tongue)[0])
    where = name_after(rest, _AT, tongue)
    return [*found, Tie("works_at", Thing(where[0], "organisation"))] if found and where else found


def _studies(rest: list[str], tongue: Tongue) -> list[Tie]:
    found: list[Tie] = []
    if rest and rest[0].casefold() not in tongue.cut:
        subject, _ = phrase(rest, tongue)
        found += [Tie("studies", Thing(subject, "concept"))] if subject and not is_proper(subject) else []
        if tongue.code == "de" and subject:
            found = [Tie("studies", Thing(subject, "concept"))]
    school = name_after(rest, tongue.at | frozenset({"an", "à", "na", "all'", "all"}), tongue)
    if school and not found:
        found.append(Tie("studies_at", Thing(school[0], "organisation")))
    return found


def health(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Is allergic to penicillin", "takes insulin", "has asthma"."""
    tongue = TONGUES[sentence.language]
    at = next((i for i, t in enumerate(tokens) if t.casefold() in _ALLERGY), 0)
    if at and tokens[at - 1].casefold() not in tongue.determiners | tongue.fillers:
        return _each("allergic_to", [tokens[at - 1]])
    for relation, group in (("allergic_to", "allergic"), ("takes", "takes"), ("has_condition", "condition")):
        rest = after_verb(tokens, tongue, group)
        if rest is not None and sentence.by_owner:
            return _each(relation, objects(rest, tongue))
    aids = after_verb(tokens, tongue, "tools") if sentence.by_owner else None
    return _each("uses", objects(aids or [], tongue), "tool")


def language(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Speaks Danish, English and some Polish"."""
    tongue = TONGUES[sentence.language]
    rest = after_verb(tokens, tongue, "language")
    return _each("speaks", objects(rest, tongue)) if rest else []


def event(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Is flying to Japan", "moved from Lima to Quito", "the wedding is in Tuscany"."""
    tongue = TONGUES[sentence.language]
    if moved := _left(tokens, tongue):
        return moved
    if sentence.by_owner and after_verb(tokens, tongue, "travel") is not None:
        goal = name_after(tokens, tongue.to | tongue.place, tongue)
        if goal is None and tongue.code != "de":
            goal = next(((name, 0) for name in names_in(tokens, tongue)), None)
        return [Tie("visits", Thing(goal[0], "place"))] if goal else []
    where = _place(tokens, tongue) if tongue.code != "de" else None
    return [Tie("related_to", Thing(where[0], "place"))] if where else []


def _each(relation: str, names: list[str], type_: TypeName = "concept") -> list[Tie]:
    return [Tie(relation, Thing(name, type_)) for name in names]
