"""Regular expressions that recognise questions to the entity graph, in seven languages."""

from __future__ import annotations

import re

from .types import KINSHIP_RELATIONS, EntityType

HOME_RELATIONS = frozenset({"lives_in", "lives_near"})

# The name at the end of a question.
_NAME = r"(?P<name>[^?？!！。]+?)"
_END = r"\s*[?？!！。.]*$"

# Questions about everything known of a name: "Who is Emeka?", "Tell me about Fork".
ABOUT_NAME_PATTERNS = tuple(
    re.compile(pattern + _END, re.I)
    for pattern in (
        rf"^(?:what|who)(?:'s| is| are| was) (?!my\b|in my\b|i\b|the (?:meaning|point|weather)){_NAME}",
        rf"^(?:what|anything).*? know (?:about|of) {_NAME}",
        rf"^tell me (?:more )?about {_NAME}",
        rf"^(?:wer|was) (?:ist|sind|war) (?!mein|ich\b){_NAME}",
        rf"^was (?:weiß|weiss|weißt|weisst) (?:ich|du) (?:über|von) {_NAME}",
        rf"^qui est (?!dans\b|mon\b|ma\b){_NAME}",
        rf"^(?:que sais-je|qu'est-ce que (?:je|tu) sais|que sais-tu) (?:sur|de|d') ?{_NAME}",
        rf"^quién(?:es)? (?:es|son) (?!mi\b|mis\b){_NAME}",
        rf"^qué (?:sé|sabes) (?:de|sobre|acerca de) {_NAME}",
        rf"^chi è (?!mi[ao]\b|il mio\b|la mia\b){_NAME}",
        rf"^(?:che )?cosa (?:so|sai) (?:di|su|del) {_NAME}",
        rf"^quem é (?!meu\b|minha\b|o meu\b|a minha\b){_NAME}",
        rf"^o que (?:eu )?(?:sei|você sabe|sabes) (?:de|do|da|sobre) {_NAME}",
        r"^谁是(?P<name>[^?？我]+?)",
        r"^(?P<name>[^?？我]+?)是谁",
        r"^关于(?P<name>.+?)[,，]?我?(?:知道|了解).*",
        r"^我(?:知道|了解)(?P<name>[^什]+?)(?:的)?什么",
    )
)

# Questions about one relation of a named entity, with the asked relations: "What does Fork use?".
NAMED_SUBJECT_PATTERNS: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = tuple(
    (re.compile(pattern + _END, re.I), relations)
    for pattern, relations in (
        (rf"^what does (?!the user\b){_NAME} (?:use|need|run on|depend on)", frozenset({"uses"})),
        (rf"^what(?:'s| is) {_NAME} (?:written|built|made) (?:in|with|of|on)", frozenset({"uses"})),
        (rf"^where does {_NAME} live", HOME_RELATIONS),
        (rf"^where does {_NAME} work", frozenset({"works_at"})),
        (rf"^was (?:benutzt|nutzt|verwendet|braucht) (?!ich\b){_NAME}", frozenset({"uses"})),
        (rf"^wo (?:wohnt|lebt) {_NAME}", HOME_RELATIONS),
        (rf"^(?:qu'utilise|qu'est-ce qu'utilise|que utilise) (?!je\b|-t){_NAME}", frozenset({"uses"})),
        (rf"^où habite {_NAME}", HOME_RELATIONS),
        (rf"^qué (?:usa|utiliza) {_NAME}", frozenset({"uses"})),
        (rf"^dónde vive {_NAME}", HOME_RELATIONS),
        (rf"^(?:che )?cosa (?:usa|utilizza) {_NAME}", frozenset({"uses"})),
        (rf"^dove (?:abita|vive) {_NAME}", HOME_RELATIONS),
        (rf"^o que (?!eu\b){_NAME} (?:usa|utiliza)", frozenset({"uses"})),
        (rf"^onde (?!eu\b){_NAME} (?:mora|vive)", HOME_RELATIONS),
        (r"^(?P<name>[^?？我]+?)(?:使用|用)(?:了|的)?什么.*", frozenset({"uses"})),
        (r"^(?P<name>[^?？我]+?)住在?哪.*", HOME_RELATIONS),
    )
)

# Patterns of words for relatives, by relation.
_KINSHIP_WORDS: dict[str, str] = {
    "sister": r"sisters?|schwestern?|sœurs?|soeurs?|hermanas?|sorell[ae]|irmãs?|姐姐|妹妹",
    "brother": r"brothers?|bruder|brüder|frères?|hermanos?|fratell[oi]|irmãos?|irmão|哥哥|弟弟",
    "wife": r"wife|ehefrau|(?:meine )frau|femme|épouse|esposa|moglie|(?:minha )mulher|妻子|老婆",
    "husband": r"husband|ehemann|(?:mein )mann|mari|époux|esposo|marito|marido|丈夫|老公",
    "daughter": r"daughters?|töchter|tochter|(?:mes |ma )filles?|hijas?|figli[ae]|filhas?|女儿",
    "son": r"sons?|söhne|sohn|fils|hijos?|figli?o?|filhos?|儿子",
    "mother": r"mother|mum|mom|mutter|mère|madre|mãe|妈妈|母亲",
    "father": r"father|dad|vater|père|padre|pai|爸爸|父亲",
    "child": r"child(?:ren)?|kids?|kinder|enfants?|孩子",
    "parent": r"parents|eltern|genitori|父母",
}

# Patterns of questions about the owner, with the asked relations. The first pattern that matches decides, so
# negated forms ("don't like") come before the others.
_RELATIONS: tuple[tuple[str, frozenset[str]], ...] = (
    (
        r"\bfamil(?:y|ie|le|ia|ília)\b|\bfamiglia\b|\bfamille\b|\brelatives\b|家里|家人|亲人",
        frozenset(KINSHIP_RELATIONS),
    ),
    *(
        (rf"(?:\b|(?<=的))(?:{words})(?:\b|$|(?=[是叫]))", frozenset({role}))
        for role, words in _KINSHIP_WORDS.items()
    ),
    (
        r"\b(?:pets?|dogs?|cats?|haustiere?|hund|katze|animaux|chien|chat|mascotas?|perro|gato|animali|cane|"
        r"gatto|animais|cachorro)\b|宠物|[猫狗]",
        frozenset({"has_pet"}),
    ),
    (
        r"\b(?:dislikes?|hate|avoid|can't stand|(?:don't|do not) (?:i )?(?:like|love)|hasse|mag ich nicht|"
        r"n'aime\b.*\bpas|déteste|no me gusta\w*|odio|detesto|non mi piac\w+|não gosto|odeio)\b|不喜欢|讨厌",
        frozenset({"dislikes", "avoids"}),
    ),
    (r"\ballerg\w*|\balérgic\w+|过敏", frozenset({"allergic_to"})),
    (
        r"\b(?:give up|gave up|given up|quit|aufgehört|arrêté|dejado|smesso|parei)\b|戒",
        frozenset({"gave_up"}),
    ),
    (
        r"\bprefer\b.*\b(?:answers?|repl(?:y|ies))\b|\banswers?\b.*\b(?:prefer|want|like)\b",
        frozenset({"prefers", "avoids"}),
    ),
    (
        r"\b(?:like|love|enjoy|prefer|fan of|mag|liebe|gefällt|gefallen|aime|adore|gustan?|encantan?|"
        r"piace|piacciono|amo|gosto|adoro)\b|喜欢",
        frozenset({"likes", "prefers", "admires"}),
    ),
    (r"\b(?:admire|bewundere|admiro|ammiro)\b|佩服|敬佩", frozenset({"admires"})),
    (
        r"\b(?:struggle|struggling|kämpfe|lutte|lucho|lotto|fatico|luto)\b",
        frozenset({"struggles_with"}),
    ),
    (
        r"\b(?:eat|diet|esse|ernährung|mange|como|dieta|mangio|regime)\b|吃",
        frozenset({"eats", "avoids"}),
    ),
    (
        r"\b(?:play|instruments?|spiele|joue|toco|suono|jogo)\b",
        frozenset({"plays"}),
    ),
    (
        r"\b(?:visit(?:ed)?|travel(?:led|ed|ling|ing)?|trips?|besucht|reise\w*|visité|voyages?|viajes?|"
        r"viagg[io]|viagens)\b|旅行",
        frozenset({"visits"}),
    ),
    (
        r"\b(?:languages?|sprachen?|spreche|langues?|parle|idiomas?|hablo|lingue|parlo|línguas?|falo)\b"
        r"(?!.*\bprogramming\b)|语言|会说",
        frozenset({"speaks"}),
    ),
    (
        r"\b(?:learn(?:ing)?|study(?:ing)?|lerne|studiere|apprends|étudie|aprendo|aprendiendo|estudio|imparo|"
        r"imparando|studio|aprendendo|estudo)\b|在学|学习",
        frozenset({"learns", "studies"}),
    ),
    (
        r"\b(?:deadlines?|due|fristen?|abgaben?|échéances?|plazos?|entregas?|scadenz[ae]|prazos?)\b|截止",
        frozenset({"must_finish"}),
    ),
    (
        r"\b(?:goals?|plan(?:s|ning)?|aim(?:ing)?|saving|training|ziele?|objectifs?|metas?|objetivos?|"
        r"obiettiv[oi])\b|目标|计划",
        frozenset({"aims_for"}),
    ),
    (
        r"\b(?:build(?:ing)?|mak(?:e|ing)|writ(?:e|ing)|develop(?:ing)?|work(?:ing)? on|projects?|baue|"
        r"arbeite ich an|woran arbeite|projekte?|construis|projets?|construyendo|proyectos?|costruendo|"
        r"progett[oi]|construindo|projetos?)\b|在做|项目|开发",
        frozenset({"builds"}),
    ),
    (
        r"\bwhere\b.*\bfrom\b|\bwoher\b|d'où\b|\bde dónde\b|\bda dove\b|\bdi dove\b|\bde onde\b|来自",
        frozenset({"comes_from"}),
    ),
    (
        r"\b(?:where\b.*\bwork\w*|work for|employer|employers|wo arbeite|où .*\btravaill\w+|dónde trabaj\w+|"
        r"dove lavor\w+|onde .*\btrabalh\w+)\b|在哪.*(?:工作|上班)",
        frozenset({"works_at"}),
    ),
    (
        r"\b(?:jobs?|profession|occupation|for a living|beruf|métier|profesión|trabajo|professione|lavoro|"
        r"profissão|trabalho)\b|职业",
        frozenset({"works_as", "works_at", "studies", "studies_at"}),
    ),
    (
        r"\bwhere\b.*\b(?:live|lived|living)\b|\bwo\b.*\b(?:wohne|lebe|gewohnt|gelebt)\b|"
        r"\boù\b.*\b(?:habite|habité|vis|vécu)\b|\bdónde\b.*\b(?:vivo|vivido|viví|vivía)\b|"
        r"\bdove\b.*\b(?:abito|vivo|vissuto|abitato)\b|\bonde\b.*\b(?:moro|morei|vivo|vivi)\b|住",
        HOME_RELATIONS,
    ),
    (
        r"\b(?:used?|using|work with|benutze|nutze|verwende|utilise|uso|utilizo|utilizzo)\b|用",
        frozenset({"uses"}),
    ),
)
RELATION_PATTERNS = tuple((re.compile(pattern, re.I), relations) for pattern, relations in _RELATIONS)

# Words for entity types: "Which tools …", "Welche Städte …".
_TYPE_WORDS: tuple[tuple[str, EntityType], ...] = (
    (
        r"\b(?:tools?|software|programs?|apps?|werkzeuge?|outils?|logiciels?|herramientas?|strument[oi]|"
        r"ferramentas?)\b|工具|软件",
        "tool",
    ),
    (
        r"\b(?:places?|cit(?:y|ies)|countr(?:y|ies)|towns?|orte?|städte?|länder|lieux|villes?|pays|"
        r"lugares|ciudades|países|luoghi|città|paesi|cidades)\b|地方|城市|国家",
        "place",
    ),
    (
        r"\b(?:people|persons?|leute|menschen|personen|wen|personnes|gens|personas?|persone|"
        r"pessoas?)\b|认识谁|哪些人",
        "person",
    ),
    (
        r"\b(?:organi[sz]ations?|compan(?:y|ies)|firmen|organisationen|entreprises?|empresas?|"
        r"organizaciones|aziende|organizzazioni|organizações)\b|公司|组织",
        "organisation",
    ),
)
TYPE_PATTERNS = tuple((re.compile(pattern, re.I), type_) for pattern, type_ in _TYPE_WORDS)
# Questions that include former relations: "Where did I live before?".
PAST_PATTERN = re.compile(
    r"\b(?:have i|did i|used to|was i|were|before|earlier|formerly|habe ich\b.*\bge\w+|früher|war ich|ai-je|"
    r"j'ai|avant|in the past|"
    r"he (?:vivido|trabajado|usado)|viví\w*|antes|ho (?:vissuto|abitato|lavorato|usato)|prima|morei|vivi|"
    r"trabalhei|usei)\b|以前|过(?:哪|什|[?？]|$)|曾",
    re.I,
)
# Questions about everything known of the owner: "What do you remember about me?".
EVERYTHING_PATTERN = re.compile(
    r"\babout me\b|\büber mich\b|\bsur moi\b|\bsobre m[íi]m?\b|\bdi me\b|关于我|\bremember\b", re.I
)
# Words for the owner: "I", "my", "ich", "vivo", "我".
OWNER_PATTERN = re.compile(
    r"\b(?:i|my|me|ich|mein\w*|mir|je|j'\w+|j|mes|mon|ma|yo|mis?|io|mi[oae]i?|miei|eu|meus?|minhas?|the user|"
    r"user|vivo|uso|amo|abito|moro|parlo|hablo|falo|gosto|odio|he|ho|aprendo)\b|ai-je|我",
    re.I,
)
# A text of one to three words; without a question word it is a name.
BARE_NAME_PATTERN = re.compile(r"^[^\s?]+(?: [^\s?]+){0,2}$")
# Words that begin a question.
QUESTION_WORD_PATTERN = re.compile(
    r"^(?:what|who|where|which|when|why|how|do|is|are|was|wer|wo|wie|wann|qui|que|où|quand|qué|quién|dónde|cómo|"
    r"chi|che|cosa|dove|quem|onde|como)\b|什么|谁|哪|怎",
    re.I,
)
