"""Worked examples for the reader of messages: many trades, countries and languages, all invented."""

from __future__ import annotations


def _ex(said: str, *notes: str) -> tuple[str, str]:
    return said, "\n".join(notes) or "none"


# Each teaches a shape, not a sentence: no two share a trade or a place, and none comes from a labelled case.
EXAMPLES: tuple[tuple[str, str], ...] = (
    _ex(
        "Hello, I'm Tendai, a tram driver in Harare, and I've got three kids.",
        "name: User's name is Tendai",
        "job: User is a tram driver",
        "home: User lives in Harare",
        "family: User has three kids",
    ),
    _ex(
        "I'm coeliac so nothing with gluten for me, and I can't stand loud restaurants.",
        "health: User is coeliac",
        "diet: User eats nothing with gluten",
        "dislikes: User can't stand loud restaurants",
    ),
    _ex(
        "Ich bin Schreiner in Graz und baue gerade eine Treppe für ein altes Bauernhaus.",
        "job: Nutzer ist Schreiner",
        "home: Nutzer lebt in Graz",
        "building: Nutzer baut eine Treppe für ein altes Bauernhaus",
    ),
    _ex(
        "Duz mich bitte und lass die Floskeln weg.",
        "reply_style: Nutzer möchte geduzt werden",
        "reply_style: Nutzer möchte Antworten ohne Floskeln",
    ),
    _ex("ok let's do the second one"),
    _ex(
        "My brother Emeka runs a garage in Lagos and I do his books on Sundays.",
        "family: User's brother Emeka runs a garage in Lagos",
        "habit: User does the books of a garage on Sundays",
    ),
    _ex(
        "My neighbour Petra is a violinist and speaks Dutch, I play the drums.",
        "likes: User plays the drums",
    ),
    _ex(
        "Never use emojis, answer in full sentences and give distances in miles.",
        "reply_style: User wants no emojis",
        "reply_style: User wants answers in full sentences",
        "units: User wants distances in miles",
    ),
    _ex(
        "Moi c'est Noémie, j'apprends la poterie depuis mars "
        "et le samedi je vends mes bols au marché de Nantes.",
        "name: L'utilisatrice s'appelle Noémie",
        "learning: L'utilisatrice apprend la poterie depuis mars",
        "habit: L'utilisatrice vend ses bols au marché de Nantes le samedi",
    ),
    _ex("The printer says error 61 again and I bought paper yesterday."),
    _ex(
        "The thesis is due on 3 May, I'm writing it about coral reefs at the University of Cape Town.",
        "deadline: User's thesis is due on 3 May",
        "building: User is writing a thesis about coral reefs",
        "job: User studies at the University of Cape Town",
    ),
    _ex(
        "I gave up smoking and now I swim every morning.",
        "habit: User gave up smoking",
        "habit: User swims every morning",
    ),
    _ex(
        "Soy Ximena, tengo 27 años y vivo en Rosario con mi perro Tango.",
        "name: La usuaria se llama Ximena",
        "age: La usuaria tiene 27 años",
        "home: La usuaria vive en Rosario",
        "pet: La usuaria tiene un perro llamado Tango",
    ),
    _ex("It rained all weekend, the match was cancelled and we ate pizza."),
    _ex(
        "(asked: And which city are you based in?)\nTallinn, since 2018.",
        "home: User lives in Tallinn since 2018",
    ),
    _ex(
        "(asked: Sounds good. In what material, and when must it open?)\nBrick, and it must open by Easter.",
        "tools: User works with brick",
        "deadline: User's work must open by Easter",
    ),
    _ex(
        "Lavoro in un vivaio vicino a Bari, sono vegano e odio il traffico.",
        "employer: L'utente lavora in un vivaio vicino a Bari",
        "diet: L'utente è vegano",
        "dislikes: L'utente odia il traffico",
    ),
    _ex(
        "I left the bank, these days I restore clocks with a lathe and files.",
        "job: User restores clocks",
        "tools: User works with a lathe and files",
    ),
    _ex(
        "(asked: What is hard about it, and do you take any medicine?)\nInsulin twice a day.",
        "health: User takes insulin twice a day",
    ),
    _ex(
        "Estou treinando para a maratona de Recife e meu marido é bombeiro.",
        "goal: O usuário está treinando para a maratona de Recife",
        "family: O usuário tem um marido bombeiro",
    ),
    _ex("ugh this week is endless, I'm a zombie"),
    _ex(
        "I moved from Lima to Quito in spring to start at the Observatory.",
        "home: User lives in Quito",
        "employer: User works at the Observatory",
        "event: User moved from Lima to Quito in spring",
    ),
    _ex(
        "我叫林涛，在成都开面馆，最近在学吉他。",
        "name: 用户叫林涛",
        "home: 用户住在成都",
        "job: 用户开面馆",
        "learning: 用户在学吉他",
    ),
    _ex(
        "Note that I graduate on 9 July and that I'm the eldest of five.",
        "event: User graduates on 9 July",
        "family: User is the eldest of five",
    ),
    _ex(
        "I get migraines, so please use small paragraphs.",
        "health: User gets migraines",
        "reply_style: User wants small paragraphs",
    ),
    _ex(
        "I'm making Lantern, a card game, with Inkscape.",
        "building: User is making Lantern, a card game",
        "tools: User uses Inkscape",
    ),
    _ex(
        "Just turned 52 and my parrot Coco sang for me!",
        "age: User is 52 years old",
        "pet: User has a parrot called Coco",
    ),
)
