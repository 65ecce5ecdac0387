"""Extracts relations to relatives, partners and pets, with their names where the fact gives them.

Includes the words for relatives in seven languages.
"""

from __future__ import annotations

import re

from .identity import extract_workplace
from .lexicon import Lexicon, parse_words
from .phrases import LEXICONS, find_name_after, find_name_end, is_proper, join_words, split_objects
from .subject import FactPredicate
from .types import EntityMention, Relation

_MARRIED = parse_words("married wife husband verheiratet marié mariée casado casada sposato sposata")
_WITH = parse_words("to with mit à avec con com")


def extract_family(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "sister Amara lives in Accra", "has twins, Noor and Sami", "son is deaf"."""
    lexicon = LEXICONS[predicate.language]
    heads = [
        i
        for i, t in enumerate(tokens)
        if find_kinship(t) and not find_kinship(" ".join(tokens[i + 1 : i + 2]))
    ]
    if not heads:
        return extract_spouse_or_partner(predicate, tokens)
    if predicate.of_possession:
        # "User's brother Emeka has two sons": the sons are the brother's.
        heads = heads[:1]
    found: list[Relation] = []
    for i, stop in zip(heads, [*heads[1:], len(tokens)], strict=True):
        names, end = _find_names_at(tokens[:stop], i + 1, lexicon)
        people = [EntityMention(name, "person") for name in names] or [EntityMention(tokens[i], "person")]
        found += [Relation(find_kinship(tokens[i]) or "family", person) for person in people]
        if len(people) == 1:
            found += _extract_home_or_work(tokens[end:stop], people[0], lexicon)
    return found


def _find_names_at(tokens: list[str], start: int, lexicon: Lexicon) -> tuple[list[str], int]:
    """Return the names of the people or pets that the word before `start` stands for, and the index after."""
    end = find_name_end(tokens, start, lexicon, person=True)
    if end > start:
        return [join_words(tokens[start:end])], end
    called = next((i for i, t in enumerate(tokens[start:], start) if t.casefold() in lexicon.called), None)
    if called is None and start < len(tokens) and tokens[start].casefold() in {"name", "nome", "nombre"}:
        called = start
    if called is not None:
        at = called + 1
        while at < len(tokens) and tokens[at].casefold() in lexicon.copula | {"is"}:
            at += 1
        return _split_name_list(tokens, at, lexicon)
    if start < len(tokens) and tokens[start] in ",:(":
        return _split_name_list(tokens, start + 1, lexicon)
    return [], start


def _split_name_list(tokens: list[str], at: int, lexicon: Lexicon) -> tuple[list[str], int]:
    names: list[str] = []
    while at < len(tokens):
        end = find_name_end(tokens, at, lexicon, person=True)
        if end > at:
            names.append(join_words(tokens[at:end]))
            at = end
        elif names and (tokens[at] == "," or tokens[at].casefold() in lexicon.joins):
            at += 1
        else:
            break
    return names, at


def _extract_home_or_work(rest: list[str], person: EntityMention, lexicon: Lexicon) -> list[Relation]:
    """Return where a relative lives or works, if the words after the name begin with such a verb."""
    head = next((t.casefold() for t in rest[:2] if t.isalpha()), "")
    if head in lexicon.verbs["lives"]:
        place = find_name_after(rest, lexicon.place, lexicon)
        return [Relation("lives_in", EntityMention(place[0], "place"), person)] if place else []
    if head in lexicon.verbs["employer"]:
        return extract_workplace(rest, lexicon, person)
    return []


def extract_pets(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract relations from "has a parrot called Coco", "has two rabbits, Flopsy and Clover"."""
    lexicon = LEXICONS[predicate.language]
    second = next((i for i, t in enumerate(tokens) if t.casefold() in lexicon.joins), None)
    if second and sum(t.casefold() in lexicon.called for t in tokens) > 1:
        return extract_pets(predicate, tokens[:second]) + extract_pets(predicate, tokens[second + 1 :])
    # With an article after the first word that word is a verb: "adopted a greyhound".
    verb = predicate.of_owner and len(tokens) > 1 and tokens[1].casefold() in lexicon.determiners
    start = 1 if verb else 0
    while start < len(tokens) and tokens[start].casefold() in _HAS | lexicon.fillers | lexicon.determiners:
        start += 1
    animal = next((i for i in range(start, len(tokens)) if _is_word(tokens[i], lexicon)), None)
    if animal is None:
        return []
    end = animal
    while (
        end < len(tokens) and _is_word(tokens[end], lexicon) and not (end > animal and is_proper(tokens[end]))
    ):
        end += 1
    species = split_objects(tokens[animal:end], lexicon)
    names, _ = _find_names_at(tokens, end, lexicon)
    if not names:
        return [Relation("has_pet", EntityMention(name, "concept")) for name in species]
    pets = [EntityMention(name, "person") for name in names]
    found = [Relation("has_pet", one) for one in pets]
    # With several names the species is not assigned: "two rabbits" may not apply to each of them.
    if len(pets) == 1 and species:
        found.append(Relation("is_a", EntityMention(species[0], "concept"), pets[0]))
    return found


_HAS = parse_words("has have got 've hat habe a ai tiene tengo ha ho tem tenho avec")


def _is_word(token: str, lexicon: Lexicon) -> bool:
    folded = token.casefold()
    return token[0].isalpha() and folded not in lexicon.cut | lexicon.copula | lexicon.called | lexicon.joins


def extract_spouse_or_partner(predicate: FactPredicate, tokens: list[str]) -> list[Relation]:
    """Extract the relation from "is married to Jonas"."""
    lexicon = LEXICONS[predicate.language]
    found = find_name_after(tokens, _WITH, lexicon)
    if not found:
        return []
    married = any(t.casefold() in _MARRIED for t in tokens)
    return [Relation("spouse" if married else "partner", EntityMention(found[0], "person"))]


_RELATIVE_WORDS = {
    "wife": "wife frau ehefrau femme épouse esposa mujer moglie mulher",
    "husband": "husband mann ehemann mari époux esposo marido marito",
    "partner": (
        "partner partnerin girlfriend boyfriend fiancé fiancée fiance fiancee compagne compagnon "
        "novio novia pareja fidanzato fidanzata compagno compagna namorado namorada noivo noiva"
    ),
    "spouse": "spouse",
    "daughter": "daughter daughters tochter töchter fille filles hija hijas figlia figlie filha filhas",
    "son": "son sons sohn söhne fils hijo hijos figlio figli filho filhos",
    "child": (
        "child children kid kids baby twins twin kind kinder zwillinge enfant enfants jumeaux jumelles "
        "gemelos gemelas bambino bambini bambina gemelli gêmeos gêmeas criança crianças bebé bebê"
    ),
    "mother": "mother mom mum mama mutter mère maman madre mamá mamma mãe",
    "father": "father dad papa vater père padre papá papà pai",
    "parent": "parents parent eltern genitori padres pais",
    "sister": (
        "sister sisters schwester schwestern sœur soeur sœurs hermana hermanas sorella sorelle irmã irmãs"
    ),
    "brother": (
        "brother brothers bruder brüder frère frères hermano hermanos fratello fratelli irmão irmãos"
    ),
    "sibling": "sibling siblings geschwister",
    "grandparent": (
        "grandmother grandfather grandma grandpa grandparents gran oma opa großmutter großvater großeltern "
        "grand-mère grand-père abuelo abuela abuelos nonno nonna nonni avô avó avós"
    ),
    "grandchild": (
        "grandson granddaughter grandchild grandchildren grandkids enkel enkelin enkelkinder petit-fils "
        "petite-fille nieto nieta nietos neto neta netos"
    ),
    "aunt": "aunt tante tía zia tia",
    "uncle": "uncle onkel oncle tío zio tio",
    "cousin": "cousin cousins cousine cousinen primo prima primos cugino cugina cugini",
    "niece": "niece nieces nichte nièce sobrina sobrinha nipote",
    "nephew": "nephew nephews neffe neveu sobrino sobrinho",
}
_ROLES = {word: role for role, line in _RELATIVE_WORDS.items() for word in line.split()}

_CHINESE = {
    "wife": "妻子 老婆 太太",
    "husband": "丈夫 老公 先生",
    "daughter": "女儿",
    "son": "儿子",
    "child": "孩子 双胞胎",
    "mother": "妈妈 母亲",
    "father": "爸爸 父亲",
    "parent": "父母",
    "sister": "姐姐 妹妹",
    "brother": "哥哥 弟弟",
    "grandparent": "奶奶 爷爷 外婆 外公",
    "partner": "女朋友 男朋友 对象",
}
CHINESE_ROLES = {word: role for role, line in _CHINESE.items() for word in line.split()}
CHINESE_WORD = re.compile("|".join(CHINESE_ROLES))


def find_kinship(word: str) -> str | None:
    """Return the relation that a word stands for ("mum" gives "mother"); None if it is no relative."""
    return _ROLES.get(word.casefold().removesuffix("'s"))
