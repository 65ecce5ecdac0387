"""Words for relatives in our languages, and the relation that each stands for."""

from __future__ import annotations

import re

_WORDS = {
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
_ROLES = {word: role for role, line in _WORDS.items() for word in line.split()}

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


def kin_of(word: str) -> str | None:
    """Return the relation that a word for a relative stands for."""
    return _ROLES.get(word.casefold().removesuffix("'s"))
