"""Word lists in seven languages: function words, numbers, negations, months, common words of facts."""

from __future__ import annotations


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words without meaning of their own; "user" is one of them, because every fact is about the user.
FUNCTION_WORDS = (
    _set(
        "user user's users nutzer nutzerin benutzer l'utilisateur l'utilisatrice utilisateur "
        "utilisatrice usuario "
        "usuaria l'utente utente usuário usuária 用 户 的 了 在 是 有 和 也 我 你 他 她 它"
    )
    | _set(
        "a an the and or but of to in on at for from by with as is are was were be been being am do "
        "does did has "
        "have had i i'm i've me my mine we our us you your it its it's this that these those he she "
        "his her they "
        "their them there here so too also very just now then than when while who which what how not "
        "no called "
        "named name yes please want wants would like likes that's there's here's what's who's he's she's"
    )
    | _set(
        "der die das den dem des ein eine einen einem einer und oder aber von zu zum zur im in an am "
        "auf für mit "
        "als ist sind war bin bist hat habe haben ich mein meine meinen meiner mir mich wir unser "
        "unsere er sie es "
        "du dein nicht kein keine auch sehr gerade jetzt heißt heiße"
    )
    | _set(
        "le la les l' un une des du de d' et ou mais à au aux en dans pour par avec sur est suis sont "
        "a ai as ont "
        "je j'ai appelle mon ma mes nous notre nos il elle ce cette qui que ne pas aussi très s'appelle "
        "m'appelle"
    )
    | _set(
        "el los las una unos unas del y o pero al con por para es soy está estoy son tiene tengo yo mi "
        "mis nos "
        "nuestro nuestra él ella su sus que no también muy se llama llamo"
    )
    | _set(
        "il lo gli uno della dello delle dei degli e ma al alla con per da di sono è ho ha io mio mia "
        "miei mie noi "
        "nostro nostra lui lei suo sua che non anche molto si chiama chiamo"
    )
    | _set(
        "os as um uma uns umas do da dos das mas ao com por para em no na sou é estou tenho tem eu meu "
        "minha nós "
        "nosso nossa ele ela seu sua que não também muito chama chamo"
    )
)

# Number words and their digits. Words that mean something else in another language are left out: "due",
# "once", "elf", "sei".
NUMBER_WORDS = {
    word: str(value)
    for value, row in {
        1: "one",
        2: "two zwei deux dos dois duas 两 二",
        3: "three drei trois tres tre três 三",
        4: "four vier quatre cuatro quattro quatro 四",
        5: "five fünf cinq cinco cinque 五",
        6: "six sechs seis 六",
        7: "seven sieben sept siete sette sete 七",
        8: "eight acht huit ocho otto oito 八",
        9: "nine neun neuf nueve nove 九",
        10: "ten zehn dix diez dieci dez 十",
        11: "eleven onze undici",
        12: "twelve zwölf douze doce dodici doze",
    }.items()
    for word in row.split()
}

NEGATION_WORDS = _set(
    "not no never don't doesn't didn't can't cannot won't isn't aren't without anymore stopped quit "
    "dislike dislikes hate hates detest detests avoid avoids "
    "nicht kein keine keinen nie niemals ohne hasst pas jamais sans plus déteste nunca jamás sin odia "
    "detesta non mai "
    "senza não sem detesta odeia"
)
NEGATION_CHARACTERS_ZH = ("不", "没", "别", "无法", "讨厌")

MONTHS_AND_DAYS = _set(
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday jan feb mar apr jun jul aug sep sept oct "
    "nov dec "
    "januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag "
    "samstag sonntag "
    "janvier février mars avril juin juillet août septembre octobre novembre décembre lundi mardi "
    "mercredi jeudi "
    "vendredi samedi dimanche enero febrero marzo abril mayo junio julio agosto septiembre octubre "
    "noviembre diciembre "
    "lunes martes miércoles jueves viernes sábado domingo gennaio febbraio aprile maggio giugno luglio "
    "settembre "
    "ottobre dicembre lunedì martedì mercoledì giovedì venerdì sabato domenica janeiro fevereiro março "
    "maio junho "
    "julho setembro outubro novembro dezembro segunda terça quarta quinta sexta"
)

# Words with which the model phrases facts ("lives in", "works as", "wants"). They may be missing in the
# message although it supports the fact.
FACT_PHRASING_WORDS = _set(
    "years old lives live living works work working job wants want prefers uses use using eats speaks "
    "studies answers "
    "plays has gets goes comes is user users kind person profession home since "
    "jahre alt wohnt lebt arbeitet möchte spricht isst ans âge habite vit travaille préfère parle años "
    "edad vive trabaja "
    "prefiere quiere habla anni abita lavora preferisce vuole parla anos mora trabalha prefere quer fala "
    "love loves enjoy enjoys adore adores dislike dislikes hate hates detests avoid avoids based music "
    "deadline due must done finished finish submitted submit delivered opens starts abgabe fällig muss "
    "encanta encantan gustan fascina apasiona piacciono adora gostam kocht "
    "every each keen fond doesn't don't handed follows diet ernährt teaching themselves learn "
    "learns learning study studying practising practicing lernt apprend étudie estudia estudiando aprende "
    "aprendiendo studia "
    "fan really can can't cannot stand bien beaucoup vraiment mucho gern gerne kann leiden "
    "mag liebt hasst aime adore déteste gusta ama odia piace gosta odeia "
    "住 叫 名 字 岁 职 业 想 要"
)
