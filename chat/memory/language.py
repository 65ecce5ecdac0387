"""Detects which of seven languages a text is in, by common words, letters and word endings."""

from __future__ import annotations

import re

_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
# The most common words and those of first-person statements. A word of n languages counts 1/n for each.
_COMMON = {
    "en": "the and is are was i i'm i've my me of with have has had to for at you your this that these it "
    "it's what not don't can't isn't user user's in on please we our us from as an be been do does "
    "did get got go gives give makes am like love want need live work now by but or if so no yes "
    "how when where who which they he she his her will would can could should about after before "
    "every always never since until",
    "de": "ich und ist der die das den dem ein eine einen einem einer mein meine meinen meiner nicht mit "
    "bin habe hat auf für im wohne lebe bei von wir heiße nutzer mir mich uns sich auch aber oder "
    "zu zum zur aus nach seit am wie was wenn dass kein keine sehr gern gerne mag möchte bitte "
    "jetzt noch schon immer es er sie du dir dich kann war sind arbeite lerne baue spiele trinke "
    "esse",
    "fr": "je suis le les la et mon ma mes des du est pas avec dans pour une un j'ai j'aime l'utilisateur "
    "l'utilisatrice au aux nous depuis chez que qui sur en de ne n'ai n'aime plus très moi me "
    "m'appelle c'est ce cette vis habite travaille apprends joue bois mange fais tous toujours "
    "jamais aussi mais ou où quand parce il elle on",
    "es": "soy a y el la los las mi mis con en una un unos estoy tengo que por para como del al vivo "
    "trabajo usuario usuaria llamo me gusta gustan encanta odio no muy pero más también yo es está "
    "hace desde cuando siempre nunca llevo aprendiendo estudio juego hablo tiempo idioma ya se su "
    "le lo de",
    "it": "sono a e il lo la gli mio mia miei con in una un uno che per di del della al alla ho ha come "
    "lavoro vivo abito l'utente mi piace non sto molto ma più anche io è da dal ogni sempre mai "
    "quando studio imparando suono bevo mangio chiamo odio adoro si ci ne nel nella",
    "pt": "sou e o a os as meu minha meus com em uma um que por para como do da dos no na tenho moro vivo "
    "trabalho usuário usuária utilizador não estou eu gosto adoro chamo muito mas mais também é "
    "está há desde quando sempre nunca aprendendo estudo falo toco bebo já se de ao",
}
# Letters that occur in one of the languages only, or mostly.
_LETTERS = {
    "de": "äöüß",
    "fr": "çèêëîïœùâ",
    "es": "ñ¿¡",
    "it": "òìù",
    "pt": "ãõç",
}
_ENDINGS = {
    "en": ("ing", "ght", "ness", "'s", "'t", "'m", "'ve"),
    "de": ("ung", "lich", "keit", "heit", "isch"),
    "fr": ("eux", "aux", "euse", "ique", "ère"),
    "es": ("ción", "dad", "aje", "ando", "iendo", "ísimo"),
    "it": ("zione", "ità", "ando", "endo", "issimo", "mente"),
    "pt": ("ção", "ções", "dade", "ando", "endo", "indo", "agem"),
}
_ELIDED_FRENCH = ("j'", "l'", "d'", "qu'", "c'", "n'", "m'", "s'")
# The weight of each common word by language.
_WORDS: dict[str, dict[str, float]] = {}
for _language, _words in _COMMON.items():
    for _word in _words.split():
        _WORDS.setdefault(_word, {})[_language] = 1.0
for _weights in _WORDS.values():
    for _language in _weights:
        _weights[_language] = 1.0 / len(_weights)


def detect_language(text: str) -> str:
    """Return "zh", "de", "fr", "es", "it", "pt" or "en"; "" if no word, letter or ending matches."""
    if _HAN.search(text):
        return "zh"
    folded = text.casefold().replace("’", "'")
    scores = dict.fromkeys(_COMMON, 0.0)
    for word in _WORD.findall(folded):
        for language, weight in _WORDS.get(word, {}).items():
            scores[language] += weight
        for language, endings in _ENDINGS.items():
            # Endings count less than words: names and loanwords have them in other languages too.
            scores[language] += 0.3 * word.endswith(endings)
        scores["fr"] += 0.5 * word.startswith(_ELIDED_FRENCH)
    for language, letters in _LETTERS.items():
        scores[language] += 0.5 * any(letter in folded for letter in letters)
    best = max(scores, key=lambda language: scores[language])
    return best if scores[best] > 0 else ""
