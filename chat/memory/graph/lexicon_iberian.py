"""Spanish and Portuguese."""

from __future__ import annotations

from .lexicon import Tongue, words

SPANISH = Tongue(
    code="es",
    determiners=words(
        "el la los las lo un una unos unas mi mis su sus nuestro nuestra nuestros este esta estos estas dos "
        "tres cuatro cinco seis muchos muchas mucho mucha algunos algunas todos todas primer primera de poco"
    ),
    indefinite=words("un una unos unas"),
    cut=words(
        "a al en con por para sobre sin desde hasta entre hacia contra según durante tras cerca como porque "
        "cuando si donde que quien cada siempre mucho muy también es son está tiene desde llamado llamada "
    ),
    breaks=words("porque cuando si donde que quien pero aunque pues"),
    joins=words("y e o u"),
    fillers=words(
        "es soy está estoy están ha he no le les me muy mucho también siempre sobre todo realmente "
        "actualmente un poco se con fluidez más"
    ),
    empty=words("que cuando como no ser estar se él ella yo lo si"),
    inner=words("de del la las los el"),
    called=words("llamado llamada llamados llamadas llama llaman nombre"),
    copula=words("es soy son era"),
    as_=words("como"),
    place=words("en a"),
    near=words("cerca"),
    from_=words("de del desde"),
    to=words("a hacia"),
    at=words("en para con"),
    with_=words("con en"),
    about=words("sobre acerca"),
    verbs={
        "employer": words("trabaja trabajo empleado empleada"),
        "job": words("trabaja trabajo profesión"),
        "studies": words("estudia estudio"),
        "tools": words("usa uso utiliza utilizo trabaja trabajo con emplea programa en"),
        "likes": words(
            "gusta gustan encanta encantan ama amo adora adoro prefiere prefiero disfruta disfruto "
            "aficionado aficionada fan de del a"
        ),
        "plays": words("toca toco juega juego"),
        "dislikes": words("odia odio detesta detesto gusta gustan evita evito soporta soporto no"),
        "building": words(
            "construyendo construye construyo escribiendo escribe escribo desarrollando desarrolla "
            "desarrollo creando crea haciendo hace hago trabajando trabaja en preparando prepara diseñando "
            "diseña restaurando restaura montando monta organizando"
        ),
        "learning": words(
            "aprende aprendo aprendiendo estudia estudio estudiando practica practico practicando toma "
            "clases de a tocar"
        ),
        "goal": words(
            "quiere quiero planea planeo espera espero prepara ahorra ahorro ahorrando entrena entreno "
            "entrenando preparando preparándose para se meta objetivo"
        ),
        "language": words("habla hablo fluidez entiende domina"),
        "condition": words("tiene tengo padece padezco sufre de"),
        "takes": words("toma tomo"),
        "allergic": words("alérgico alérgica intolerante alergia a al"),
        "diet": words("come como no nada de solo nunca"),
        "quit": words("dejó dejado dejé de"),
        "wants": words("quiere quiero prefiere prefiero necesita desea le gusta gustan"),
        "travel": words("viaja viajo viajó vuela va a visita"),
        "moved": words("mudó mudado mudé"),
        "lived": words("vivió vivía viví vivido"),
        "lives": words("vive vivo reside mudó"),
        "migrating": words("migrando migra"),
    },
    infinitive=("ar", "er", "ir"),
)

PORTUGUESE = Tongue(
    code="pt",
    determiners=words(
        "o a os as um uma uns umas meu minha meus minhas seu sua seus suas nosso nossa este esta estes dois "
        "duas três quatro cinco muitos muitas muito muita alguns algumas todos todas primeiro primeira "
        "pouco de do da dos das"
    ),
    indefinite=words("um uma uns umas"),
    cut=words(
        "em no na nos nas com por para sobre sem desde até entre contra durante perto ao à aos às pelo pela "
        "como porque quando se onde que quem cada sempre muito também é são está tem chamado chamada"
    ),
    breaks=words("porque quando se onde que quem mas embora"),
    joins=words("e ou"),
    fillers=words(
        "é sou está estou estão tem tenho não muito também sempre realmente atualmente principalmente um "
        "pouco fluentemente"
    ),
    empty=words("que quando como não ser estar se ele ela eu"),
    inner=words("de do da dos das"),
    called=words("chamado chamada chamados chamadas chama chamam nome"),
    copula=words("é sou são era"),
    as_=words("como"),
    place=words("em no na nos nas para"),
    near=words("perto"),
    from_=words("de do da"),
    to=words("para"),
    at=words("em na no para"),
    with_=words("com em"),
    about=words("sobre"),
    verbs={
        "employer": words("trabalha trabalho empregado empregada"),
        "job": words("trabalha trabalho profissão"),
        "studies": words("estuda estudo"),
        "tools": words("usa uso utiliza utilizo trabalha trabalho com programa em"),
        "likes": words("gosta gosto ama amo adora adoro prefere prefiro curte curto fã de do da dos das"),
        "plays": words("toca toco joga jogo"),
        "dislikes": words("odeia odeio detesta detesto gosta gosto evita suporta não de do da"),
        "building": words(
            "construindo constrói escrevendo escreve escrevo desenvolvendo desenvolve desenvolvo criando "
            "cria fazendo faz faço trabalhando trabalha em preparando prepara projetando restaurando "
            "reformando organizando"
        ),
        "learning": words(
            "aprende aprendo aprendendo estuda estudo estudando pratica praticando faz aulas de a tocar"
        ),
        "goal": words(
            "quer quero planeja planejo espera espero prepara preparando economiza economizando treinando "
            "treina treino juntando para se pra meta objetivo"
        ),
        "language": words("fala falo entende fluentemente"),
        "condition": words("tem tenho sofre sofro de"),
        "takes": words("toma tomo"),
        "allergic": words("alérgico alérgica intolerante alergia a ao à aos às"),
        "diet": words("come como não só nunca"),
        "quit": words("parou parei deixou de"),
        "wants": words("quer quero prefere prefiro precisa deseja gosta de"),
        "travel": words("viaja viajo vai voa visita para"),
        "moved": words("mudou mudei"),
        "lived": words("morou morava morei viveu"),
        "lives": words("mora moro vive vivo reside"),
        "migrating": words("migrando"),
    },
    infinitive=("ar", "er", "ir"),
)
