"""Extracts relations of project facts: projects, tools, learning, goals, deadlines."""

from __future__ import annotations

from .attitudes import extract_purpose
from .lexicon import Lexicon, parse_words
from .phrases import (
    LEXICONS,
    find_name_after,
    find_name_end,
    find_names,
    is_proper,
    join_words,
    split_objects,
    split_words,
    take_after_verb,
    take_noun_phrase,
)
from .subject import FactPredicate
from .types import EntityMention, Relation
from .well_known_names import TOOLS, classify_name

# Infinitives whose object needs no article: "wants to learn Rust".
_LEARN = parse_words("learn study aprender apprendre imparare estudar estudiar")
# Verbs of a change from one tool to another.
_SWITCHED = parse_words("switched moved migrated")
# Words before the subject of a course: "classes in sign language".
_COURSE = parse_words(
    "classes class lessons lesson course courses unterricht kurs kurse cours clases clase curso lezioni "
    "corso aulas"
)
# Prepositions, participles and verbs before the tools of a project.
_MADE_WITH = parse_words("with using avec mit con com")
_MADE = parse_words("written built made implemented geschrieben gebaut écrit écrite escrito escrita scritto")
_USES = parse_words("uses use runs needs utilise utiliza nutzt benutzt verwendet usa")
# Words of deadlines that do not name the project.
_DUE = parse_words(
    "deadline launch launches release delivery submission handover opening date abgabe abgabetermin "
    "frist start premiere work entrega lancement lanzamiento proyecto projet projeto progetto "
    "projekt remise consegna scadenza prazo lançamento project"
)
_DUE_VERB = parse_words(
    "is due must has have needs ships launches opens slipped moved was goes ends will ist muss "
    "est doit es debe tiene è deve tem é"
)
_OF = parse_words("of for von für de del di do da du per para pour")


def extract_building(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "is making Lantern, a card game", "is migrating billing from Rails to Go"."""
    lexicon = LEXICONS[predicate.language]
    if not predicate.of_owner:
        return _extract_project_facts(predicate, tokens, lexicon)
    rest = take_after_verb(tokens, lexicon, "building")
    if rest is None:
        return []
    project, described, end = _find_project(rest, lexicon)
    moves = take_after_verb(tokens, lexicon, "migrating") is not None
    if project is None:
        return _extract_migration(rest, None, lexicon) if moves else []
    found = [Relation("builds", project)]
    if described:
        found.append(Relation("is_a", EntityMention(described, "concept"), project))
    return [
        *found,
        *(
            _extract_migration(rest, project, lexicon)
            if moves
            else [
                *extract_purpose(rest[end:], project, lexicon),
                *_extract_tools_and_topic(rest[end:], project, lexicon),
            ]
        ),
    ]


def _find_project(rest: list[str], lexicon: Lexicon) -> tuple[EntityMention | None, str, int]:
    """Return the project, its description ("an app called Fork": "app") and the index after its name."""
    called = next((i for i, t in enumerate(rest) if t.casefold() in lexicon.called), None)
    if called is not None:
        end = find_name_end(rest, called + 1, lexicon)
        if end > called + 1:
            return (
                EntityMention(join_words(rest[called + 1 : end]), "project"),
                take_noun_phrase(rest[:called], lexicon)[0],
                end,
            )
    end = find_name_end(rest, 0, lexicon)
    if lexicon.code != "de" and end and (end == len(rest) or rest[end] == ","):
        described = ""
        if end + 1 < len(rest) and rest[end + 1].casefold() in lexicon.indefinite | {"the"}:
            described = take_noun_phrase(_take_clause(rest[end + 1 :]), lexicon)[0]
        return EntityMention(join_words(rest[:end]), "project"), described, end
    name, _ = take_noun_phrase(_take_clause(rest), lexicon)
    words = len(split_words(name, lexicon)) if name else 0
    return (EntityMention(name, "project") if name else None), "", words


def _take_clause(tokens: list[str]) -> list[str]:
    return tokens[: next((i for i, t in enumerate(tokens) if t in ",;:("), len(tokens))]


def _extract_migration(rest: list[str], project: EntityMention | None, lexicon: Lexicon) -> list[Relation]:
    found = []
    if new := find_name_after(rest, lexicon.to, lexicon):
        found.append(Relation("uses", EntityMention(new[0], "tool"), project))
    if old := find_name_after(rest, lexicon.from_, lexicon):
        found.append(Relation("migrates_from", EntityMention(old[0], "tool"), project))
    return found


def _extract_tools_and_topic(rest: list[str], project: EntityMention, lexicon: Lexicon) -> list[Relation]:
    """Return the tools that a project is made with, and its topic."""
    found: list[Relation] = []
    made = any(t.casefold() in _MADE for t in rest)
    for i, token in enumerate(rest):
        folded = token.casefold()
        if folded in _MADE_WITH or (folded in lexicon.with_ and made):
            found += [
                Relation("uses", EntityMention(n, "tool"), project)
                for n in split_objects(rest[i + 1 :], lexicon)
                if is_proper(n) or n in TOOLS
            ]
        elif folded in {"in", "en", "em"}:
            found += [
                Relation("uses", EntityMention(n, "tool"), project)
                for n in split_objects(rest[i + 1 :], lexicon)
                if n in TOOLS
            ]
        elif folded in lexicon.about:
            subject, _ = take_noun_phrase(_take_clause(rest[i + 1 :]), lexicon)
            if subject:
                found.append(Relation("about", EntityMention(subject, classify_name(subject)), project))
    return found


def _extract_project_facts(predicate: FactPredicate, tokens: list[str], lexicon: Lexicon) -> list[Relation]:
    """Extract relations from "side project is called Birdsong", "app Fork uses Postgres"."""
    called = find_name_after(tokens, lexicon.called, lexicon)
    if called:
        return [Relation("builds", EntityMention(called[0], "project"))]
    verb = next((i for i, t in enumerate(tokens) if t.casefold() in _USES | lexicon.copula), None)
    if verb is None or lexicon.code == "de":
        return []
    subjects = find_names(tokens[:verb], lexicon)
    if not subjects:
        return []
    project = EntityMention(subjects[-1], "project")
    rest = tokens[verb + 1 :]
    if tokens[verb].casefold() in _USES:
        used = [Relation("uses", EntityMention(n, "tool"), project) for n in split_objects(rest, lexicon)]
    else:
        used = _extract_tools_and_topic(rest, project, lexicon)
    return [*([Relation("builds", project)] if predicate.of_possession else []), *used]


def extract_tools(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "works with a lathe and files", "keeps the accounts in LibreOffice"."""
    lexicon = LEXICONS[predicate.language]
    if not predicate.of_owner and (found := _extract_project_facts(predicate, tokens, lexicon)):
        return found
    if lexicon.code == "en" and _SWITCHED.intersection(t.casefold() for t in tokens[:3]):
        return _extract_migration(tokens, None, lexicon)
    rest = take_after_verb(tokens, lexicon, "tools")
    names = [_remove_adjectives(name, lexicon) for name in split_objects(rest, lexicon)] if rest else []
    if not names and lexicon.code != "de":
        names = find_names(tokens, lexicon)
    return [Relation("uses", EntityMention(name, "tool")) for name in names]


def _remove_adjectives(name: str, lexicon: Lexicon) -> str:
    """Return a tool without the adjectives before its name: "old ThinkPad" gives "ThinkPad"."""
    parts = name.split()
    if lexicon.code == "de" or not is_proper(parts[-1]):
        return name
    start = next(i for i, part in enumerate(parts) if is_proper(part))
    return " ".join(parts[start:])


def extract_learning(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "is learning Rust", "is taking evening classes in sign language"."""
    lexicon = LEXICONS[predicate.language]
    rest = take_after_verb(tokens, lexicon, "learning")
    if rest is None:
        return []
    course = next((i for i, t in enumerate(rest) if t.casefold() in _COURSE), None)
    if course is not None:
        rest = rest[course + 2 :] or rest[:course]
    return [
        Relation("learns", EntityMention(name, classify_name(name))) for name in split_objects(rest, lexicon)
    ]


def extract_goal(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract the relation from "is saving for a camper van", "wants to run a marathon"."""
    lexicon = LEXICONS[predicate.language]
    rest, needs_article = _find_aim(tokens, lexicon)
    if rest is None:
        return []
    if needs_article and not (rest and (_is_article(rest[0], lexicon) or is_proper(rest[0]))):
        place = find_name_after(tokens, lexicon.to | lexicon.place, lexicon)
        return [Relation("aims_for", EntityMention(place[0], "place"))] if place else []
    if rest and rest[0].casefold() in lexicon.to:
        # In German the verb comes last: "will nach Lissabon ziehen".
        goal_place = find_name_after(rest[:3], lexicon.to, lexicon)
        return [Relation("aims_for", EntityMention(goal_place[0], "place"))] if goal_place else []
    name, _ = take_noun_phrase(_take_clause(rest), lexicon)
    return [Relation("aims_for", EntityMention(name, classify_name(name, "project")))] if name else []


def _find_aim(tokens: list[str], lexicon: Lexicon) -> tuple[list[str] | None, bool]:
    """Return the words after the verb of wishing, and whether a name there must begin with an article.

    That is so after an infinitive: "wants to run a marathon". None without a verb of wishing.
    """
    verbs = lexicon.verbs["goal"]
    at = next((i for i, t in enumerate(tokens[:7]) if t.casefold() in verbs and len(t) > 2), None)
    if at is None:
        return None, False
    at += 1
    while at < len(tokens) and tokens[at].casefold() in verbs | lexicon.fillers - lexicon.determiners:
        at += 1
    if lexicon.code == "en" and tokens[at - 1].casefold() == "to" and at < len(tokens):
        return tokens[at + 1 :], tokens[at] not in _LEARN
    first = at
    while at < len(tokens) and lexicon.infinitive and tokens[at].endswith(lexicon.infinitive):
        at += 1
        # "Aprender a tocar el piano".
        if at + 1 < len(tokens) and tokens[at] in {"a", "à"} and tokens[at + 1].endswith(lexicon.infinitive):
            at += 1
    if at > first:
        return tokens[at:], tokens[at - 1] not in _LEARN
    rest = tokens[at:]
    return (rest[1:] if rest[:1] == [","] else rest), False


def _is_article(word: str, lexicon: Lexicon) -> bool:
    return word.casefold() in lexicon.determiners


def extract_deadline(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract the relation from "thesis is due on 3 May", "the launch of Lantern slipped to June"."""
    lexicon = LEXICONS[predicate.language]
    stop = next((i for i, t in enumerate(tokens) if t.casefold() in _DUE_VERB and i), len(tokens))
    head = tokens[:stop]
    due = next((i for i, t in enumerate(tokens) if t.casefold() in {"finish", "submit", "deliver"}), None)
    if due is not None and predicate.of_owner:
        head = _take_clause(tokens[due + 1 :])
    head = [t.removesuffix("'s") for t in head]
    while head and head[0].casefold() in lexicon.determiners | _DUE | _OF | lexicon.fillers:
        head = head[1:]
    while head and head[-1].casefold() in _DUE:
        head = head[:-1]
    name, _ = take_noun_phrase(head, lexicon)
    return [Relation("must_finish", EntityMention(name, "project"))] if name else []
