"""Words that state an ending, a change or an addition, in seven languages (en, de, fr, es, it, pt, zh)."""

from __future__ import annotations

import re
from functools import lru_cache

from .stopwords import NEGATION_WORDS
from .text_similarity import extract_core_stems, stem_word

_CACHE_SIZE = 4096


def _compile_any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.I)


# Something is over: "no longer", "quit", "nicht mehr", "vendu". "Left" needs an object: "I left Spotify"
# states an ending, "turn left" does not.
_ENDING = _compile_any(
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
# Something is different now: "now", "instead", "moved", "statt", "désormais", "改成".
_CHANGE = _compile_any(
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
# Something is true in addition to what was true before: "also", "another", "auch", "además", "还有".
_ADDITION = _compile_any(
    r"\b(?:also|too|as well|another|second|third|besides|in addition|on top of|plus)\b",
    r"\b(?:auch|außerdem|zusätzlich|zweite[nrs]?|noch ein\w*)\b",
    r"\b(?:aussi|également|en plus|deuxième|second)\b",
    r"\b(?:también|además|segund[oa]|otr[oa])\b|\b(?:anche|inoltre|second[oa]|un altr[oa])\b",
    r"\b(?:também|além disso|segund[oa]|outr[oa])\b|也|还有|另外|第二",
)
# Words that state an ending, change, continuation or addition; `extract_topic_stems` removes them.
_STATUS_WORDS = (
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
_STATUS_STEMS = frozenset(stem_word(word) for word in (*_STATUS_WORDS.split(), *NEGATION_WORDS))


@lru_cache(maxsize=_CACHE_SIZE)
def states_ending(text: str) -> bool:
    """Return whether the text says that something is over ("I no longer smoke")."""
    return bool(_ENDING.search(text))


@lru_cache(maxsize=_CACHE_SIZE)
def states_change(text: str) -> bool:
    """Return whether the text says that something is different now, or over ("I moved to Oslo")."""
    return bool(_CHANGE.search(text)) or states_ending(text)


def states_addition(text: str) -> bool:
    """Return whether the text says that something is true in addition to earlier facts, and ends none."""
    return bool(_ADDITION.search(text)) and not states_ending(text)


@lru_cache(maxsize=_CACHE_SIZE)
def extract_topic_stems(text: str) -> frozenset[str]:
    """Return the stems of what the text is about, without words for endings, changes and negation.

    "User no longer learns Dutch" gives the stem of "Dutch".
    """
    return extract_core_stems(text) - _STATUS_STEMS


def clear_change_caches() -> None:
    """Empty the caches of this module, so that no text of a deleted fact stays in this process."""
    for function in (states_ending, states_change, extract_topic_stems):
        function.cache_clear()
