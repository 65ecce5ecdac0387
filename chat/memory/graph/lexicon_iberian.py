"""The lexicons of Spanish and Portuguese."""

from __future__ import annotations

from .lexicon import Lexicon, parse_words

SPANISH = Lexicon(
    code="es",
    determiners=parse_words(
        "el la los las lo un una unos unas mi mis su sus nuestro nuestra nuestros este esta estos estas dos "
        "tres cuatro cinco seis muchos muchas mucho mucha algunos algunas todos todas primer primera de poco"
    ),
    indefinite=parse_words("un una unos unas"),
    cut=parse_words(
        "a al en con por para sobre sin desde hasta entre hacia contra según durante tras cerca como porque "
        "cuando si donde que quien cada siempre mucho muy también es son está tiene desde llamado llamada "
    ),
    breaks=parse_words("porque cuando si donde que quien pero aunque pues"),
    joins=parse_words("y e o u"),
    fillers=parse_words(
        "es soy está estoy están ha he no le les me muy mucho también siempre sobre todo realmente "
        "actualmente un poco se con fluidez más"
    ),
    empty=parse_words("que cuando como no ser estar se él ella yo lo si"),
    inner=parse_words("de del la las los el"),
    called=parse_words("llamado llamada llamados llamadas llama llaman nombre"),
    copula=parse_words("es soy son era"),
    as_=parse_words("como"),
    place=parse_words("en a"),
    near=parse_words("cerca"),
    from_=parse_words("de del desde"),
    to=parse_words("a hacia"),
    at=parse_words("en para con"),
    with_=parse_words("con en"),
    about=parse_words("sobre acerca"),
    verbs={
        "employer": parse_words("trabaja trabajo empleado empleada"),
        "job": parse_words("trabaja trabajo profesión"),
        "studies": parse_words("estudia estudio"),
        "tools": parse_words("usa uso utiliza utilizo trabaja trabajo con emplea programa en"),
        "likes": parse_words(
            "gusta gustan encanta encantan ama amo adora adoro prefiere prefiero disfruta disfruto "
            "aficionado aficionada fan de del a"
        ),
        "plays": parse_words("toca toco juega juego"),
        "dislikes": parse_words("odia odio detesta detesto gusta gustan evita evito soporta soporto no"),
        "building": parse_words(
            "construyendo construye construyo escribiendo escribe escribo desarrollando desarrolla "
            "desarrollo creando crea haciendo hace hago trabajando trabaja en preparando prepara diseñando "
            "diseña restaurando restaura montando monta organizando"
        ),
        "learning": parse_words(
            "aprende aprendo aprendiendo estudia estudio estudiando practica practico practicando toma "
            "clases de a tocar"
        ),
        "goal": parse_words(
            "quiere quiero planea planeo espera espero prepara ahorra ahorro ahorrando entrena entreno "
            "entrenando preparando preparándose para se meta objetivo"
        ),
        "language": parse_words("habla hablo fluidez entiende domina"),
        "condition": parse_words("tiene tengo padece padezco sufre de"),
        "takes": parse_words("toma tomo"),
        "allergic": parse_words("alérgico alérgica intolerante alergia a al"),
        "diet": parse_words("come como no nada de solo nunca"),
        "quit": parse_words("dejó dejado dejé de"),
        "wants": parse_words("quiere quiero prefiere prefiero necesita desea le gusta gustan"),
        "travel": parse_words("viaja viajo viajó vuela va a visita"),
        "moved": parse_words("mudó mudado mudé"),
        "lived": parse_words("vivió vivía viví vivido"),
        "lives": parse_words("vive vivo reside mudó"),
        "migrating": parse_words("migrando migra"),
    },
    infinitive=("ar", "er", "ir"),
)

PORTUGUESE = Lexicon(
    code="pt",
    determiners=parse_words(
        "o a os as um uma uns umas meu minha meus minhas seu sua seus suas nosso nossa este esta estes dois "
        "duas três quatro cinco muitos muitas muito muita alguns algumas todos todas primeiro primeira "
        "pouco de do da dos das"
    ),
    indefinite=parse_words("um uma uns umas"),
    cut=parse_words(
        "em no na nos nas com por para sobre sem desde até entre contra durante perto ao à aos às pelo pela "
        "como porque quando se onde que quem cada sempre muito também é são está tem chamado chamada"
    ),
    breaks=parse_words("porque quando se onde que quem mas embora"),
    joins=parse_words("e ou"),
    fillers=parse_words(
        "é sou está estou estão tem tenho não muito também sempre realmente atualmente principalmente um "
        "pouco fluentemente"
    ),
    empty=parse_words("que quando como não ser estar se ele ela eu"),
    inner=parse_words("de do da dos das"),
    called=parse_words("chamado chamada chamados chamadas chama chamam nome"),
    copula=parse_words("é sou são era"),
    as_=parse_words("como"),
    place=parse_words("em no na nos nas para"),
    near=parse_words("perto"),
    from_=parse_words("de do da"),
    to=parse_words("para"),
    at=parse_words("em na no para"),
    with_=parse_words("com em"),
    about=parse_words("sobre"),
    verbs={
        "employer": parse_words("trabalha trabalho empregado empregada"),
        "job": parse_words("trabalha trabalho profissão"),
        "studies": parse_words("estuda estudo"),
        "tools": parse_words("usa uso utiliza utilizo trabalha trabalho com programa em"),
        "likes": parse_words(
            "gosta gosto ama amo adora adoro prefere prefiro curte curto fã de do da dos das"
        ),
        "plays": parse_words("toca toco joga jogo"),
        "dislikes": parse_words("odeia odeio detesta detesto gosta gosto evita suporta não de do da"),
        "building": parse_words(
            "construindo constrói escrevendo escreve escrevo desenvolvendo desenvolve desenvolvo criando "
            "cria fazendo faz faço trabalhando trabalha em preparando prepara projetando restaurando "
            "reformando organizando"
        ),
        "learning": parse_words(
            "aprende aprendo aprendendo estuda estudo estudando pratica praticando faz aulas de a tocar"
        ),
        "goal": parse_words(
            "quer quero planeja planejo espera espero prepara preparando economiza economizando treinando "
            "treina treino juntando para se pra meta objetivo"
        ),
        "language": parse_words("fala falo entende fluentemente"),
        "condition": parse_words("tem tenho sofre sofro de"),
        "takes": parse_words("toma tomo"),
        "allergic": parse_words("alérgico alérgica intolerante alergia a ao à aos às"),
        "diet": parse_words("come como não só nunca"),
        "quit": parse_words("parou parei deixou de"),
        "wants": parse_words("quer quero prefere prefiro precisa deseja gosta de"),
        "travel": parse_words("viaja viajo vai voa visita para"),
        "moved": parse_words("mudou mudei"),
        "lived": parse_words("morou morava morei viveu"),
        "lives": parse_words("mora moro vive vivo reside"),
        "migrating": parse_words("migrando"),
    },
    infinitive=("ar", "er", "ir"),
)
