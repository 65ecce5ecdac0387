"""Ties to people and animals, with their names where the fact gives them."""

from __future__ import annotations

from .kin import kin_of
from .lexicon import Tongue, words
from .life import workplace
from .owner import Sentence
from .phrases import TONGUES, is_proper, join, name_after, objects, run_at
from .tie import Thing, Tie

_MARRIED = words("married wife husband verheiratet marié mariée casado casada sposato sposata")
_WITH = words("to with mit à avec con com")


def family(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Sister Amara lives in Accra", "has twins, Noor and Sami", "son is deaf"."""
    tongue = TONGUES[sentence.language]
    heads = [i for i, t in enumerate(tokens) if kin_of(t) and not kin_of(" ".join(tokens[i + 1 : i + 2]))]
    if not heads:
        return relationship(sentence, tokens)
    if sentence.owned:
        # "User's brother Emeka has two sons": the sons are his.
        heads = heads[:1]
    found: list[Tie] = []
    for i, stop in zip(heads, [*heads[1:], len(tokens)], strict=True):
        names, end = _names_at(tokens[:stop], i + 1, tongue)
        people = [Thing(name, "person") for name in names] or [Thing(tokens[i], "person")]
        found += [Tie(kin_of(tokens[i]) or "family", person) for person in people]
        if len(people) == 1:
            found += _what_they_do(tokens[end:stop], people[0], tongue)
    return found


def _names_at(tokens: list[str], start: int, tongue: Tongue) -> tuple[list[str], int]:
    """Return the names of whoever the word before `start` speaks of, and where they end."""
    end = run_at(tokens, start, tongue, person=True)
    if end > start:
        return [join(tokens[start:end])], end
    called = next((i for i, t in enumerate(tokens[start:], start) if t.casefold() in tongue.called), None)
    if called is None and start < len(tokens) and tokens[start].casefold() in {"name", "nome", "nombre"}:
        called = start
    if called is not None:
        at = called + 1
        while at < len(tokens) and tokens[at].casefold() in tongue.copula | {"is"}:
            at += 1
        return _listed(tokens, at, tongue)
    if start < len(tokens) and tokens[start] in ",:(":
        return _listed(tokens, start + 1, tongue)
    return [], start


def _listed(tokens: list[str], at: int, tongue: Tongue) -> tuple[list[str], int]:
    names: list[str] = []
    while at < len(tokens):
        end = run_at(tokens, at, tongue, person=True)
        if end > at:
            names.append(join(tokens[at:end]))
            at = end
        elif names and (tokens[at] == "," or tokens[at].casefold() in tongue.joins):
            at += 1
        else:
            break
    return names, at


def _what_they_do(rest: list[str], person: Thing, tongue: Tongue) -> list[Tie]:
    """Return where somebody lives or works, when that is what follows their name."""
    head = next((t.casefold() for t in rest[:2] if t.isalpha()), "")
    if head in tongue.verbs["lives"]:
        place = name_after(rest, tongue.place, tongue)
        return [Tie("lives_in", Thing(place[0], "place"), person)] if place else []
    if head in tongue.verbs["employer"]:
        return workplace(rest, tongue, person)
    return []


def pet(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Has a parrot called Coco", "has two rabbits, Flopsy and Clover", "dog is named Biscuit"."""
    tongue = TONGUES[sentence.language]
    second = next((i for i, t in enumerate(tokens) if t.casefold() in tongue.joins), None)
    if second and sum(t.casefold() in tongue.called for t in tokens) > 1:
        return pet(sentence, tokens[:second]) + pet(sentence, tokens[second + 1 :])
    # "Adopted a greyhound": whatever the verb, an animal follows it.
    verb = sentence.by_owner and len(tokens) > 1 and tokens[1].casefold() in tongue.determiners
    start = 1 if verb else 0
    while start < len(tokens) and tokens[start].casefold() in _HAS | tongue.fillers | tongue.determiners:
        start += 1
    animal = next((i for i in range(start, len(tokens)) if _is_word(tokens[i], tongue)), None)
    if animal is None:
        return []
    end = animal
    while (
        end < len(tokens) and _is_word(tokens[end], tongue) and not (end > animal and is_proper(tokens[end]))
    ):
        end += 1
    species = objects(tokens[animal:end], tongue)
    names, _ = _names_at(tokens, end, tongue)
    if not names:
        return [Tie("has_pet", Thing(name, "concept")) for name in species]
    pets = [Thing(name, "person") for name in names]
    found = [Tie("has_pet", one) for one in pets]
    # "Two rabbits" are not what one of them is.
    if len(pets) == 1 and species:
        found.append(Tie("is_a", Thing(species[0], "concept"), pets[0]))
    return found


_HAS = words("has have got 've hat habe a ai tiene tengo ha ho tem tenho avec")


def _is_word(token: str, tongue: Tongue) -> bool:
    folded = token.casefold()
    return token[0].isalpha() and folded not in tongue.cut | tongue.copula | tongue.called | tongue.joins


def relationship(sentence: Sentence, tokens: list[str]) -> list[Tie]:
    """Read "Is married to Jonas"."""
    tongue = TONGUES[sentence.language]
    found = name_after(tokens, _WITH, tongue)
    if not found:
        return []
    married = any(t.casefold() in _MARRIED for t in tokens)
    return [Tie("spouse" if married else "partner", Thing(found[0], "person"))]
