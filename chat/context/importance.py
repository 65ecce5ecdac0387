"""How important a message is for the rest of its conversation, by rules on its words. No Django.

Decisions, figures, names, code and requests to remember raise the score; a question lowers it. The words that
decide or require something are listed in seven languages. Measured on messages in these languages that were
labelled by hand (tests/context/importance_cases.py): of 60 that were written after the rules, 75 % of the
important ones are found, and 95 % of those found are important; of the 253 on which the rules were made, 96 %
and 99 %.
"""

from __future__ import annotations

import re
from enum import StrEnum

from chat.memory.memory_requests import RequestKind, find_worded_requests

_DECIDING = (
    # English
    r"\b(?:let'?s (?:go with|use|take|do|keep|stick|drop|skip|call it)"
    r"|(?:we|i)(?:'ve| have)? (?:decided|agreed|settled|chosen|chose|picked|opted|approved|cancell?ed)"
    r"|we(?:'ll| will| are going to|'re going to) (?!be\b|see\b|think\b|try\b|check\b|ask\b|let\b"
    r"|have to\b)\w+"
    r"|i(?:'ll| will| am going to|'m going to) (?:take|go with|use|buy|order|book|keep|drop|skip|cancel"
    r"|choose)"
    r"|i(?:'ve| have)? (?:booked|ordered|bought|signed|cancell?ed)|went with|verdict|stick to|after all"
    r"|don'?t (?:suggest|use|write|call|mention|include|add|change|send|propose)"
    r"|we(?:'re| are) (?:doing|using|going with|taking|keeping|dropping|moving)|i'd rather|i(?:'d)? prefer"
    r"|from now on|going forward|for the record|final (?:answer|decision|version)|(?:decision|plan"
    r"|order|agreement) (?:is|was)|the decision"
    r"|(?:is|are|has been|have been|'s been|it's|that's) (?:now )?(?:decided|settled|fixed|final"
    r"|approved|agreed|"
    r"confirmed|cancell?ed|postponed)|must(?: not|n't)? \w+|ha(?:s|ve) to be|no more than|call me)\b"
    r"|^(?:(?:ok|okay|yes|no|right|good|fine|great|so|please|and|then)[,: ]+)*(?:agreed|decided|settled"
    r"|deal|"
    r"noted|got it|understood|confirmed)\b[,:.!]"
    r"|^(?:(?:ok|okay|yes|no|right|good|fine|great|so|please|and|then)[,: ]+)*"
    r"(?:use|keep|drop|skip|scrap|remove|cancel|always|never|not)"
    r" (?!your|it up|that|simpler|shorter|fewer|more|less|other|another|different)\w+",
    # German
    r"\b(?:wir nehmen|ich nehme|wir machen|wir (?:streichen|lassen|behalten|verzichten|bleiben bei"
    r"|fangen|beginnen)"
    r"|ich nehme (?:jetzt )?doch|(?:habe?n?|hat)(?: (?:uns|mich|sich))?(?: \w+){0,4} (?:entschieden"
    r"|beschlossen|vereinbart|geeinigt|abgesagt|gebucht|bestellt)"
    r"|haben (?:beschlossen|entschieden)|ab jetzt|ab sofort|von nun an|bleibt es dabei|es bleibt bei"
    r"|einigen uns auf|dann (?:planen|machen|nehmen|bleiben) wir|steht fest|ist (?:abgemacht"
    r"|entschieden|fest)|abgemacht|muss \w+ sein|(?:soll|muss|müssen|"
    r"sollen)(?: \w+){1,5} (?:haben|sein|enthalten)|nenn mich)\b|\b(?:entschieden|beschlossen|abgemacht"
    r"|notiert):",
    # French
    r"\b(?:(?:on a|nous avons|j'ai|c'est) (?:décidé|choisi|convenu|retenu|annulé|fixé)|est (?:fixée?"
    r"|décidée?|"
    r"annulée?|reportée?)|on (?:prend|garde|part sur|laisse tomber)|je (?:prends|choisis|préfère)|désormais"
    r"|ne (?:me |nous )?\w+ (?:plus|jamais)|à partir de maintenant|d'accord pour|il faut que"
    r"|ne dois? pas|appelle-moi)\b|^(?:entendu|noté)\b",
    # Spanish
    r"\b(?:(?:hemos|he|han) (?:decidido|elegido|acordado|quedado|cancelado)|(?:nos quedamos"
    r"|me quedo) con|(?:lo|la) dejamos|al final (?:nos|me|vamos|voy)"
    r"|decidimos|a partir de ahora|queda (?:decidido|fijado|cancelado)|vamos con|prefiero|tiene que ser"
    r"|debe (?:ser|tener)|llámame)\b|^(?:entendido|anotado|de acuerdo:)",
    # Italian
    r"\b(?:(?:abbiamo|ho|hanno) (?:deciso|scelto|concordato|annullato)|prendiamo|(?:alla fine )prendo"
    r"|d'ora in poi"
    r"|siamo d'accordo|è (?:deciso|fissato|annullato)|preferisco|deve essere|chiamami)\b|^(?:inteso"
    r"|annotato)\b",
    # Portuguese
    r"\b(?:(?:ficou|está|fica) (?:decidido|combinado|marcado|cancelado)|(?:decidimos|decidi|escolhemos"
    r"|escolhi)"
    r"|vamos (?:com|cancelar|manter|usar)|a partir de agora|combinámos|combinamos|passou para|prefiro"
    r"|tem de ser|deve ser)\b"
    r"|^(?:entendido|anotado|combinado)\b",
    # Chinese
    r"(?:决定|就用|就选|选定|选了|说好了|定在|定了|以后都|从现在起|必须|取消)",
)
DECISION = re.compile("|".join(_DECIDING), re.IGNORECASE | re.MULTILINE)


# From this score on a message is important.
IMPORTANT = 0.5
# Characters of a message that are read: its beginning and its end. Reading more takes milliseconds, and what
# a long message decides mostly stands at one of its ends.
_MAX_CHARACTERS = 2000


class Signal(StrEnum):
    """What makes a message important."""

    REMEMBER = "remember"
    DECISION = "decision"
    CODE = "code"
    FIGURE = "figure"
    NUMBER = "number"
    NAME = "name"


# How much one sign alone makes a user's message important, 0 to 1; several are combined as if they were
# independent probabilities. In a reply, figures and names are often general knowledge.
_WEIGHTS = {
    Signal.REMEMBER: 0.95,
    Signal.DECISION: 0.7,
    Signal.CODE: 0.6,
    Signal.FIGURE: 0.55,
    # A number without a unit, or a day of the week.
    Signal.NUMBER: 0.3,
    Signal.NAME: 0.5,
}
_REPLY_WEIGHTS = {**_WEIGHTS, Signal.FIGURE: 0.3, Signal.NUMBER: 0.1, Signal.NAME: 0.1}
# More signs of one kind than this say no more.
_MAX_SIGNS = 4
# A message of questions and requests only asks about what it names and states little.
_QUESTION_FACTOR = 0.4

_MONTH = (
    r"(?:jan(?:uary|uar|vier)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli|aug(?:ust)?"
    r"|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?|février|mars|avril|juin|juillet|août|"
    r"septembre|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|"
    r"noviembre|diciembre|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|janeiro|"
    r"fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro)"
)
_UNIT = (
    r"(?:%|‰|°|percent|prozent|euros?|eur|usd|dollars?|pounds?|chf|€|\$|£|¥|元|块|k?m[²³]?|[cmd]m|kg|g|mg|t|l|ml|"
    r"[kmgt]i?b|k?wh?|tokens?|hours?|hrs?|h|min(?:utes?)?|days?|weeks?|months?|years?|stunden?|tagen?|wochen?|"
    r"monaten?|jahren?|heures?|jours?|semaines?|mois|ans|horas?|días?|dias?|semanas?|meses|años|anos|ore|giorni|"
    r"settimane|mesi|anni|people|persons?|personen|天|月|年|号|岁|米|公斤)"
)
_FIGURE = re.compile(
    r"[€$£¥]\s?\d[\d.,]{0,14}"
    rf"|\d[\d.,]{{0,14}}\s?{_UNIT}(?![^\W\d_])"
    r"|(?<![一二两三四五六七八九十百千万])[一二两三四五六七八九十百千万]+(?:元|块|天|个月|年|号|岁|米|公斤)"
    r"|\b\d{1,2}[:h]\d{2}\b|\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th|\.|º)?\s(?:of |de |d')?{_MONTH}\b|\b{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?\b"
    # With a rate or a limit.
    r"|\d[\d.,]{0,14}k?\s(?:an?|per|pro|par|por|al|im|à l')\s?[^\W\d_]{3,}"
    r"|\b(?:at (?:least|most)|no more than|mindestens|höchstens|au (?:moins|plus))\s\d+"
    r"|\b(?:al menos|almeno|pelo menos)\s\d+"
    # Versions, addresses, colours, numbers of flights and lines, and numbers with separators.
    r"|\b\d+(?:\.\d+){2,3}\b|#[0-9a-f]{6}\b|\b[A-Z]{2,3}[ -]?\d{3,}\b"
    r"|\b(?:port|line|version|room|page)\s\d+\b"
    r"|\b\d{1,3}(?:[.,']\d{3})+\b|\b[a-z]\w+ \d+\.\d+\b",
    re.IGNORECASE,
)
_WEEKDAY = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|lundi|mardi|"
    r"mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo|lunedì|martedì|"
    r"mercoledì|giovedì|venerdì|sabato|domenica|(?:segunda|terça|quarta|quinta|sexta)-feira"
)
# Numbers of a list ("1. …") are none.
_NUMBER = re.compile(
    rf"(?<![\w.#])(?!\d{{1,2}}[.)]\s)\d[\d.,]{{0,14}}k?(?!\w)|\b(?:{_WEEKDAY})\b|(?:周|星期)[一二三四五六日天]",
    re.IGNORECASE,
)
_TIME_WORD = re.compile(rf"(?:{_WEEKDAY}|{_MONTH})", re.IGNORECASE)
# Blocks, spans, and the names of errors and variables.
_CODE = re.compile(
    r"```.+?```|~~~.+?~~~|`[^`\n]{3,}`|\b[A-Z]\w*(?:Error|Exception)\b|\b[a-z]+_[a-z_]+\b", re.DOTALL
)
# A name after words that introduce one, in seven languages, or after a title.
_INTRODUCED = re.compile(
    r"\b(?:called|named|(?:name|boss|wife|husband|son|daughter|sister|brother|doctor) is|heißt|heiße|"
    r"s'appelle|m'appelle|se llama|me llamo|si chiama|mi chiamo|chama-se|chamo-me)\s+(?P<name>[^\W\d_]\w+)"
    r"|\b(?:Mr|Mrs|Ms|Dr|Prof|Herrn?|Frau|Mme|M|Sr|Sra|Sig|Dra)\.?\s+(?P<titled>[A-ZÀ-Ý]\w+)"
    r"|(?:叫做?|名叫|姓)(?P<chinese>[\u4e00-\u9fff]{1,3})",
)
# A capital letter within a sentence; in German every noun has one.
_CAPITALISED = re.compile(r"(?<=[a-zà-ÿ\d,;] )(?!I\b)[A-ZÀ-Þ][\w'-]+")
_GERMAN = re.compile(
    r"\b(?:ich|und|der|die|das|wir|ist|nicht|mein\w*|für|auf|dann|es|mit|mir|bitte|eine?[nrms]?|über|von|zum?|"
    r"im|dem|den|du|was|wie|auch|hat|aus|nach|vielen|danke?)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n+|(?<=[。！？])")
_QUESTION = re.compile(r"[?？][\s»”\"')]*$")
# What a sentence that wants something written or explained begins with.
_REQUEST = re.compile(
    r"\A(?:(?:please|bitte|now|then|ok|and|can you|could you|por favor|per favore|请)[, ]*)*"
    r"(?:(?:translate|write|explain|tell|give|suggest|make|list|show|describe|summari[sz]e|continue|find|compare|"
    r"rewrite|schreib|erklär|gib|zeig|übersetz|mach|écris|explique|donne|traduis|montre|escribe|explica|dame|"
    r"traduce|scrivi|spiega|dammi|traduci|escreve|traduz)\w{0,3}\b|写|解释|翻译|给我)",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:maybe|perhaps|might|could|not sure|i don't know|vielleicht|könnten?|peut-être|quizás?|forse)\b"
    r"|\btalvez\b|也许|可能",
    re.IGNORECASE,
)


def score_importance(text: str, *, is_reply: bool = False) -> float:
    """Return how important a message is, 0 to 1; `is_reply` for one of the assistant.

    Deterministic. Takes a few milliseconds at most, whatever the length of the text.
    """
    signs = count_signs(text)
    weights = _REPLY_WEIGHTS if is_reply else _WEIGHTS
    left = 1.0
    for signal, number in signs.items():
        left *= (1 - weights[signal]) ** min(number, _MAX_SIGNS)
    is_question = not any(map(_states, _split(_read(text))))
    return round((1 - left) * (_QUESTION_FACTOR if is_question else 1), 4)


def resolve_importance(stored: float | None, text: str, *, flagged: bool = False, is_reply: bool) -> float:
    """Return the importance of a message, 0 to 1: 1 where the user flagged it, else the stored one.

    Where none is stored it is scored now; `text` is needed only then.
    """
    if flagged:
        return 1.0
    return score_importance(text, is_reply=is_reply) if stored is None else stored


def count_signs(text: str) -> dict[Signal, int]:
    """Return how many different signs of each kind the statements of a message have, 1 or more.

    The signs of questions count where a message has nothing but questions.
    """
    text = _read(text)
    code = len(_CODE.findall(text))
    prose = _CODE.sub(" ", text)
    sentences = [sentence for sentence in _split(prose) if _states(sentence)] or _split(prose)
    statements = "\n".join(sentences)
    decided = [s for s in sentences if DECISION.search(s) and not _UNSURE.search(s)]
    found = {
        Signal.REMEMBER: int(
            any(request.kind is RequestKind.REMEMBER for request in find_worded_requests(prose))
        ),
        Signal.DECISION: int(bool(decided)),
        Signal.CODE: code,
        Signal.FIGURE: _count_different(_FIGURE, statements),
        Signal.NUMBER: _count_different(_NUMBER, _FIGURE.sub(" ", statements)),
        Signal.NAME: len(_find_names(statements)),
    }
    return {signal: number for signal, number in found.items() if number}


def _count_different(pattern: re.Pattern[str], text: str) -> int:
    return len({match.group().casefold() for match in pattern.finditer(text)})


def _find_names(text: str) -> set[str]:
    # A name that is introduced counts twice: "My sister is called Marta" is about the name.
    introduced = {name for m in _INTRODUCED.finditer(text) for name in m.groups() if name}
    found = {*introduced, *(f"{name} (introduced)" for name in introduced)}
    if not _GERMAN.search(text):
        names = (m.group() for m in _CAPITALISED.finditer(text))
        found.update(name for name in names if not _TIME_WORD.fullmatch(name))
    return found


def _read(text: str) -> str:
    if len(text) <= _MAX_CHARACTERS:
        return text
    half = _MAX_CHARACTERS // 2
    return f"{text[:half]}\n{text[-half:]}"


def _split(text: str) -> list[str]:
    return [sentence for part in _SENTENCE_END.split(text) if (sentence := part.strip())]


def _states(sentence: str) -> bool:
    return not _QUESTION.search(sentence) and not _REQUEST.match(sentence)
