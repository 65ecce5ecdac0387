"""The lexicons of English and German."""

from __future__ import annotations

from .lexicon import Lexicon, parse_words

ENGLISH = Lexicon(
    code="en",
    determiners=parse_words(
        "a an the their his her its my our this that these those some any no many several all both one two "
        "three four five six seven eight nine ten first second third new another lot lots few little bit "
        "kind sort of own most local"
    ),
    indefinite=parse_words("a an one some another"),
    cut=parse_words(
        "in on at to for from with by near outside inside into onto over under after before during until "
        "without against around across between behind because since while when where if than as about "
        "every each once twice daily weekly again too now today tomorrow yesterday early late always often "
        "usually sometimes mostly especially particularly much most best well very together alone more "
        "set written built made using based per via next last this so out up off through instead rather "
        "is are was were has have had will would can could must should that who which whose how why what"
    ),
    breaks=parse_words(
        "because since while when where if but although though so which who whose that how why what then"
    ),
    joins=parse_words("and or & plus"),
    fillers=parse_words(
        "is are am was were has have had do does did really just currently now always also "
        "often very quite still only mainly mostly usually recently already got gets get would will "
        "absolutely totally especially both either not"
    ),
    empty=parse_words(
        "it them that this these those being how what when why who to not going doing having getting if "
        "listening looking working living way fact idea feeling things thing something anything nothing "
        "everything people you "
        "me us him her user user's he she they i we be is are"
    ),
    inner=parse_words("of de la le du del da do di van von der den upon the"),
    called=parse_words("called named nicknamed"),
    copula=parse_words("is are am was"),
    as_=parse_words("as"),
    place=parse_words("in at to"),
    near=parse_words("near outside by close"),
    from_=parse_words("from"),
    to=parse_words("to"),
    at=parse_words("at for with by in joined joins joining"),
    with_=parse_words("with using in on"),
    about=parse_words("about on"),
    verbs={
        "employer": parse_words(
            "works work working worked nights days employed joined join joins job job's starts started "
            "employer company"
        ),
        "job": parse_words("works work working worked job job's profession role"),
        "studies": parse_words("studies study studying student"),
        "tools": parse_words(
            "uses use using used works work working with plays play around relies on rely codes code in "
            "programs program tool tools editor"
        ),
        "likes": parse_words(
            "likes like loves love enjoys enjoy prefers prefer adores adore fan of favourite favorite "
            "favourites favorites keen on fond into appreciates"
        ),
        "plays": parse_words("plays play playing"),
        "dislikes": parse_words(
            "dislikes dislike hates hate can't cannot stand avoids avoid detests detest doesn't don't like "
            "likes enjoy loathes not fan of"
        ),
        "building": parse_words(
            "building builds build built making makes make writing writes write developing develops "
            "developed creating creates create designing designs rewriting migrating restoring restores "
            "renovating working works work on launching running runs started planning project project's "
            "preparing organising organizing putting together editing recording"
        ),
        "learning": parse_words(
            "learning learns learn studying studies study practising practises practicing practices "
            "practice taking takes training to play for"
        ),
        "goal": parse_words(
            "wants want plans plan planning hopes hope aims aim goal training trains saving saves up for "
            "preparing prepares applying applies to would like"
        ),
        "language": parse_words(
            "speaks speak spoke fluent fluently in native speaker of understands understand bilingual "
            "conversational basic"
        ),
        "condition": parse_words("has have suffers suffer from been diagnosed with got gets get"),
        "takes": parse_words("takes take taking on"),
        "allergic": parse_words("allergic intolerant allergy to an"),
        "diet": parse_words("eats eat eating doesn't don't no not only mostly never any"),
        "quit": parse_words("gave given up quit stopped stop quitting off"),
        "wants": parse_words(
            "wants want prefers prefer likes like needs need uses use asks ask for to be answered in"
        ),
        "travel": parse_words(
            "flying flies travelling traveling travels travelled traveled going goes visiting visited "
            "visits trip to flew"
        ),
        "moved": parse_words("moved moves moving"),
        "lived": parse_words("lived"),
        "lives": parse_words("lives live living based resides moved"),
        "migrating": parse_words("migrating migrates moving porting ports converting switching rewriting"),
    },
)

GERMAN = Lexicon(
    code="de",
    determiners=parse_words(
        "der die das den dem des ein eine einen einem einer eines mein meine meinen meiner meinem sein seine "
        "seinen ihr ihre ihren ihrem ihrer unser unsere unseren dieser diese dieses diesen kein keine keinen "
        "viele viel einige etwas alle beide zwei drei vier fünf sechs sieben acht ersten erste erster neuen "
        "wenig bisschen"
    ),
    indefinite=parse_words("ein eine einen einem einer"),
    cut=parse_words(
        "in im ins an am auf aus bei beim mit nach von vom zu zum zur über unter vor für gegen ohne um durch "
        "seit während bis wegen neben zwischen als wie weil wenn dass obwohl jeden jede jedes täglich gern "
        "gerne sehr gerade immer oft manchmal heute morgen ist sind war hat haben wird werden namens nicht wo"
    ),
    breaks=parse_words("weil wenn dass obwohl aber denn wo wie was warum der die das"),
    joins=parse_words("und oder sowie"),
    fillers=parse_words(
        "ist sind bin war hat habe haben sehr gerade immer auch gern gerne besonders oft wirklich nur seit "
        "derzeit aktuell momentan am liebsten lieber kann fließend gut"
    ),
    empty=parse_words("es das dass wenn wie was nicht zu sie er ihn ihm mir mich sich ich wir"),
    inner=parse_words("am an der von vom zu im ob de la"),
    called=parse_words("namens heißt heißen genannt"),
    copula=parse_words("ist bin sind war"),
    as_=parse_words("als"),
    place=parse_words("in im nach bei auf an"),
    near=parse_words("nahe nähe bei"),
    from_=parse_words("aus von vom"),
    to=parse_words("nach zu"),
    at=parse_words("bei beim für"),
    with_=parse_words("mit in"),
    about=parse_words("über zu"),
    verbs={
        "employer": parse_words("arbeitet arbeite arbeiten angestellt jobbt"),
        "job": parse_words("arbeitet arbeite beruf jobbt"),
        "studies": parse_words("studiert studiere"),
        "tools": parse_words(
            "benutzt benutze nutzt nutze verwendet verwende arbeitet arbeite mit programmiert in"
        ),
        "likes": parse_words(
            "mag liebt liebe genießt bevorzugt schätzt schwärmt hört isst trinkt fan von für lieblingsessen"
        ),
        "plays": parse_words("spielt spiele"),
        "dislikes": parse_words("hasst hasse mag verabscheut meidet kann nicht leiden"),
        "building": parse_words(
            "baut baue bauen schreibt schreibe entwickelt entwickle arbeitet arbeite programmiert macht an "
            "plant plane gestaltet restauriert renoviert bereitet organisiert"
        ),
        "learning": parse_words("lernt lerne übt übe macht besucht studiert"),
        "goal": parse_words(
            "will möchte plant plane spart spare trainiert trainiere bereitet sich auf für vor ziel träumt "
            "von"
        ),
        "language": parse_words("spricht spreche fließend versteht kann muttersprache"),
        "condition": parse_words("hat habe leidet leide an unter"),
        "takes": parse_words("nimmt nehme"),
        "allergic": parse_words("allergisch gegen auf"),
        "diet": parse_words("isst esse kein keine keinen nur"),
        "quit": parse_words("aufgehört"),
        "wants": parse_words("möchte will wünscht bevorzugt braucht mag sich"),
        "travel": parse_words("fliegt fliege reist reise fährt fahre nach"),
        "moved": parse_words("zog zieht gezogen umgezogen"),
        "lived": parse_words("lebte wohnte gelebt gewohnt"),
        "lives": parse_words("lebt wohnt wohne lebe zog zieht"),
        "migrating": parse_words("migriert portiert"),
    },
)
