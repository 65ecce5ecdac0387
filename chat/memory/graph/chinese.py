"""Extracts relations from Chinese facts by regular expressions: Chinese has no spaces between words."""

from __future__ import annotations

import re

from .people import CHINESE_ROLES, CHINESE_WORD
from .types import EntityMention, EntityType, Relation
from .well_known_names import TOOLS, classify_name

# "用户" (user), "我" (I), "我们" (we), with or without the possessive "的".
_OWNER = r"(?:用户|我们?)(?:的)?"
# In characters; longer Chinese text is a clause, not a name.
_MAX_CHINESE_NAME = 10
_NAME = r"([^，。、；：,.;\s和与及跟]+)"
# Where a clause ends, where a list is divided.
_END = re.compile(r"[，。；,;.]|因为|但是|所以|的时候")
_LIST = re.compile(r"[、和与及跟]|以及")
# A number with its measure word ("两只"), adverbs before a name, verbs after a name: removed from names.
_MEASURE = re.compile(
    r"^(?:个|(?:[一二两三四五六七八九十]|\d+)(?:个|只|条|匹|台|本|部|款|种|篇|家|套|首|门|名|位|些|辆|件|座|栋|把|间|张|架|艘))(?=.)"
)
_LEAD = re.compile(r"^(?:很|一点|非常|特别|最|正在|在|正|也|都|常|经常|一直|主要)+")
_TAIL = re.compile(r"(?:工作|上班|就职|画图|写作|编程|办公|学习)$")

# By kind of fact: pattern, relation, entity type; group 1 of a pattern holds the names.
_PATTERNS: dict[str, tuple[tuple[str, str, EntityType], ...]] = {
    "home": ((r"(?:住在|搬到|搬去|定居|家在)(.+)", "lives_in", "place"),),
    "origin": ((r"(?:来自|老家在|出生在|是)(.+?)(?:人)?$", "comes_from", "place"),),
    "employer": (
        (r"在(.+?)(?:工作|上班|就职|任职)", "works_at", "organisation"),
        (r"(?:就职于|任职于|加入了?|供职于)(.+)", "works_at", "organisation"),
    ),
    "job": (
        (r"(?:职业是|是一?(?:名|位|个)?|担任|做)(.+)", "works_as", "concept"),
        (r"(?:就读于|在)(.*?(?:大学|学院))", "studies_at", "organisation"),
    ),
    "tools": ((r"(?:使用|在用|用)(.+)", "uses", "tool"),),
    "likes": ((r"(?:喜欢|喜爱|热爱|爱好是?|最爱|爱)(.+)", "likes", "concept"),),
    "dislikes": ((r"(?:不喜欢|讨厌|不爱|受不了|厌恶)(.+)", "dislikes", "concept"),),
    "building": (
        (
            r"(?:开发|编写|撰写|制作|设计|建造|翻修|写|做|创作|搭建|筹备)(?:着|了)?(.+)",
            "builds",
            "project",
        ),
    ),
    "learning": ((r"(?:学习|学|练习|练)(.+)", "learns", "concept"),),
    "goal": ((r"(?:准备|备战|计划|打算|想)(?:参加|去|买|跑|考|完成)?(.+)", "aims_for", "project"),),
    "language": ((r"(?:会说|会讲|说|讲|懂)(.+)", "speaks", "concept"),),
    "health": (
        (r"对(.+?)过敏", "allergic_to", "concept"),
        (r"(?:服用|吃)(.+)", "takes", "concept"),
        (r"(?:患有|得了|有)(.+)", "has_condition", "concept"),
    ),
    "diet": ((r"不吃(.+)", "avoids", "concept"), (r"(?:只吃|吃|是)(.+)", "eats", "concept")),
    "habit": ((r"(?:戒了|戒掉了?|不再)(.+)", "gave_up", "concept"),),
    "event": ((r"(?:去|飞往|前往|到)(.+?)(?:旅行|旅游|出差|度假)", "visits", "place"),),
    "deadline": ((r"^(.+?)(?:的?截止|必须|要在|将于)", "must_finish", "project"),),
    "reply_style": (
        (r"(?:不要|不想要|别用)(.+)", "avoids", "concept"),
        (r"(?:喜欢|想要|希望得到|偏好)(.+)", "prefers", "concept"),
    ),
    "units": ((r"(?:使用|用|以|喜欢)(.+)", "prefers", "concept"),),
    "reply_language": ((r"用(.{1,4}?)(?:回答|回复)", "prefers", "concept"),),
    "relationship": ((r"(?:和|与|跟)(.+?)(?:结婚|订婚)", "spouse", "person"),),
}


def extract_chinese_relations(kind: str, text: str) -> list[Relation]:
    """Return the relations of a Chinese fact; the first pattern of its kind that matches decides."""
    text = re.sub(rf"^{_OWNER}", "", text.replace(" ", "") if not re.search("[a-zA-Z]", text) else text)
    if kind == "family":
        return _extract_family(text)
    if kind == "pet":
        return _extract_pets(text)
    if kind == "building" and (about := re.search(r"关于(.{1,10}?)的(.{1,6})$", text)):
        project = EntityMention(about[2], "project")
        return [Relation("builds", project), Relation("about", EntityMention(about[1], "concept"), project)]
    if kind == "goal" and (trip := re.search(r"去(.{1,6}?)(?:旅行|旅游)", text)):
        return [Relation("aims_for", EntityMention(trip[1], "place"))]
    for pattern, relation, type_ in _PATTERNS.get(kind, ()):
        found = re.search(pattern, text)
        if found:
            return [
                Relation(relation, EntityMention(name, _refine_type(name, type_)))
                for name in _split_names(found[1], kind == "tools")
            ]
    return []


def _refine_type(name: str, type_: EntityType) -> EntityType:
    return classify_name(name, type_) if type_ == "concept" else type_


def _split_names(text: str, tools: bool = False) -> list[str]:
    """Return the names of a list up to the end of its clause.

    With `tools`, and for well-known tools, only the Latin part of a name such as "Python编程" is returned.
    """
    clause = _END.split(text, maxsplit=1)[0]
    names = []
    for part in _LIST.split(clause):
        name = _TAIL.sub("", _MEASURE.sub("", _LEAD.sub("", part.strip()))).strip()
        latin = re.match(r"[A-Za-z][A-Za-z0-9+#. ]*", name)
        if latin and (tools or latin[0].strip() in TOOLS):
            name = latin[0].strip()
        if (
            name
            and len(name) <= (_MAX_CHINESE_NAME if not latin else 40)
            and not name.startswith(("不", "是", "有"))
        ):
            names.append(name)
    return names


def _find_called_names(text: str) -> list[str]:
    """Return one or two names after "叫", "名叫" or "名字是"."""
    found = re.search(rf"(?:叫做?|名叫|名字(?:是|叫)){_NAME}(?:[和与、]{_NAME})?", text)
    return [name for name in found.groups() if name] if found else []


def _extract_family(text: str) -> list[Relation]:
    word = CHINESE_WORD.search(text)
    if not word:
        return []
    people = [EntityMention(name, "person") for name in _find_called_names(text[word.end() :])] or [
        EntityMention(word[0], "person")
    ]
    found = [Relation(CHINESE_ROLES[word[0]], person) for person in people]
    home = re.search(rf"住在{_NAME}", text)
    if home and len(people) == 1:
        found.append(Relation("lives_in", EntityMention(home[1], "place"), people[0]))
    return found


def _extract_pets(text: str) -> list[Relation]:
    found = re.search(
        r"(?:养了?|有)(?:[一二两三四五六七八九十]|\d+)?(?:只|条|匹|个)?([^，。,叫名]{1,4})", text
    )
    species = found[1] if found else ""
    names = _find_called_names(text)
    if not names:
        return [Relation("has_pet", EntityMention(species, "concept"))] if species else []
    pets = [EntityMention(name, "person") for name in names]
    kinds = (
        [Relation("is_a", EntityMention(species, "concept"), pets[0])] if species and len(pets) == 1 else []
    )
    return [*(Relation("has_pet", one) for one in pets), *kinds]
