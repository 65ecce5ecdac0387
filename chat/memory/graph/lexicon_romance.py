"""French and Italian."""

from __future__ import annotations

from .lexicon import Tongue, words

FRENCH = Tongue(
    code="fr",
    determiners=words(
        "le la les l' un une des du de d' mon ma mes son sa ses notre nos leur leurs ce cet cette ces deux "
        "trois quatre cinq six beaucoup quelques plusieurs tous toutes premier première au aux à peu"
    ),
    indefinite=words("un une des"),
    cut=words(
        "à au aux en dans pour par avec sur sous chez sans depuis pendant avant après vers contre entre près "
        "comme parce quand lorsque si où qui que dont car chaque tous souvent toujours beaucoup très trop "
        "aussi est sont a ont s'appelle nommé nommée appelé appelée"
    ),
    breaks=words("parce quand lorsque si où qui que dont car mais puisque"),
    joins=words("et ou ainsi"),
    fillers=words(
        "est suis sont a ai ont n' ne pas plus beaucoup vraiment très aussi actuellement toujours surtout "
        "bien le la les l' se s' en train de d' couramment un peu"
    ),
    empty=words("ce que qui quand comment pas ne être avoir faire il elle je nous on y en se"),
    inner=words("de du des la le les d' l' sur sous en"),
    called=words("nommé nommée appelé appelée s'appelle prénommé prénommée baptisé baptisée"),
    copula=words("est suis sont était"),
    as_=words("comme"),
    place=words("à au aux en dans"),
    near=words("près côté"),
    from_=words("de du des d'"),
    to=words("à vers"),
    at=words("chez pour à dans"),
    with_=words("avec en"),
    about=words("sur"),
    verbs={
        "employer": words("travaille travaillait employé employée embauché embauchée"),
        "job": words("travaille métier profession"),
        "studies": words("étudie études"),
        "tools": words("utilise utilisent travaille avec sur emploie se sert de programme en"),
        "likes": words("aime adore préfère apprécie fan passionné passionnée de d' par"),
        "plays": words("joue de du au"),
        "dislikes": words("n'aime aime déteste évite supporte pas"),
        "building": words(
            "construit construis écrit écris développe crée fait prépare travaille sur rénove restaure "
            "conçoit lance monte organise rédige construire écrire développer"
        ),
        "learning": words("apprend apprends étudie pratique suit prend cours de d' à apprendre jouer du"),
        "goal": words(
            "veut veux voudrait voudrais souhaite prévoit espère compte prépare économise s'entraîne "
            "entraîne pour objectif rêve de d' se"
        ),
        "language": words("parle parlent couramment comprend maîtrise"),
        "condition": words("souffre de d' a ai un une"),
        "takes": words("prend prends"),
        "allergic": words("allergique intolérant intolérante allergie à au aux"),
        "diet": words("mange manges pas de d' ne plus seulement jamais"),
        "quit": words("arrêté cessé de d' arrête"),
        "wants": words("veut voudrait préfère souhaite aime demande besoin des de"),
        "travel": words("voyage part va visite vole à au en"),
        "moved": words("déménagé emménagé quitté"),
        "lived": words("habitait vivait vécu habité"),
        "lives": words("habite vit vis habitait"),
        "migrating": words("migre"),
    },
    infinitive=("er", "ir", "re"),
)

ITALIAN = Tongue(
    code="it",
    determiners=words(
        "il lo la i gli le l' un uno una un' mio mia miei mie suo sua suoi sue nostro nostra questo questa "
        "questi queste due tre quattro cinque sei molti molte molto alcuni alcune tutti tutte primo prima "
        "del della dei degli delle dell' di"
    ),
    indefinite=words("un uno una un'"),
    cut=words(
        "a ad al allo alla ai agli alle all' in nel nella nei con per da dal dalla su sul sulla tra fra "
        "senza verso contro durante dopo vicino come perché quando se dove che chi ogni sempre "
        "molto anche è sono ha chiamato chiamata"
    ),
    breaks=words("perché quando se dove che chi ma però"),
    joins=words("e ed o oppure"),
    fillers=words(
        "è sono sta sto stanno ha ho non molto anche sempre davvero soprattutto mi gli le un po' "
        "attualmente correntemente bene"
    ),
    empty=words("che quando come non essere avere si lui lei io lo"),
    inner=words("di del della dei delle dell' d' la"),
    called=words("chiamato chiamata chiamati chiamate chiama chiamano nome"),
    copula=words("è sono era"),
    as_=words("come"),
    place=words("a ad in nel nella"),
    near=words("vicino"),
    from_=words("di da dal dalla"),
    to=words("a"),
    at=words("per presso in da"),
    with_=words("con in"),
    about=words("su sul sulla sui sulle"),
    verbs={
        "employer": words("lavora lavoro impiegato impiegata"),
        "job": words("lavora lavoro professione fa"),
        "studies": words("studia studio"),
        "tools": words("usa uso utilizza utilizzo lavora lavoro con programma in"),
        "likes": words(
            "piace piacciono ama amo adora adoro preferisce preferisco apprezza appassionato appassionata "
            "fan di"
        ),
        "plays": words("suona suono gioca gioco"),
        "dislikes": words("odia odio detesta detesto piace piacciono evita evito sopporta sopporto non"),
        "building": words(
            "costruendo costruisce costruisco scrivendo scrive scrivo sviluppando sviluppa sviluppo creando "
            "crea facendo preparando prepara lavorando lavora progettando restaurando ristrutturando "
            "organizzando a"
        ),
        "learning": words(
            "impara imparo imparando studia studio studiando pratica sta prende lezioni di a suonare"
        ),
        "goal": words(
            "vuole voglio vorrebbe spera spero prevede prepara preparando risparmia risparmiando allena "
            "allenando allenandosi si per obiettivo"
        ),
        "language": words("parla parlo capisce correntemente"),
        "condition": words("ha ho soffre soffro di"),
        "takes": words("prende prendo"),
        "allergic": words("allergico allergica intollerante allergia a al alla ai agli alle"),
        "diet": words("mangia mangio non solo mai"),
        "quit": words("smesso di"),
        "wants": words("vuole voglio preferisce preferisco desidera"),
        "travel": words("viaggia va vola visita a in"),
        "moved": words("trasferito trasferita"),
        "lived": words("vissuto abitava viveva"),
        "lives": words("vive vivo abita abito risiede"),
        "migrating": words("migrando"),
    },
    infinitive=("are", "ere", "ire"),
)
