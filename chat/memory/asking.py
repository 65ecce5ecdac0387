"""What a message asks for, by its words: the user's own person, everything known, or nothing. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from chat.memory.changes import forget_changes
from chat.memory.fields import asked_fields, forget_words
from chat.memory.lines import one_line
from chat.memory.similar import SCAFFOLD_STEMS, forget_similar, stem, tokens
from chat.memory.words import FUNCTION

_HAN = re.compile(r"[\u3400-\u9fff]+")
_REMEMBERED = 8192


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# "I" alone says nothing: it stands in nearly every message. Nor does the "me" of a request.
_REQUEST = re.compile(
    r"\b(?:tell|give|show|help|explain(?: \w+)? to|explain|teach|let|make|write|send|bring|find|get|excuse|"
    r"recommend|suggest|remind|walk|convince) me\b|\b(?:sag|gib|zeig|hilf|erklär|schreib|nenn)e? mir\b|"
    r"\b(?:dis|donne|explique|montre|aide|écris)-moi\b|\bdi mi piacere\b",
    re.IGNORECASE,
)
_PERSONAL = re.compile(
    r"\b(?:my|mine|me|myself|our|ours|us|where i|where we|who i|when i|"
    r"mein\w*|mir|mich|unser\w*|mon|ma|mes|moi|notre|nos|mi|mis|mío|mía|nuestr\w*|mio|mia|miei|mie|"
    r"meu|minha|meus|minhas)\b|我的|我家|给我|为我|对我",
    re.IGNORECASE,
)
_ABOUT_USER = re.compile(
    r"\b(?:(?:know|learned|learnt|remember(?:ed)?|noted|saved|stored|memor(?:y|ies)) (?:\w+ )?"
    r"(?:about|of|on) me|who (?:am i|i am)|do you (?:know|remember) me|know me|remember me|"
    r"(?:what|anything|everything|all)(?: that| else)? (?:do )?you (?:remember|know|have stored)"
    r"(?: from \w+)?\s*\??$|"
    r"told you about m(?:e|yself)|describe me|introduce me|sum me up|summari[sz]e me|profile of me|"
    r"(?:show|see|view|what's in|what is in)(?: me)? my profile|about myself|my bio\b|"
    r"(?:bio|biography|portrait|introduction|summary) (?:of|about|for) (?:me|myself)|"
    r"über mich|wer (?:bin ich|ich bin)|kennst du mich|beschreib mich|mein profil|"
    r"(?:sais|savez|souviens|retenu|connais)\b.{0,20}\b(?:de|sur) moi|sur moi|qui (?:suis-je|je suis)|"
    r"mon profil|(?:sobre|de) mí\b|sobre mi\b(?! \w)|quién soy|mi perfil|"
    r"su di me|sai di me|ricordi di me|chi sono|il mio profilo|"
    r"sobre mim|de mim|quem (?:sou|eu sou)|meu perfil)"
    r"|关于我|了解我|我是谁|认识我|记得我",
    re.IGNORECASE,
)
_GREETING = _set(
    "hi hello hey hiya yo howdy greetings good morning afternoon evening night day welcome back there "
    "again how are you doing today going is it what's up sup thanks thank ok okay great cool nice bye "
    "goodbye see later soon cheers so much very that was all my friend dear nice to meet everything "
    "hallo guten morgen tag abend nacht moin servus grüß gott wie geht's geht es dir ihnen danke "
    "schön tschüss bis bald na bonjour bonsoir salut coucou merci beaucoup ça va comment vas-tu "
    "allez-vous au revoir bonne nuit journée hola buenos buenas días dias tardes noches qué que tal "
    "cómo como estás estas gracias muchas adiós hasta luego ciao buongiorno buonasera buonanotte "
    "salve come stai sta grazie mille arrivederci va olá ola oi bom boa dia tarde noite tudo bem "
    "obrigado obrigada tchau até logo você está vai"
)
_GREETING_ZH = re.compile(
    r"[你您]好|早上好|晚上好|下午好|早安|晚安|嗨|哈喽|谢谢|再见|吗|最近怎么样|[\s，。！？!?,.~～]"
)
_DRAWN_OUT = re.compile(r"(\w)\1{2,}")
# They stand beside anything, so sharing them says nothing.
_WEAK = frozenset(
    stem(word)
    for word in _set(
        "thing things year years day days time times today tomorrow tonight week weeks month weekend make "
        "makes made get gets got go goes going come comes good best better great new old big small little "
        "long short way ways people person number first second last next one two use uses using used need "
        "needs much many more most some any all other every know think help tell give show find can could "
        "would should will may might must let try keep look start idea ideas question answer answers "
        "about after before around without into out up down over under really still ever never always "
        "often only well right away take takes write read plan work works live lives play plays eat eats "
        "drink drinks favourite favorite called friend home tag tage jahr jahre zeit machen macht gut "
        "heute morgen immer jour jours année temps fois faire fait bon día días año años hacer hago bueno "
        "giorno giorni anno fare fatto buono dia dias ano fazer faço bom was wie wo wer kann soll will "
        "muss gibt comment quoi puis peux faut cómo qué dónde puedo debo come dove posso devo como onde"
    )
)
# Chinese pairs that carry no meaning of their own, by a character in them.
_EMPTY_PAIR = re.compile(r"[用户的了在是有和也我你他她它什么怎喜欢一个不吃去想要可以]")
# The commonest words of each language, without those that are common in another too ("was", "die").
_ENGLISH = _set(
    "user user's the a an and is are am do does did has have had how what which why when where who "
    "whose can could should would will i i'm i've i'd my you your it it's this that these those of to "
    "for with on at from by be been not there we our they their she he his her if than or but any "
    "some about give tell"
)
_FOREIGN = _set(
    "ich und ist der das den dem mein meine nicht mit bin habe auf ein eine einen im wie wo wer für "
    "von zu mir mich kann soll je le les et mon ma est pas avec dans pour une un des du que qui quoi "
    "quel quelle vous moi el los las mi una con en por para como del al se mis il lo gli della di che "
    "per una sono mio mia cosa os as um uma meu minha com em do da no na o posso puedo puis"
)


@dataclass(frozen=True, slots=True)
class Ask:
    """What a message asks for; `fields` are the fields of life that it touches."""

    terms: frozenset[str]
    fields: frozenset[str]
    about_user: bool
    personal: bool
    greeting: bool
    english: bool


@lru_cache(maxsize=256)
def read(message: str) -> Ask:
    """Return what a message asks for, judged by its words."""
    about_user = bool(_ABOUT_USER.search(message))
    return Ask(
        terms=terms(message),
        fields=asked_fields(message),
        about_user=about_user,
        personal=about_user or bool(_PERSONAL.search(_REQUEST.sub(" ", message))),
        greeting=not about_user and is_greeting(message),
        english=is_english(message),
    )


def is_greeting(message: str) -> bool:
    """Return whether a message only greets, thanks or says goodbye."""
    bare = _GREETING_ZH.sub("", message) if _HAN.search(message) else message
    words = [_DRAWN_OUT.sub(r"\1", w.casefold()) for w in tokens(bare)]
    return all(w in _GREETING for w in words)


@lru_cache(maxsize=_REMEMBERED)
def is_english(text: str) -> bool:
    """Return whether vectors of an English embedder mean something for this text."""
    words = [w.casefold() for w in tokens(text)]
    ours = sum(w in _ENGLISH for w in words)
    return text.isascii() and ours > sum(w in _FOREIGN for w in words)


def may_be_english(text: str) -> bool:
    """Return whether nothing speaks against English: of a word alone more cannot be said."""
    words = [w.casefold() for w in tokens(text)]
    return text.isascii() and sum(w in _ENGLISH for w in words) >= sum(w in _FOREIGN for w in words)


@lru_cache(maxsize=_REMEMBERED)
def terms(text: str) -> frozenset[str]:
    """Return what two texts share when they speak of the same: stems, and pairs of Chinese characters."""
    found = {term for word in tokens(text) if (term := _term(word))}
    if not text.isascii():
        pairs = {run[i : i + 2] for run in _HAN.findall(text) for i in range(len(run) - 1)}
        found.update(pair for pair in pairs if not _EMPTY_PAIR.search(pair))
    return frozenset(found)


def forget_texts() -> None:
    """Drop what is remembered of texts, so that no word of a forgotten fact stays in this process."""
    forget_words()
    forget_similar()
    forget_changes()
    for function in (read, is_english, terms, _term, one_line):
        function.cache_clear()


@lru_cache(maxsize=_REMEMBERED)
def _term(word: str) -> str:
    """Return the stem of a word that says something, else an empty string."""
    root = stem(word)
    empty = word.casefold() in FUNCTION or root in SCAFFOLD_STEMS or root in _WEAK
    return "" if empty or len(root) < 2 or _HAN.match(root) else root
