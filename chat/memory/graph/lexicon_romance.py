"""The lexicons of French and Italian."""

from __future__ import annotations

from .lexicon import Lexicon, parse_words

FRENCH = Lexicon(
    code="fr",
    determiners=parse_words(
        "le la les l' un une des du de d' mon ma mes son sa ses notre nos leur leurs ce cet cette ces deux "
        "trois quatre cinq six beaucoup quelques plusieurs tous toutes premier première au aux à peu"
    ),
    indefinite=parse_words("un une des"),
    cut=parse_words(
        "à au aux en dans pour par avec sur sous chez sans depuis pendant avant après vers contre entre près "
        "comme parce quand lorsque si où qui que dont car chaque tous souvent toujours beaucoup très trop "
        "aussi est sont a ont s'appelle nommé nommée appelé appelée"
    ),
    breaks=parse_words("parce quand lorsque si où qui que dont car mais puisque"),
    joins=parse_words("et ou ainsi"),
    fillers=parse_words(
        "est suis sont a ai ont n' ne pas plus beaucoup vraiment très aussi actuellement toujours surtout "
        "bien le la les l' se s' en train de d' couramment un peu"
    ),
    empty=parse_words("ce que qui quand comment pas ne être avoir faire il elle je nous on y en se"),
    inner=parse_words("de du des la le les d' l' sur sous en"),
    called=parse_words("nommé nommée appelé appelée s'appelle prénommé prénommée baptisé baptisée"),
    copula=parse_words("est suis sont était"),
    as_=parse_words("comme"),
    place=parse_words("à au aux en dans"),
    near=parse_words("près côté"),
    from_=parse_words("de du des d'"),
    to=parse_words("à vers"),
    at=parse_words("chez pour à dans"),
    with_=parse_words("avec en"),
    about=parse_words("sur"),
    verbs={
        "employer": parse_words("travaille travaillait employé employée embauché embauchée"),
        "job": parse_words("travaille métier profession"),
        "studies": parse_words("étudie études"),
        "tools": parse_words("utilise utilisent travaille avec sur emploie se sert de programme en"),
        "likes": parse_words("aime adore préfère apprécie fan passionné passionnée de d' par"),
        "plays": parse_words("joue de du au"),
        "dislikes": parse_words("n'aime aime déteste évite supporte pas"),
        "building": parse_words(
            "construit construis écrit écris développe crée fait prépare travaille sur rénove restaure "
            "conçoit lance monte organise rédige construire écrire développer"
        ),
        "learning": parse_words(
            "apprend apprends étudie pratique suit prend cours de d' à apprendre jouer du"
        ),
        "goal": parse_words(
            "veut veux voudrait voudrais souhaite prévoit espère compte prépare économise s'entraîne "
            "entraîne pour objectif rêve de d' se"
        ),
        "language": parse_words("parle parlent couramment comprend maîtrise"),
        "condition": parse_words("souffre de d' a ai un une"),
        "takes": parse_words("prend prends"),
        "allergic": parse_words("allergique intolérant intolérante allergie à au aux"),
        "diet": parse_words("mange manges pas de d' ne plus seulement jamais"),
        "quit": parse_words("arrêté cessé de d' arrête"),
        "wants": parse_words("veut voudrait préfère souhaite aime demande besoin des de"),
        "travel": parse_words("voyage part va visite vole à au en"),
        "moved": parse_words("déménagé emménagé quitté"),
        "lived": parse_words("habitait vivait vécu habité"),
        "lives": parse_words("habite vit vis habitait"),
        "migrating": parse_words("migre"),
    },
    infinitive=("er", "ir", "re"),
)

ITALIAN = Lexicon(
    code="it",
    determiners=parse_words(
        "il lo la i gli le l' un uno una un' mio mia miei mie suo sua suoi sue nostro nostra questo questa "
        "questi queste due tre quattro cinque sei molti molte molto alcuni alcune tutti tutte primo prima "
        "del della dei degli delle dell' di"
    ),
    indefinite=parse_words("un uno una un'"),
    cut=parse_words(
        "a ad al allo alla ai agli alle all' in nel nella nei con per da dal dalla su sul sulla tra fra "
        "senza verso contro durante dopo vicino come perché quando se dove che chi ogni sempre "
        "molto anche è sono ha chiamato chiamata"
    ),
    breaks=parse_words("perché quando se dove che chi ma però"),
    joins=parse_words("e ed o oppure"),
    fillers=parse_words(
        "è sono sta sto stanno ha ho non molto anche sempre davvero soprattutto mi gli le un po' "
        "attualmente correntemente bene"
    ),
    empty=parse_words("che quando come non essere avere si lui lei io lo"),
    inner=parse_words("di del della dei delle dell' d' la"),
    called=parse_words("chiamato chiamata chiamati chiamate chiama chiamano nome"),
    copula=parse_words("è sono era"),
    as_=parse_words("come"),
    place=parse_words("a ad in nel nella"),
    near=parse_words("vicino"),
    from_=parse_words("di da dal dalla"),
    to=parse_words("a"),
    at=parse_words("per presso in da"),
    with_=parse_words("con in"),
    about=parse_words("su sul sulla sui sulle"),
    verbs={
        "employer": parse_words("lavora lavoro impiegato impiegata"),
        "job": parse_words("lavora lavoro professione fa"),
        "studies": parse_words("studia studio"),
        "tools": parse_words("usa uso utilizza utilizzo lavora lavoro con programma in"),
        "likes": parse_words(
            "piace piacciono ama amo adora adoro preferisce preferisco apprezza appassionato appassionata "
            "fan di"
        ),
        "plays": parse_words("suona suono gioca gioco"),
        "dislikes": parse_words(
            "odia odio detesta detesto piace piacciono evita evito sopporta sopporto non"
        ),
        "building": parse_words(
            "costruendo costruisce costruisco scrivendo scrive scrivo sviluppando sviluppa sviluppo creando "
            "crea facendo preparando prepara lavorando lavora progettando restaurando ristrutturando "
            "organizzando a"
        ),
        "learning": parse_words(
            "impara imparo imparando studia studio studiando pratica sta prende lezioni di a suonare"
        ),
        "goal": parse_words(
            "vuole voglio vorrebbe spera spero prevede prepara preparando risparmia risparmiando allena "
            "allenando allenandosi si per obiettivo"
        ),
        "language": parse_words("parla parlo capisce correntemente"),
        "condition": parse_words("ha ho soffre soffro di"),
        "takes": parse_words("prende prendo"),
        "allergic": parse_words("allergico allergica intollerante allergia a al alla ai agli alle"),
        "diet": parse_words("mangia mangio non solo mai"),
        "quit": parse_words("smesso di"),
        "wants": parse_words("vuole voglio preferisce preferisco desidera"),
        "travel": parse_words("viaggia va vola visita a in"),
        "moved": parse_words("trasferito trasferita"),
        "lived": parse_words("vissuto abitava viveva"),
        "lives": parse_words("vive vivo abita abito risiede"),
        "migrating": parse_words("migrando"),
    },
    infinitive=("are", "ere", "ire"),
)
