"""Ties of what the owner makes, learns, aims for and works with."""

from __future__ import annotations

from .known import TOOLS, type_of
from .lexicon import Tongue, words
from .owner import Sentence
from .phrases import (
    TONGUES,
    after_verb,
    is_proper,
    join,
    name_after,
    names_in,
    objects,
    phrase,
    run_at,
    split_words,
)
from .tie import Thing, Tie

# What is learned needs no article.
_LEARN = words("learn study aprender apprendre imparare estudar estudiar")
_SWITCHED = words("switched moved migrated")
_COURSE = words(
    "classes class lessons lesson course courses unterricht kurs kurse cours clases clase curso lezioni "
    "corso aulas"
)
_MADE_WITH = words("with using avec mit con com")
_MADE = words("written built made implemented geschrieben gebaut écrit écrite escrito escrita scritto")
_USES = words("uses use runs needs utilise utiliza nutzt benutzt verwendet usa")
# What is due belongs to a project; these words only say that it is.
_DUE = words(
    "deadline launch launches release delivery submission handover opening date abgabe abgabetermin "
    "frist start premiere work entrega lancement lanzamiento proyecto projet projeto progetto "
    "projekt remise consegna scadenza prazo lançamento project"
)
_DUE_VERB = words(
    "is due must has have needs ships launches opens slipped moved was goes ends will ist muss "
    "est doit es debe tiene è deve tem é"
)
_OF = words("of for von für de del di do da du per para pour")


def building(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Is making Lantern, a card game", "is migrating billing from Rails to Go"."""
    tongue = TONGUES[sentence.language]
    if not sentence.by_owner:
        return _about_project(sentence, tokens, tongue)
    rest = after_verb(tokens, tongue, "building")
    if rest is None:
        return []
    project, described, end = _project(rest, tongue)
    moves = after_verb(tokens, tongue, "migrating") is not None
    if project is None:
        return _migration(rest, None, tongue) if moves else []
    found = [Tie("builds", project)]
    if described:
        found.append(Tie("is_a", Thing(described, "concept"), project))
    return [*found, *(_migration(rest, project, tongue) if moves else _made_of(rest[end:], project, tongue))]


def _project(rest: list[str], tongue: Tongue) -> tuple[Thing | None, str, int]:
    """Return the project, what it is and where its name ends: "an app called Fork"."""
    called = next((i for i, t in enumerate(rest) if t.casefold() in tongue.called), None)
    if called is not None:
        end = run_at(rest, called + 1, tongue)
        if end > called + 1:
            return Thing(join(rest[called + 1 : end]), "project"), phrase(rest[:called], tongue)[0], end
    end = run_at(rest, 0, tongue)
    if tongue.code != "de" and end and (end == len(rest) or rest[end] == ","):
        described = ""
        if end + 1 < len(rest) and rest[end + 1].casefold() in tongue.indefinite | {"the"}:
            described = phrase(_clause(rest[end + 1 :]), tongue)[0]
        return Thing(join(rest[:end]), "project"), described, end
    name, _ = phrase(_clause(rest), tongue)
    words = len(split_words(name, tongue)) if name else 0
    return (Thing(name, "project") if name else None), "", words


def _clause(tokens: list[str]) -> list[str]:
    return tokens[: next((i for i, t in enumerate(tokens) if t in ",;:("), len(tokens))]


def _migration(rest: list[str], project: Thing | None, tongue: Tongue) -> list[Tie]:
    found = []
    if new := name_after(rest, tongue.to, tongue):
        found.append(Tie("uses", Thing(new[0], "tool"), project))
    if old := name_after(rest, tongue.from_, tongue):
        found.append(Tie("migrates_from", Thing(old[0], "tool"), project))
    return found


def _made_of(rest: list[str], project: Thing, tongue: Tongue) -> list[Tie]:
    """Return what a project is made with, and what it is about."""
    found: list[Tie] = []
    made = any(t.casefold() in _MADE for t in rest)
    for i, token in enumerate(rest):
        folded = token.casefold()
        if folded in _MADE_WITH or (folded in tongue.with_ and made):
            found += [
                Tie("uses", Thing(n, "tool"), project)
                for n in objects(rest[i + 1 :], tongue)
                if is_proper(n) or n in TOOLS
            ]
        elif folded in {"in", "en", "em"}:
            found += [
                Tie("uses", Thing(n, "tool"), project) for n in objects(rest[i + 1 :], tongue) if n in TOOLS
            ]
        elif folded in tongue.about:
            subject, _ = phrase(_clause(rest[i + 1 :]), tongue)
            if subject:
                found.append(Tie("about", Thing(subject, type_of(subject)), project))
    return found


def _about_project(sentence: Sentence, tokens: list[str], tongue: Tongue) -> list[Tie]:
    """Read "Side project is called Birdsong", "app Fork uses Postgres", "Fork is written in Rust"."""
    called = name_after(tokens, tongue.called, tongue)
    if called:
        return [Tie("builds", Thing(called[0], "project"))]
    verb = next((i for i, t in enumerate(tokens) if t.casefold() in _USES | tongue.copula), None)
    if verb is None or tongue.code == "de":
        return []
    subjects = names_in(tokens[:verb], tongue)
    if not subjects:
        return []
    project = Thing(subjects[-1], "project")
    rest = tokens[verb + 1 :]
    if tokens[verb].casefold() in _USES:
        used = [Tie("uses", Thing(n, "tool"), project) for n in objects(rest, tongue)]
    else:
        used = _made_of(rest, project, tongue)
    return [*([Tie("builds", project)] if sentence.owned else []), *used]


def tools(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Works with a lathe and files", "keeps the accounts in LibreOffice"."""
    tongue = TONGUES[sentence.language]
    if not sentence.by_owner and (found := _about_project(sentence, tokens, tongue)):
        return found
    if tongue.code == "en" and _SWITCHED.intersection(t.casefold() for t in tokens[:3]):
        return _migration(tokens, None, tongue)
    rest = after_verb(tokens, tongue, "tools")
    names = [_bare(name, tongue) for name in objects(rest, tongue)] if rest else []
    if not names and tongue.code != "de":
        names = names_in(tokens, tongue)
    return [Tie("uses", Thing(name, "tool")) for name in names]


def _bare(name: str, tongue: Tongue) -> str:
    """Return a tool without the adjectives before its name: "old ThinkPad" is a ThinkPad."""
    parts = name.split()
    if tongue.code == "de" or not is_proper(parts[-1]):
        return name
    start = next(i for i, part in enumerate(parts) if is_proper(part))
    return " ".join(parts[start:])


def learning(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Is learning Rust", "is taking evening classes in sign language"."""
    tongue = TONGUES[sentence.language]
    rest = after_verb(tokens, tongue, "learning")
    if rest is None:
        return []
    course = next((i for i, t in enumerate(rest) if t.casefold() in _COURSE), None)
    if course is not None:
        rest = rest[course + 2 :] or rest[:course]
    return [Tie("learns", Thing(name, type_of(name))) for name in objects(rest, tongue)]


def goal(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Is saving for a camper van", "wants to run a marathon", "plans to move to Lisbon"."""
    tongue = TONGUES[sentence.language]
    rest, acts = _aim(tokens, tongue)
    if rest is None:
        return []
    if acts and not (rest and (_opens_noun(rest[0], tongue) or is_proper(rest[0]))):
        place = name_after(tokens, tongue.to | tongue.place, tongue)
        return [Tie("aims_for", Thing(place[0], "place"))] if place else []
    if rest and rest[0].casefold() in tongue.to:
        # "Will nach Lissabon ziehen": the verb comes last.
        goal_place = name_after(rest[:3], tongue.to, tongue)
        return [Tie("aims_for", Thing(goal_place[0], "place"))] if goal_place else []
    name, _ = phrase(_clause(rest), tongue)
    return [Tie("aims_for", Thing(name, type_of(name, "project")))] if name else []


def _aim(tokens: list[str], tongue: Tongue) -> tuple[list[str] | None, bool]:
    """Return what follows the wish, and whether an infinitive stood between: then a noun must begin there."""
    verbs = tongue.verbs["goal"]
    at = next((i for i, t in enumerate(tokens[:7]) if t.casefold() in verbs and len(t) > 2), None)
    if at is None:
        return None, False
    at += 1
    while at < len(tokens) and tokens[at].casefold() in verbs | tongue.fillers - tongue.determiners:
        at += 1
    if tongue.code == "en" and tokens[at - 1].casefold() == "to" and at < len(tokens):
        return tokens[at + 1 :], tokens[at] not in _LEARN
    first = at
    while at < len(tokens) and tongue.infinitive and tokens[at].endswith(tongue.infinitive):
        at += 1
        # "Aprender a tocar el piano".
        if at + 1 < len(tokens) and tokens[at] in {"a", "à"} and tokens[at + 1].endswith(tongue.infinitive):
            at += 1
    if at > first:
        return tokens[at:], tokens[at - 1] not in _LEARN
    rest = tokens[at:]
    return (rest[1:] if rest[:1] == [","] else rest), False


def _opens_noun(word: str, tongue: Tongue) -> bool:
    return word.casefold() in tongue.determiners


def deadline(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Thesis is due on 3 May", "the launch of Lantern slipped to June"."""
    tongue = TONGUES[sentence.language]
    stop = next((i for i, t in enumerate(tokens) if t.casefold() in _DUE_VERB and i), len(tokens))
    head = tokens[:stop]
    due = next((i for i, t in enumerate(tokens) if t.casefold() in {"finish", "submit", "deliver"}), None)
    if due is not None and sentence.by_owner:
        head = _clause(tokens[due + 1 :])
    head = [t.removesuffix("'s") for t in head]
    while head and head[0].casefold() in tongue.determiners | _DUE | _OF | tongue.fillers:
        head = head[1:]
    while head and head[-1].casefold() in _DUE:
        head = head[:-1]
    name, _ = phrase(head, tongue)
    return [Tie("must_finish", Thing(name, "project"))] if name else []
