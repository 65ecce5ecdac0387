"""Words that decide or require something, in seven languages. No Django, no database."""

from __future__ import annotations

import re

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
