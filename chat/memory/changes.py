"""Words that say that something holds no longer, holds instead, or holds as well, in our seven languages."""

from __future__ import annotations

import re
from functools import lru_cache

from chat.memory.similar import core, stem
from chat.memory.words import NEGATION

_REMEMBERED = 4096


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.I)


# Something is over. "Left" needs its object: "I left Spotify" ends, "turn left" does not.
_ENDS = _any(
    r"\b(?:no longer|any ?more|not any longer|quit|stopp(?:ed|ing)|g(?:ave|iven|iving) up|dropp(?:ed|ing)|"
    r"abandon(?:ed|ing)|cancell?ed|called (?:it |the [\w ]{1,20})?off|sold|gave (?:[\w,]+ ){0,4}(?:away|to)|"
    r"given away|rehomed|got rid of|scrapped|ditched|shelved|closed down|"
    r"finished|completed|died|passed away|put to sleep|put (?:[\w']+ ){1,4}down|broke up|split up|"
    r"divorced|separated|retired|"
    r"resigned|fired|laid off|done with|is (?:over|done|finished|dead|history)|it's over|used to|"
    r"went off|lost interest|passed (?:my|the|his|her|their) (?:[\w-]+ ){0,2}(?:test|exams?))\b",
    r"\b(?:i|we|i've|we've|user|user's) (?:have |has |had )?left (?!-?handed)\w",
    r"\b(?:nicht mehr|kein\w* (?:\w+ )?mehr|aufgehört|aufgegeben|verkauft|gestorben|getrennt|geschieden|"
    r"gekündigt|abgesagt|abgebrochen|beendet|vorbei|fertig mit|an den nagel gehängt|abgeschlossen)\b",
    r"\b(?:ne |n')\w+(?: \w+)? plus\b|\b(?:arrêté|abandonné|vendu|mort|morte|décédée?|divorcée?|séparée?|"
    r"annulé|quitté|terminé|fini|démissionné|laissé tomber|renoncé)\b",
    r"\bya no\b|\b(?:dejé|dejado|dejamos|abandoné|abandonado|vendí|vendimos|vendido|murió|muerto|"
    r"divorci(?:é|ado|ada|amos)|separ(?:é|ado|ada|amos)|cancel(?:é|ado|amos)|terminé|terminado|renuncié|"
    r"acabó)\b",
    r"\bnon \w+(?: \w+)? più\b|\b(?:smesso|abbandonato|venduto|mort[oa]|divorziat[oa]|separat[oa]|"
    r"annullato|lasciato|finito|rinunciato|mollato|dimess[oa])\b",
    r"\bjá não\b|\bnão \w+(?: \w+)? mais\b|\b(?:deixei|deixou|parei|parou|abandonei|abandonou|vendi|"
    r"vendeu|morreu|divorci(?:ei|ou|ado|ada)|separ(?:ei|ou|ado)|cancel(?:ei|ou|ado)|terminei|acabou|"
    r"desisti|larguei)\b",
    r"不再|已经不|再也不|不[^，。]{1,8}了|没[^，。]{0,4}了|戒了|放弃|卖了|卖掉|去世|死了|离婚|分手|辞职|取消|"
    r"结束了|不干了",
)
# Something is otherwise now.
_CHANGES = _any(
    r"\b(?:now|nowadays|these days|by now|instead|rather than|not \w+ but|actually|correction|i mean|"
    r"switch(?:ed|ing)|chang(?:ed|ing)|moved|pushed|postponed|delayed|slipped|brought forward|rescheduled|"
    r"extended|renamed|rebranded|from now on|turned|became|promoted|got (?:married|engaged)|started|began|"
    r"again|meanwhile|finally|in the end|not [\w' ]{1,20}$|until \d|went (?:from|up|down)|"
    r"cut (?:down|back)|replaced|swapped|converted|upgraded|as of|no,|wrong)\b",
    r"\b(?:jetzt|inzwischen|mittlerweile|nun|neuerdings|statt\w*|sondern|umgezogen|gezogen|gewechselt|"
    r"verschoben|geändert|doch|wieder|eigentlich|ab sofort|befördert|geworden)\b",
    r"\b(?:maintenant|désormais|à présent|au lieu|plutôt|déménagé|changé|passée? (?:à|au)|repoussé|"
    r"reporté|finalement|en fait|devenue?|à nouveau|dorénavant|promue?)\b",
    r"\b(?:ahora|en vez|en lugar|sino|mud(?:é|ado|ada|amos)|cambi(?:é|ado|amos)|aplaz\w+|pospuest\w+|"
    r"retras\w+|pas(?:é|ado) a|otra vez|de nuevo|en realidad|a partir de|ascendid[oa])\b",
    r"\b(?:adesso|ora|ormai|invece|anziché|bensì|trasferit[oa]|cambiat[oa]|passat[oa] a|rinviat[oa]|"
    r"spostat[oa]|posticipat[oa]|di nuovo|in realtà|d'ora in poi|diventat[oa]|promoss[oa])\b",
    r"\b(?:agora|em vez|mud(?:ei|ou|ado|amos)|troc(?:uei|ou|ado)|pass(?:ei|ou) a|adiad[oa]|adiaram|"
    r"de novo|na verdade|a partir de|promovid[oa]|virei)\b",
    r"现在|改成|改为|改到|换成|换到|换了|搬到|搬去|推迟|延期|提前|而不是|其实|以后|开始|又|升职|升为",
)
# Something holds as well: whatever else it is, it takes no other's place.
_ADDS = _any(
    r"\b(?:also|too|as well|another|second|third|besides|in addition|on top of|plus)\b",
    r"\b(?:auch|außerdem|zusätzlich|zweite[nrs]?|noch ein\w*)\b",
    r"\b(?:aussi|également|en plus|deuxième|second)\b",
    r"\b(?:también|además|segund[oa]|otr[oa])\b|\b(?:anche|inoltre|second[oa]|un altr[oa])\b",
    r"\b(?:também|além disso|segund[oa]|outr[oa])\b|也|还有|另外|第二",
)
_SIGNALS = (
    "longer anymore quit stopped stop gave given up dropped abandoned cancelled canceled sold finished "
    "completed died passed away broke split divorced separated retired resigned left done over used "
    "still already now nowadays these days instead actually switched changed moved pushed postponed "
    "delayed slipped started began begun again finally any more got rid having been being doing too also "
    "both learning learn learns build building built make making made write writing develop create lernt "
    "lernen baut schreibt apprend aprende aprendiendo impara imparando aprendendo 学 "
    "nicht mehr aufgehört aufgegeben verkauft gestorben jetzt inzwischen wieder plus arrêté "
    "abandonné vendu mort maintenant désormais ya dejé dejado vendí murió ahora più smesso venduto morto "
    "adesso ora já deixei parei vendi morreu agora mais 不 再 已 经 了 现"
)
# What these words leave in a sentence's content; they say how a thing stands, not what it is.
_SIGNAL_STEMS = frozenset(stem(word) for word in (*_SIGNALS.split(), *NEGATION))


@lru_cache(maxsize=_REMEMBERED)
def ends(text: str) -> bool:
    """Tell whether the text says that something is over."""
    return bool(_ENDS.search(text))


@lru_cache(maxsize=_REMEMBERED)
def changes(text: str) -> bool:
    """Tell whether the text says that something is otherwise now, or over."""
    return bool(_CHANGES.search(text)) or ends(text)


def adds(text: str) -> bool:
    """Tell whether the text says that something holds beside what held before, and takes nothing back."""
    return bool(_ADDS.search(text)) and not ends(text)


@lru_cache(maxsize=_REMEMBERED)
def matter(text: str) -> frozenset[str]:
    """Return the stems of what the text is about, without the words that say how it stands."""
    return core(text) - _SIGNAL_STEMS


def forget_changes() -> None:
    """Drop what is remembered of texts, so that no word of a forgotten fact stays in this process."""
    for function in (ends, changes, matter):
        function.cache_clear()
