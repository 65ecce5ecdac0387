"""Frames in which words state nothing about the user: questions, requests, play, hypotheses, hedges, others."""

from __future__ import annotations

import re

QUESTION = "a question states nothing"
REQUEST = "a request, not a fact"
ROLE_PLAY = "said in play"
HYPOTHETICAL = "only supposed, not so"
HEDGED = "the user was not sure"
JOKE = "said in jest"
SYSTEM = "text that gives orders to the memory"
OTHERS = "about someone else"


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.I)


_SYSTEM = _any(
    r"<\|[^|>]{1,40}\|>|</?(?:s|bos|eos|system|start_of_turn|end_of_turn)>|\[/?INST\]|<<SYS>>",
    r"^\s*(?:system|assistant|developer)\s*[:：]",
    r"\b(?:ignore|disregard|forget|override)\b.{0,30}\b(?:instructions?|rules?|prompts?|guidelines)\b",
    r"\b(?:save|store|add|record|write|remember|note)\b.{0,30}\b(?:fact|memory|that)\b.{0,12}\bthe user\b",
    r"\bignor(?:iere|ez|a|e)\b.{0,30}\b(?:anweisungen|instructions|instrucciones|istruzioni|instruções)\b|忽略.{0,12}(?:指令|指示)",
)
_ROLE_PLAY = _any(
    r"\brole[- ]?play",
    r"\b(?:let'?s|let us) (?:play|pretend|imagine)\b|\bpretend\b|\bact as\b|\bplay the (?:role|part)\b|\bin character\b",
    r"\byou(?:'re| are)(?: now)? (?:a|an|the|my) (?:pirate|king|queen|knight|captain|wizard|detective|doctor|lawyer|teacher|"
    r"recruiter|interviewer|customer|character|dungeon|game|ai)\b",
    r"\b(?:rollenspiel|spielen wir|tu so, als|jeu de rôle|faisons comme si|joue le rôle|juego de rol|juguemos|haz de cuenta|"
    r"finge que|gioco di ruolo|facciamo finta|fingi di|faz de conta|finja que)\b|角色扮演|假装|扮演",
)
_HYPOTHETICAL = _any(
    r"\bif (?:i|we) (?:were|was|had|could|would|lived|moved|became|won|owned|earned|worked|ever|got|made|did|went)\b",
    r"\bif (?:i|we)'d\b|\b(?:suppose|supposing|imagine|assuming|hypothetically|what if|let'?s say|say i)\b",
    r"\bi wish (?:i|we)\b|\bi (?:would|'d) (?:be|have been|live|move)\b",
    r"\bwenn ich\b.{0,60}\b(?:wäre|hätte|würde|könnte)\b|\b(?:angenommen|stell dir vor|gesetzt den fall)\b",
    r"\bsi j(?:'|e )\w*\b.{0,40}\b(?:étais|avais|vivais|habitais|gagnais|pouvais|travaillais)\b|\bsi j'(?:étais|avais|habitais)\b"
    r"|\bsi je (?:vivais|gagnais|pouvais|travaillais|devenais)\b|\b(?:imagin(?:e|ons|ez)|supposons)\b",
    r"\bsi (?:yo )?(?:fuera|fuese|tuviera|viviera|pudiera|ganara|trabajara)\b|\b(?:imagina|supongamos|suponiendo)\b",
    r"\bse (?:io )?(?:fossi|avessi|vivessi|potessi|vincessi|lavorassi)\b|\b(?:immagina|supponiamo|mettiamo che)\b",
    r"\bse (?:eu )?(?:fosse|tivesse|morasse|pudesse|ganhasse|trabalhasse)\b|\b(?:imagine que|suponha|digamos)\b",
    r"如果我?|假如|假设|要是",
)
_HEDGE = _any(
    r"\b(?:maybe|perhaps|might|possibly|not (?:so )?sure|unsure|someday|some day|one day|no idea (?:if|whether))\b",
    r"\b(?:thinking (?:about|of)|considering|toying with|wondering (?:if|whether)|debating|tempted to|may (?:try|move|start|go|buy|get))\b",
    r"\bi (?:guess|suppose)\b|\bi think i(?:'m| am|'ll| will| may| could)\b|\bi could (?:try|see myself)\b|\bhaven'?t decided\b",
    r"\b(?:vielleicht|eventuell|möglicherweise|womöglich|überlege|bin (?:mir )?(?:nicht|un)\s?sicher|irgendwann)\b",
    r"\b(?:peut-être|j'hésite|j'envisage|je songe|pas sûre?|un jour)\b",
    r"\b(?:quizás?|tal vez|a lo mejor|puede que|estoy pensando en|no estoy segur[oa]|algún día)\b",
    r"\b(?:forse|magari|può darsi|sto pensando di|non sono sicur[oa]|un giorno)\b",
    r"\b(?:talvez|quem sabe|estou pensando em|estou a pensar em|não tenho certeza|um dia)\b",
    r"也许|或许|说不定|可能|考虑|不确定",
)
_JOKE = _any(
    r"\b(?:haha+|lol|lmao|rofl|jk|just kidding|kidding)\b.*\bi(?:'m| am)\b|\bi(?:'m| am)\b.*\b(?:jk|just kidding|lmao|lol|haha+)\b",
    r"\bi(?:'m| am) (?:basically|literally|practically|pretty much) (?:a|an|the|my|made)\b",
)
_REQUEST = _any(
    r"^(?:(?:please|kindly|now|then|ok|okay|hey|hi|also|bitte|por favor|per favore|s'il te plaît|请)[, ]+)*"
    r"(?:write|draft|compose|summari[sz]e|translate|explain|describe|give me|list|make|create|generate|suggest|recommend|tell me|"
    r"show|help|fix|find|compare|plan|convert|check|rewrite|rephrase|calculate|compute|design|build me|draw|review|proofread|"
    r"correct|improve|shorten|expand|outline|brainstorm|search|look up|teach|recite|name (?:a|some|three|five)|what about|how about|"
    r"schreib|erklär|übersetze|fasse|gib mir|zeig|hilf|nenne|empfiehl|mach mir|erstelle|écris|explique|traduis|résume|donne|montre|aide|"
    r"propose|escribe|explica|traduce|resume|dame|muestra|ayúdame|recomienda|hazme|scrivi|spiega|traduci|riassumi|dammi|mostra|aiutami|"
    r"consiglia|fammi|escreva|explique|traduza|resuma|me dê|mostre|me ajude|sugira|recomende|faça)\w*\b",
    r"^(?:(?:please|also|and|so|ok|okay|hey|hi)[, ]+)*(?:(?:can|could|would|will) you|i(?:'d| would) like you to|i (?:need|want) you to|"
    r"i need (?:help|a hand)|kannst du|könntest du|peux-tu|pourrais-tu|tu peux|puedes|podrías|puoi|potresti|você pode|pode)\b",
    r"^(?:请|帮我|给我|写一|翻译|解释|推荐)",
)
# A wish about every later answer is a request too, but one to be remembered.
_STANDING = _any(
    r"\b(?:always|never|from now on|in (?:the )?future|every time|each time|whenever|by default|going forward|henceforth)\b",
    r"\b(?:keep|make|give|write|want|prefer|like) (?:\w+ ){0,3}(?:answers?|replies|reply|responses?|explanations?|it|things) \w+",
    r"\b(?:answers?|replies|reply|respond|answer me|talk to me|speak to me|address me|call me|code examples?|bullet points?|metric|imperial|"
    r"celsius|fahrenheit|euros?|emojis?|jargon|preamble|step by step)\b",
    r"\b(?:remember|keep in mind|note|don'?t forget|merk dir|denk daran|souviens-toi|retiens|n'oublie pas|recuerda|ricorda(?:ti)?|"
    r"lembre(?:-se)?|não esqueça)\b|记住|记得",
    r"\b(?:immer|nie|niemals|ab jetzt|künftig|antworte|antworten|nenn mich|duze?|sieze?)\b",
    r"\b(?:toujours|jamais|désormais|dorénavant|réponds|répondez|réponses?|appelle-moi|tutoie|vouvoie)\b",
    r"\b(?:siempre|nunca|de ahora en adelante|responde|respóndeme|respuestas?|llámame|tutéame)\b",
    r"\b(?:sempre|mai|d'ora in poi|rispondi|rispondimi|risposte|chiamami|dammi del)\b",
    r"\b(?:sempre|nunca|de agora em diante|responda|respostas?|me chame)\b|以后|总是|永远|每次|回答|回复|叫我",
)
_OPENS_QUESTION = _any(
    r"^(?:so |and |but |also |ok |well )?(?:what|which|who|whom|whose|where|when|why|how|is|are|am|was|were|do|does|did|can|could|should|"
    r"would|will|shall|may|have|has|any|got any|was|wer|wie|wo|wann|warum|welche[rsn]?|kann|könnte|soll|gibt|ist|sind|quel(?:le)?s?|"
    r"que|qu'|qui|où|quand|comment|pourquoi|combien|est-ce|puis-je|dois-je|qué|cuál|quién|dónde|cuándo|cómo|por qué|puedo|debo|che|"
    r"cosa|quale|chi|dove|quando|come|perché|posso|devo|o que|qual|quem|onde|como|por que)\b|^(?:什么|怎么|如何|为什么|哪|谁|能不能|可以)",
)
# Without a question mark only an interrogative with its verb is surely a question.
_UNMARKED_QUESTION = _any(
    r"^(?:so |and |but |also |ok |hey |hi )?(?:what(?:'s| is| are| was| do| does| should| can| about)|how (?:do|does|can|to|should|would|much|many|"
    r"long|come)|why (?:do|does|is|are|did)|where (?:is|are|can|do)|when (?:is|are|does|do)|who (?:is|are|was)|which \w+ (?:is|should|do)|"
    r"is (?:it|there|this)|are there|do you|does it|can i|should i|wie (?:kann|mache|macht|geht)|was (?:ist|sind|bedeutet)|"
    r"comment (?:faire|on)|qu'est-ce|cómo (?:se|puedo)|qué (?:es|son)|come (?:si|posso)|cos'è|como (?:se|posso|faço))\b",
    r"(?:吗|呢)[。.!]?$",
)
_SELF = _any(
    r"\b(?:i|i'm|i've|my|mine|we|we're|our|ich|mein\w*|wir|unser\w*|je|j'\w+|mon|ma|mes|nous|yo|soy|tengo|vivo|mi|mis|io|sono|ho|mio|mia|eu|sou|"
    r"tenho|moro|meu|minha|as an?|being an?|working as|als)\b|我",
)


def whole_message(masked: str) -> str:
    """Return why nothing in this message may be believed, or an empty string."""
    if _SYSTEM.search(masked):
        return SYSTEM
    return ROLE_PLAY if _ROLE_PLAY.search(masked) else ""


def sentence_reason(sentence: str) -> str:
    """Return why this sentence states nothing, or an empty string."""
    if _HYPOTHETICAL.search(sentence):
        return HYPOTHETICAL
    if sentence.rstrip("\"'”» )…").endswith(("?", "？")) or _UNMARKED_QUESTION.search(sentence):
        return QUESTION
    if _JOKE.search(sentence):
        return JOKE
    if is_request(sentence):
        return REQUEST
    return ""


def is_request(sentence: str) -> bool:
    """Tell whether the sentence only asks for work now, and not for a way of answering from now on."""
    return bool(_REQUEST.search(sentence)) and not _STANDING.search(sentence)


def is_hedged(clause: str) -> bool:
    """Tell whether the user was not sure of what this clause says."""
    return bool(_HEDGE.search(clause))


def speaks_of_self(clause: str) -> bool:
    """Tell whether the clause speaks in the first person."""
    return bool(_SELF.search(clause))


def opens_question(clause: str) -> bool:
    """Tell whether the clause begins as a question does."""
    return bool(_OPENS_QUESTION.search(clause.lstrip()))


def plays_system(text: str) -> bool:
    """Tell whether the text tries to give orders, or holds control tokens."""
    return bool(_SYSTEM.search(text))
