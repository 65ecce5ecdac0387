"""Extracts relations of identity facts: home, origin, work, studies, health, languages, travel."""

from __future__ import annotations

from .lexicon import Lexicon, parse_words
from .phrases import (
    LEXICONS,
    find_name_after,
    find_name_end,
    find_names,
    is_proper,
    join_words,
    split_objects,
    take_after_verb,
    take_noun_phrase,
)
from .subject import FactPredicate
from .types import EntityMention, EntityType, Relation
from .well_known_names import TOOLS, classify_name

# Prepositions before the workplace in "is a nurse at …".
_AT = parse_words("at bei chez presso")
# The word before these is the allergen: "a peanut allergy", "lactose intolerant".
_ALLERGY = parse_words("allergy allergies intolerant intolerance")
# Words after "is" that are no profession.
_NO_PROFESSION = parse_words(
    "retired unemployed retraité retraitée jubilado jubilada pensionato pensionata aposentado aposentada "
    "célibataire marié mariée casado casada sposato sposata soltero soltera solteiro solteira arbeitslos "
    "étudiant étudiante studente studentessa estudiante estudante student"
)


def extract_home(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "lives in Porto, Portugal", "lives near Toledo", "moved from Lima to Quito"."""
    lexicon = LEXICONS[predicate.language]
    lived = next((i for i, t in enumerate(tokens) if t.casefold() in lexicon.verbs["lived"]), None)
    if lived == 0 or (lived is not None and lexicon.code != "en"):
        return _extract_former_home(tokens, lexicon)
    # "Has lived in Quito since 2020" is a present home; in the other languages the past form is a former one.
    found = _extract_former_home(tokens, lexicon) if lived is None else []
    place = _find_place(tokens, lexicon)
    near = (
        find_name_after(tokens, lexicon.near | _get_near_prepositions(lexicon), lexicon)
        if _has_near_word(tokens, lexicon)
        else None
    )
    if place is not None and (near is None or place[1] < near[1]):
        name, end = place
        found.append(Relation("lives_in", EntityMention(name, "place")))
        found += _extract_country(tokens, end, EntityMention(name, "place"), lexicon)
    elif near is not None:
        found.append(Relation("lives_near", EntityMention(near[0], "place")))
    return found


def _find_place(tokens: list[str], lexicon: Lexicon) -> tuple[str, int] | None:
    """Return the place after "in" and the index after it.

    In German a name without an article is preferred, because all nouns are capitalised.
    """
    if lexicon.code == "de":
        bare = find_name_after(tokens, lexicon.place, lexicon, articles=False)
        if bare is not None:
            return bare
    return find_name_after(tokens, lexicon.place, lexicon)


def _has_near_word(tokens: list[str], lexicon: Lexicon) -> bool:
    return any(t.casefold() in lexicon.near for t in tokens)


def _get_near_prepositions(lexicon: Lexicon) -> frozenset[str]:
    """Return the words that follow "near" in "près de", "vicino a"."""
    return {
        "fr": frozenset({"de", "d'", "du"}),
        "es": frozenset({"de"}),
        "it": frozenset({"a", "ad"}),
        "pt": frozenset({"de", "do"}),
    }.get(lexicon.code, frozenset())


def _extract_country(tokens: list[str], end: int, place: EntityMention, lexicon: Lexicon) -> list[Relation]:
    """Return the relation of a place to the country after its comma: "Porto, Portugal"."""
    if end + 1 < len(tokens) and tokens[end] == ",":
        stop = find_name_end(tokens, end + 1, lexicon)
        if stop > end + 1:
            return [Relation("located_in", EntityMention(join_words(tokens[end + 1 : stop]), "place"), place)]
    return []


def _extract_former_home(tokens: list[str], lexicon: Lexicon) -> list[Relation]:
    if take_after_verb(tokens, lexicon, "lived") is not None:
        place = _find_place(tokens, lexicon)
    elif take_after_verb(tokens, lexicon, "moved") is not None:
        place = find_name_after(tokens, lexicon.from_, lexicon)
    else:
        return []
    return [Relation("lived_in", EntityMention(place[0], "place"))] if place else []


def extract_origin(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract the relation from "comes from Ghana", "grew up in Rio de Janeiro"."""
    lexicon = LEXICONS[predicate.language]
    place = find_name_after(tokens, lexicon.from_ | lexicon.place, lexicon)
    return [Relation("comes_from", EntityMention(place[0], "place"))] if place else []


def extract_employer(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "works at Nordic Wind as a turbine engineer", "works at a bakery in Leeds"."""
    lexicon = LEXICONS[predicate.language]
    found = extract_workplace(tokens, lexicon)
    return [*found, *_extract_works_as(tokens, lexicon)]


def extract_workplace(
    tokens: list[str], lexicon: Lexicon, source: EntityMention | None = None
) -> list[Relation]:
    """Return the workplace of `source` (None is the owner), and the town if the workplace has no name."""
    start = next((i for i in range(len(tokens)) if _is_at(tokens, i, lexicon)), None)
    if start is None:
        return []
    rest = _take_until_as(tokens[start + 1 :], lexicon)
    while rest and rest[0].casefold() in lexicon.determiners:
        rest = rest[1:]
    head = next((i for i, t in enumerate(rest) if is_proper(t)), None)
    stop = next((i for i, t in enumerate(rest) if t.casefold() in lexicon.cut - lexicon.inner), len(rest))
    if head is not None and head <= stop and (lexicon.code != "de" or head < stop or head == 0):
        name = _extend_name(rest, head, lexicon)
        if classify_name(name) != "place":
            return [Relation("works_at", EntityMention(name, "organisation"), source)]
    name, _ = take_noun_phrase(rest, lexicon)
    if not name:
        return []
    place = EntityMention(name, "organisation")
    town = (
        None
        if _has_near_word(rest, lexicon)
        else find_name_after(rest, lexicon.place, lexicon, articles=False)
    )
    return [
        Relation("works_at", place, source),
        *([Relation("located_in", EntityMention(town[0], "place"), place)] if town else []),
    ]


def _extend_name(rest: list[str], head: int, lexicon: Lexicon) -> str:
    """Return the name at index `head` with the nouns around it: "hôpital Saint-Louis", "Olav's hospital"."""
    function_words = lexicon.cut | lexicon.inner | lexicon.determiners | lexicon.joins
    start, end = head, find_name_end(rest, head, lexicon)
    while start and rest[start - 1].isalpha() and rest[start - 1].casefold() not in function_words:
        start -= 1
    while end < len(rest) and rest[end].isalpha() and rest[end].casefold() not in function_words:
        end += 1
    return join_words(rest[start:end])


def _is_at(tokens: list[str], i: int, lexicon: Lexicon) -> bool:
    """Return whether a workplace follows the word at index `i`.

    The German "in" counts only before an indefinite article, because "in Teilzeit" is no workplace.
    """
    word = tokens[i].casefold()
    if lexicon.code == "de" and word in {"in", "an"}:
        return i + 1 < len(tokens) and tokens[i + 1].casefold() in lexicon.indefinite
    return word in lexicon.at


def _take_until_as(tokens: list[str], lexicon: Lexicon) -> list[str]:
    return tokens[: next((i for i, t in enumerate(tokens) if t.casefold() in lexicon.as_), len(tokens))]


def _extract_works_as(tokens: list[str], lexicon: Lexicon) -> list[Relation]:
    at = next((i for i, t in enumerate(tokens) if t.casefold() in lexicon.as_), None)
    name = take_noun_phrase(tokens[at + 1 :], lexicon)[0] if at is not None else ""
    return _relate_profession(name)


def _relate_profession(name: str) -> list[Relation]:
    if not name or name.casefold() in _NO_PROFESSION:
        return []
    tools = [
        Relation("uses", EntityMention(word, "tool"))
        for word in name.split()
        if word in TOOLS and word != name
    ]
    return [Relation("works_as", EntityMention(name, "concept")), *tools]


def extract_job(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "is a React developer", "works as a night guard", "leads a team at Maersk"."""
    lexicon = LEXICONS[predicate.language]
    studied = take_after_verb(tokens, lexicon, "studies")
    if studied is not None:
        return _extract_studies(studied, lexicon)
    if any(t.casefold() in lexicon.as_ for t in tokens):
        return _extract_works_as(tokens, lexicon)
    if tokens and tokens[0].casefold() in lexicon.copula | {"fa"}:
        return _extract_is_a(tokens[1:], lexicon)
    at = find_name_after(tokens, lexicon.at - lexicon.place | {"at"}, lexicon)
    return [Relation("works_at", EntityMention(at[0], "organisation"))] if at else []


def _extract_is_a(rest: list[str], lexicon: Lexicon) -> list[Relation]:
    while rest and rest[0].casefold() in lexicon.fillers - lexicon.indefinite:
        rest = rest[1:]
    # No profession: "est à la retraite", and in English any word without an article ("is retired"). The other
    # languages name professions without an article.
    if (
        not rest
        or rest[0].casefold() in lexicon.place
        or (lexicon.code == "en" and rest[0].casefold() not in lexicon.determiners)
    ):
        return []
    found = _relate_profession(take_noun_phrase(rest, lexicon)[0])
    where = find_name_after(rest, _AT, lexicon)
    return (
        [*found, Relation("works_at", EntityMention(where[0], "organisation"))] if found and where else found
    )


def _extract_studies(rest: list[str], lexicon: Lexicon) -> list[Relation]:
    found: list[Relation] = []
    if rest and rest[0].casefold() not in lexicon.cut:
        subject, _ = take_noun_phrase(rest, lexicon)
        found += (
            [Relation("studies", EntityMention(subject, "concept"))]
            if subject and not is_proper(subject)
            else []
        )
        if lexicon.code == "de" and subject:
            found = [Relation("studies", EntityMention(subject, "concept"))]
    school = find_name_after(rest, lexicon.at | frozenset({"an", "à", "na", "all'", "all"}), lexicon)
    if school and not found:
        found.append(Relation("studies_at", EntityMention(school[0], "organisation")))
    return found


def extract_health(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "is allergic to penicillin", "takes insulin", "has asthma"."""
    lexicon = LEXICONS[predicate.language]
    at = next((i for i, t in enumerate(tokens) if t.casefold() in _ALLERGY), 0)
    if at and tokens[at - 1].casefold() not in lexicon.determiners | lexicon.fillers:
        return _relate_each("allergic_to", [tokens[at - 1]])
    for relation, group in (("allergic_to", "allergic"), ("takes", "takes"), ("has_condition", "condition")):
        rest = take_after_verb(tokens, lexicon, group)
        if rest is not None and predicate.of_owner:
            return _relate_each(relation, split_objects(rest, lexicon))
    aids = take_after_verb(tokens, lexicon, "tools") if predicate.of_owner else None
    return _relate_each("uses", split_objects(aids or [], lexicon), "tool")


def extract_languages(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "speaks Danish, English and some Polish"."""
    lexicon = LEXICONS[predicate.language]
    rest = take_after_verb(tokens, lexicon, "language")
    return _relate_each("speaks", split_objects(rest, lexicon)) if rest else []


def extract_event(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "is flying to Japan", "moved from Lima", "the wedding is in Tuscany"."""
    lexicon = LEXICONS[predicate.language]
    if moved := _extract_former_home(tokens, lexicon):
        return moved
    if predicate.of_owner and take_after_verb(tokens, lexicon, "travel") is not None:
        goal = find_name_after(tokens, lexicon.to | lexicon.place, lexicon)
        if goal is None and lexicon.code != "de":
            goal = next(((name, 0) for name in find_names(tokens, lexicon)), None)
        return [Relation("visits", EntityMention(goal[0], "place"))] if goal else []
    where = _find_place(tokens, lexicon) if lexicon.code != "de" else None
    return [Relation("related_to", EntityMention(where[0], "place"))] if where else []


def _relate_each(relation: str, names: list[str], type_: EntityType = "concept") -> list[Relation]:
    return [Relation(relation, EntityMention(name, type_)) for name in names]
