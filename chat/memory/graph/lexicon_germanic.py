"""English and German."""

from __future__ import annotations

from .lexicon import Tongue, words

ENGLISH = Tongue(
    code="en",
    determiners=words(
        "a an the their his her its my our this that these those some any no many several all both one two "
        "three four five six seven eight nine ten first second third new another lot lots few little bit "
        "kind sort of own most local"
    ),
    indefinite=words("a an one some another"),
    cut=words(
        "in on at to for from with by near outside inside into onto over under after before during until "
        "without against around across between behind because since while when where if than as about "
        "every each once twice daily weekly again too now today tomorrow yesterday early late always often "
        "usually sometimes mostly especially particularly much most best well very together alone more "
        "set written built made using based per via next last this so out up off through instead rather "
        "is are was were has have had will would can could must should that who which whose how why what"
    ),
    breaks=words(
        "because since while when where if but although though so which who whose that how why what then"
    ),
    joins=words("and or & plus"),
    fillers=words(
        "is are am was were has have had do does did really just currently now always also "
        "often very quite still only mainly mostly usually recently already got gets get would will "
        "absolutely totally especially both either not"
    ),
    empty=words(
        "it them that this these those being how what when why who to not going doing having getting if "
        "listening looking working living way fact idea feeling things thing something anything nothing "
        "everything people you "
        "me us him her user user's he she they i we be is are"
    ),
    inner=words("of de la le du del da do di van von der den upon the"),
    called=words("called named nicknamed"),
    copula=words("is are am was"),
    as_=words("as"),
    place=words("in at to"),
    near=words("near outside by close"),
    from_=words("from"),
    to=words("to"),
    at=words("at for with by in joined joins joining"),
    with_=words("with using in on"),
    about=words("about on"),
    verbs={
        "employer": words(
            "works work working worked nights days employed joined join joins job job's starts started "
            "employer company"
        ),
        "job": words("works work working worked job job's profession role"),
        "studies": words("studies study studying student"),
        "tools": words(
            "uses use using used works work working with plays play around relies on rely codes code in "
            "programs program tool tools editor"
        ),
        "likes": words(
            "likes like loves love enjoys enjoy prefers prefer adores adore fan of favourite favorite "
            "favourites favorites keen on fond into appreciates"
        ),
        "plays": words("plays play playing"),
        "dislikes": words(
            "dislikes dislike hates hate can't cannot stand avoids avoid detests detest doesn't don't like "
            "likes enjoy loathes not fan of"
        ),
        "building": words(
            "building builds build built making makes make writing writes write developing develops "
            "developed creating creates create designing designs rewriting migrating restoring restores "
            "renovating working works work on launching running runs started planning project project's "
            "preparing organising organizing putting together editing recording"
        ),
        "learning": words(
            "learning learns learn studying studies study practising practises practicing practices "
            "practice taking takes training to play for"
        ),
        "goal": words(
            "wants want plans plan planning hopes hope aims aim goal training trains saving saves up for "
            "preparing prepares applying applies to would like"
        ),
        "language": words(
            "speaks speak spoke fluent fluently in native speaker of understands understand bilingual "
            "conversational basic"
        ),
        "condition": words("has have suffers suffer from been diagnosed with got gets get"),
        "takes": words("takes take taking on"),
        "allergic": words("allergic intolerant allergy to an"),
        "diet": words("eats eat eating doesn't don't no not only mostly never any"),
        "quit": words("gave given up quit stopped stop quitting off"),
        "wants": words(
            "wants want prefers prefer likes like needs need uses use asks ask for to be answered in"
        ),
        "travel": words(
            "flying flies travelling traveling travels travelled traveled going goes visiting visited "
            "visits trip to flew"
        ),
        "moved": words("moved moves moving"),
        "lived": words("lived"),
        "lives": words("lives live living based resides moved"),
        "migrating": words("migrating migrates moving porting ports converting switching rewriting"),
    },
)

GERMAN = Tongue(
    code="de",
    determiners=words(
        "der die das den dem des ein eine einen einem einer eines mein meine meinen meiner meinem sein seine "
        "seinen ihr ihre ihren ihrem ihrer unser unsere unseren dieser diese dieses diesen kein keine keinen "
        "viele viel einige etwas alle beide zwei drei vier fünf sechs sieben acht ersten erste erster neuen "
        "wenig bisschen"
    ),
    indefinite=words("ein eine einen einem einer"),
    cut=words(
        "in im ins an am auf aus bei beim mit nach von vom zu zum zur über unter vor für gegen ohne um durch "
        "seit während bis wegen neben zwischen als wie weil wenn dass obwohl jeden jede jedes täglich gern "
        "gerne sehr gerade immer oft manchmal heute morgen ist sind war hat haben wird werden namens nicht wo"
    ),
    breaks=words("weil wenn dass obwohl aber denn wo wie was warum der die das"),
    joins=words("und oder sowie"),
    fillers=words(
        "ist sind bin war hat habe haben sehr gerade immer auch gern gerne besonders oft wirklich nur seit "
        "derzeit aktuell momentan am liebsten lieber kann fließend gut"
    ),
    empty=words("es das dass wenn wie was nicht zu sie er ihn ihm mir mich sich ich wir"),
    inner=words("am an der von vom zu im ob de la"),
    called=words("namens heißt heißen genannt"),
    copula=words("ist bin sind war"),
    as_=words("als"),
    place=words("in im nach bei auf an"),
    near=words("nahe nähe bei"),
    from_=words("aus von vom"),
    to=words("nach zu"),
    at=words("bei beim für"),
    with_=words("mit in"),
    about=words("über zu"),
    verbs={
        "employer": words("arbeitet arbeite arbeiten angestellt jobbt"),
        "job": words("arbeitet arbeite beruf jobbt"),
        "studies": words("studiert studiere"),
        "tools": words("benutzt benutze nutzt nutze verwendet verwende arbeitet arbeite mit programmiert in"),
        "likes": words(
            "mag liebt liebe genießt bevorzugt schätzt schwärmt hört isst trinkt fan von für lieblingsessen"
        ),
        "plays": words("spielt spiele"),
        "dislikes": words("hasst hasse mag verabscheut meidet kann nicht leiden"),
        "building": words(
            "baut baue bauen schreibt schreibe entwickelt entwickle arbeitet arbeite programmiert macht an "
            "plant plane gestaltet restauriert renoviert bereitet organisiert"
        ),
        "learning": words("lernt lerne übt übe macht besucht studiert"),
        "goal": words(
            "will möchte plant plane spart spare trainiert trainiere bereitet sich auf für vor ziel träumt "
            "von"
        ),
        "language": words("spricht spreche fließend versteht kann muttersprache"),
        "condition": words("hat habe leidet leide an unter"),
        "takes": words("nimmt nehme"),
        "allergic": words("allergisch gegen auf"),
        "diet": words("isst esse kein keine keinen nur"),
        "quit": words("aufgehört"),
        "wants": words("möchte will wünscht bevorzugt braucht mag sich"),
        "travel": words("fliegt fliege reist reise fährt fahre nach"),
        "moved": words("zog zieht gezogen umgezogen"),
        "lived": words("lebte wohnte gelebt gewohnt"),
        "lives": words("lebt wohnt wohne lebe zog zieht"),
        "migrating": words("migriert portiert"),
    },
)
