"""Detects sentences that state no fact about the user: questions, requests, hypotheses, hedges, jokes.

The upper-case constants are reason codes of `chat.errors`; they are stored with refused facts.
"""

from __future__ import annotations

import re

from . import irony

QUESTION = "is-question"
REQUEST = "is-request"
ROLE_PLAY = "is-role-play"
HYPOTHETICAL = "is-hypothetical"
HEDGED = "is-hedged"
JOKE = "is-joke"
SYSTEM = "is-order-to-memory"
OTHERS = "is-about-others"
UNSAFE = "is-secret"
WORLD = "is-about-world"
KEPT_OUT = "is-kept-out"
FORGETTING = "is-forget-request"


def _compile_any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.I)


# Control tokens ("<|im_end|>"), role prefixes ("system: …"), "ignore your instructions", "save the fact that
# the user …". Such an order begins a clause: "my job is to override old guidelines" is none. "<s>" is a tag
# of HTML too, so only "</s>" followed by "<s>" counts.
_ORDER_START = (
    r"(?:^|[.!?:;,]\s*+|(?<!\s)(?=[^\S\n]*\n)\s++|"
    r"\b(?:please|now|and|then|must|should|you|you to|task is to|let'?s|\w+ly)\s+)"
)
_INJECTION = _compile_any(
    r"<\|[^|>]{1,40}\|>|</?(?:bos|eos|system|start_of_turn|end_of_turn)>|</s>\s*<s>|\[/?INST\]|<<SYS>>",
    r"^\s*(?:system|assistant|developer)\s*[:：]",
    _ORDER_START
    + r"(?:ignore|disregard|forget|override)\b.{0,30}\b(?:instructions?|rules?|prompts?|guidelines)\b",
    r"\b(?:save|store|add|record|write|remember|note)\b.{0,30}\b(?:fact|memory|that)\b.{0,12}\bthe user\b",
    r"\bignor(?:iere|ez|a|e)\b.{0,30}\b(?:anweisungen|instructions|instrucciones|istruzioni|"
    r"instruções)\b|忽略.{0,12}(?:指令|指示)",
)
# "If I were rich", "suppose …", "I wish I …", "wenn ich … wäre", "si j'étais".
_HYPOTHETICAL = _compile_any(
    r"\bif (?:i|we) (?:were|was|had|could|would|lived|moved|became|won|owned|earned|worked|ever|got|"
    r"made|did|went)\b",
    r"\bif (?:i|we)'d\b|\b(?:suppose|supposing|hypothetically|what if|let'?s say)\b|"
    r"^(?:just )?imagine\b|^say,? i\b",
    r"\bi wish (?:i|we)\b|\bi (?:would|'d) (?:be|have been|live|move)\b",
    r"\bwenn ich\b.{0,60}\b(?:wäre|hätte|würde|könnte)\b|\b(?:angenommen|stell dir vor|gesetzt den fall)\b",
    r"\bsi j(?:'|e )\w*\b.{0,40}\b(?:étais|avais|vivais|habitais|gagnais|pouvais|travaillais)\b|"
    r"\bsi j'(?:étais|avais|habitais)\b"
    r"|\bsi je (?:vivais|gagnais|pouvais|travaillais|devenais)\b|\b(?:imagin(?:e|ons|ez)|supposons)\b",
    r"\bsi (?:yo )?(?:fuera|fuese|tuviera|viviera|pudiera|ganara|trabajara)\b|\b(?:imagina|supongamos|"
    r"suponiendo)\b",
    r"\bse (?:io )?(?:fossi|avessi|vivessi|potessi|vincessi|lavorassi)\b|\b(?:immagina|supponiamo|"
    r"mettiamo che)\b",
    r"\bse (?:eu )?(?:fosse|tivesse|morasse|pudesse|ganhasse|trabalhasse)\b|\b(?:imagine que|suponha|"
    r"digamos)\b",
    r"如果我?|假如|假设|要是",
)
# "Maybe", "not sure", "thinking about", "vielleicht", "peut-être", "也许".
_HEDGE = _compile_any(
    r"\b(?:maybe|perhaps|might|possibly|not (?:so )?sure|unsure|someday|some day|one day(?! (?:a|per|"
    r"each|every)\b)|no idea (?:if|"
    r"whether))\b",
    r"\b(?:thinking (?:about|of)|considering|toying with|wondering (?:if|whether)|debating|tempted to|"
    r"(?:i|we|user) may)\b",
    r"\bi (?:guess|suppose)\b|\bi think i(?:'m| am|'ll| will| may| could)\b|\bi could (?:try|"
    r"see myself)\b|\bhaven'?t decided\b",
    r"\b(?:vielleicht|eventuell|möglicherweise|womöglich|überlege|bin (?:mir )?(?:nicht|un)\s?sicher|"
    r"irgendwann)\b",
    r"\b(?:peut-être|j'hésite|j'envisage|je songe|pas sûre?|un jour(?! (?:sur|par)\b))\b",
    r"\b(?:quizás?|tal vez|a lo mejor|puede que|estoy pensando en|no estoy segur[oa]|algún día)\b",
    r"\b(?:forse|magari|può darsi|sto pensando di|non sono sicur[oa]|un giorno(?! (?:su|alla)\b))\b",
    r"\b(?:talvez|quem sabe|estou pensando em|estou a pensar em|não tenho certeza|um dia(?! (?:por|"
    r"sim)\b))\b",
    r"也许|或许|说不定|可能|考虑|不确定",
)
# Words for dates of work. Such a sentence is about the user without "I": "The launch slipped to 10 December".
_SCHEDULE = _compile_any(
    r"\b(?:due|deadline|launch\w*|release\w*|ships?|shipping|deliver\w*|submission|exam|audit|inspection|"
    r"hearing|slipped|pushed|postponed|delayed|rescheduled|extended|(?:brought|moved) (?:forward|back|to)|"
    r"(?:has|have|had|needs?) to be \w+ (?:by|before)|must be \w+ (?:by|before)|"
    r"(?:handed|sent) in (?:by|before|on)|verschoben|vorverlegt|verlängert|fällig|abgabe|repoussée?|"
    r"avancée?|reportée?|aplaz\w+|adelant\w+|"
    r"rinviat[oa]|anticipat[oa]|adiad[oa]|antecipad[oa])\b|推迟|延期|提前|截止"
)
# "Write …", "please summarise …", "can you …", "I need you to …", "schreib …", "帮我…".
_REQUEST = _compile_any(
    r"^(?:(?:please|kindly|now|then|ok|okay|hey|hi|and|also|bitte|por favor|per favore|s'il te plaît|请)"
    r"[, ]+)*"
    r"(?:write|draft|compose|summari[sz]e|translate|explain|describe|give me|list|make|create|generate|"
    r"suggest|recommend|tell (?:me|her|him|them|my|the|everyone)|"
    r"show|help|fix|find|compare|plan|convert|check|rewrite|rephrase|calculate|compute|design|build me|"
    r"draw|review|proofread|"
    r"correct|improve|shorten|expand|invent|give|outline|brainstorm|search|look up|teach|recite|"
    r"name (?:a|some|three|five)|what about|how about|"
    r"schreib|antworte|nenn|erklär|übersetze|fasse|gib mir|zeig|hilf|nenne|empfiehl|mach mir|erstelle|"
    r"écris|réponds|répondez|explique|traduis|résume|donne|montre|aide|"
    r"propose|escribe|responde|recomiéndame|dime|cuéntame|búscame|enséñame|explícame|llámame|explica|"
    r"traduce|resume|dame|muestra|ayúdame|recomienda|hazme|"
    r"scrivi|rispondi|spiega|traduci|riassumi|dammi|mostra|aiutami|"
    r"consiglia|fammi|escreva|responda|explique|traduza|resuma|me dê|mostre|me ajude|sugira|recomende|"
    r"faça)e?\b",
    r"^(?:(?:please|also|and|so|ok|okay|hey|hi)[, ]+)*(?:(?:can|could|would|will) you|i(?:'d|"
    r" would) like you to|i (?:need|want) you to|"
    r"i need (?:help|a hand)|kannst du|könntest du|peux-tu|pourrais-tu|tu peux|puedes|podrías|puoi|"
    r"potresti|você pode|pode)\b",
    r"^(?:请|帮我|给我|写一|翻译|解释|推荐)",
)
# Words of a request that is meant for all later answers and is therefore stored: "from now on", "call me …",
# "bullet points", "remember that …".
_STANDING_REQUEST = _compile_any(
    r"\b(?:always|never|from now on|in (?:the )?future|every time|each time|whenever|by default|"
    r"going forward|henceforth)\b",
    r"\b(?:keep|make|give|write|want|prefer|like) (?:\w+ ){0,3}(?:answers?|replies|reply|responses?|"
    r"explanations?|it|things) \w+",
    r"\b(?:answers?|replies|reply|respond|answer me|talk to me|speak to me|address me|call me|"
    r"code examples?|bullet points?|metric|imperial|"
    r"celsius|fahrenheit|euros?|emojis?|jargon|preamble|step by step)\b",
    r"\b(?:remember|keep in mind|note|don'?t forget|merk dir|denk daran|souviens-toi|retiens|"
    r"n'oublie pas|recuerda|ricorda(?:ti)?|"
    r"lembre(?:-se)?|não esqueça)\b|记住|记得",
    r"\b(?:immer|nie|niemals|ab jetzt|künftig|antworte|antworten|nenn mich|duze?|sieze?)\b",
    r"\b(?:toujours|jamais|désormais|dorénavant|réponds|répondez|réponses?|appelle-moi|tutoie|vouvoie)\b",
    r"\b(?:siempre|nunca|de ahora en adelante|responde|respóndeme|respuestas?|llámame|tutéame)\b",
    r"\b(?:sempre|mai|d'ora in poi|rispondi|rispondimi|risposte|chiamami|dammi del)\b",
    r"\b(?:sempre|nunca|de agora em diante|responda|respostas?|me chame)\b",
    r"以后|总是|永远|每次|回答|回复|叫我",
)
# How the assistant should answer: "Always …", "keep it short", "I prefer …", "verwende …", "请用…".
_WISH = _compile_any(
    r"^(?:(?:and|also|please|from now on|in future|bitte|ab jetzt|por favor|per favore|s'il te plaît|"
    r"désormais)[, ]+)*"
    r"(?:always|never|keep|use|avoid|don'?t|do not|stop|answer|reply|respond|talk|speak|call|address|"
    r"stick|limit|skip|no more|immer|nie|verwende|vermeide|lass|utilise|évite|ne|usa|evita|no|non|não|"
    r"use)\b|^请(?:用|不要|总是|始终)|^以后",
    r"\bi(?:'d)? (?:want|prefer|need|like)\b.{0,40}"
    r"\b(?:answers?|repl(?:y|ies)|responses?|bullet points?|explanations?)\b",
)
# A clause that begins with a question word or an inverted verb: "what", "do you", "wie", "est-ce", "怎么".
_STARTS_LIKE_QUESTION = _compile_any(
    r"^(?:so |and |but |also |ok |well )?(?:what|which|who|whom|whose|where|when|why|how|is|are|am|was|"
    r"were|do|does|did|can|could|should|"
    r"would|will|shall|may|have|has|any|got any|was|wer|wie|wo|wann|warum|welche[rsn]?|kann|könnte|"
    r"soll|gibt|ist|sind|quel(?:le)?s?|"
    r"que|qu'|qui|où|quand|comment|pourquoi|combien|est-ce|puis-je|dois-je|qué|cuál|quién|dónde|cuándo|"
    r"cómo|por qué|puedo|debo|che|"
    r"cosa|quale|chi|dove|quando|come|perché|posso|devo|o que|qual|quem|onde|como|por que)\b|^(?:什么|怎么|"
    r"如何|为什么|哪|谁|能不能|可以)",
)
# Without a question mark, a question word counts only with its verb: "how do I …", "what is …".
_UNMARKED_QUESTION = _compile_any(
    r"^(?!.*:)(?:so |and |but |also |ok |hey |hi )?(?:what(?:'s| is| are| was| do| does| should| can|"
    r" about)|how (?:do|does|can|to|should|would|much|many|"
    r"long|come)|why (?:do|does|is|are|did)|where (?:is|are|can|do)|when (?:is|are|does|do)|who (?:is|"
    r"are|was)|which \w+ (?:is|should|do)|"
    r"is (?:it|there|this)|are there|do you|does it|can i|should i|wie (?:kann|mache|macht|geht)|"
    r"was (?:ist|sind|bedeutet)|"
    r"comment (?:faire|on)|qu'est-ce|cómo (?:se|puedo)|qué (?:es|son)|come (?:si|posso)|cos'è|"
    r"como (?:se|posso|faço))\b",
    r"(?:吗|呢)[。.!]?$",
)
# A question that addresses the user: "do you have …?", "and your wife?", "any pets?".
_ADDRESSES_USER = _compile_any(
    r"\b(?:you|your|you're|du|dein\w*|dir|dich|sie|ihr\w*|ihnen|tu|ton|ta|tes|te|vous|votre|vos|usted|"
    r"tus?|ti|tuo|tua|lei|"
    r"suo|sua|você|seu|any (?:allerg\w+|pets?|kids|children|siblings|plans))\b|"
    r"(?<![a-z])[a-z]+(?:es|as) tu\b|你|您",
)
# A question about the form of the answers: "Shall I answer in metric units?", "Soll ich …?".
_ASKS_FOR_STYLE = _compile_any(
    r"\bhow (?:should|shall|do you want me to|would you like me to|may|can) (?:i )?"
    r"(?:answer|reply|write|explain|speak|address|call)\b|"
    r"\b(?:answers|replies|explanations) (?:do|would) you (?:want|like|prefer)\b",
    r"\b(?:shall|should|may|do) i (?:answer|reply|use|write|give|call|address|speak|keep|explain|show|"
    r"quote)\b",
    r"\bsoll ich\b|\b(?:dois|puis)-je\b|\b(?:debo|quieres que|prefieres)\b|\b(?:devo|posso)\b",
)
# An answer that is only yes, no, "please" or "I don't care".
_YES_OR_NO = _compile_any(
    r"(?:yes|no|yeah|nope|sure|ok|okay|please|ja|nein|oui|non|sí|sì|si|sim|não|whatever|either|egal|"
    r"i don'?t (?:care|mind)|up to you|[\s,.!])+|[是不好的对行吧。！，]+"
)
# A third-person subject of one to three words and its verb: "Vienna is lovely in May".
_ABOUT_WORLD = _compile_any(
    r"^(?!it\b|this\b|that\b|these\b|those\b|he\b|she\b|they\b|name\b|diet\b|job\b|favou?rite\b|hobb|"
    r"birthday\b|age\b)(?:(?:the|a|an)\s+)?"
    r"(?:[\w'-]+\s+){1,3}?(?:is|are|was|were|has|have|had|flows?|costs?|means|seems|ist|sind|war|hat|"
    r"est|sont|était)\b",
)
# First-person pronouns: "I", "my", "us", "mein", "je", "yo", "我"; also "as a …", which stands for "I am
# a …".
_FIRST_PERSON = _compile_any(
    r"\b(?:me|myself|us|ourselves|mir|mich|uns|moi|mí|nosotros)\b",
    r"\b(?:i|i'm|i've|my|mine|we|we're|our|ich|mein\w*|wir|unser\w*|je|j'\w+|mon|ma|mes|nous|yo|soy|"
    r"tengo|vivo|mi|mis|io|sono|ho|mio|mia|eu|sou|"
    r"tenho|moro|meu|minha|as an?|being an?|working as|als)\b|我",
)


def find_refusal_reason(sentence: str) -> str:
    """Return the reason code why this sentence states no fact about the user, "" if it may state one."""
    if _HYPOTHETICAL.search(sentence):
        return HYPOTHETICAL
    if sentence.rstrip("\"'”» )…").endswith(("?", "？")) or _UNMARKED_QUESTION.search(sentence):
        return QUESTION
    if irony.is_joke(sentence):
        return JOKE
    if is_request(sentence):
        return REQUEST
    if _ABOUT_WORLD.search(sentence) and not is_first_person(sentence) and not _SCHEDULE.search(sentence):
        return WORLD
    return ""


def is_request(sentence: str) -> bool:
    """Return whether the sentence only asks for something now, not for a way of answering from now on."""
    return bool(_REQUEST.search(sentence)) and not _STANDING_REQUEST.search(sentence)


def is_standing_request(sentence: str) -> bool:
    """Return whether the sentence says how all later answers must be, such as "Always answer in German"."""
    if sentence.rstrip().endswith(("?", "？")):
        return False
    asks = _REQUEST.search(sentence) or _WISH.search(sentence)
    return bool(asks and _STANDING_REQUEST.search(sentence))


def is_hedged(clause: str) -> bool:
    """Return whether the clause has words of uncertainty ("maybe", "thinking about")."""
    return bool(_HEDGE.search(clause))


def is_first_person(clause: str) -> bool:
    """Return whether the clause has a first-person pronoun."""
    return bool(_FIRST_PERSON.search(clause))


def is_question_about_user(question: str) -> bool:
    """Return whether the assistant's question is about the user, so that a short answer may state a fact."""
    return bool(_ADDRESSES_USER.search(question) or _ASKS_FOR_STYLE.search(question))


def answers_style_question(question: str, said: str) -> bool:
    """Return whether `said` answers a question about the form of the answers with more than yes or no."""
    return bool(_ASKS_FOR_STYLE.search(question)) and not _YES_OR_NO.fullmatch(said.strip())


def starts_like_question(clause: str) -> bool:
    """Return whether the clause begins like a question ("what …", "do you …")."""
    return bool(_STARTS_LIKE_QUESTION.search(clause.lstrip()))


def contains_prompt_injection(text: str) -> bool:
    """Return whether the text has control tokens or tries to instruct the model or the memory."""
    return bool(_INJECTION.search(text))
