"""The worked examples of fact extraction: pairs of a message and the facts that the model should note."""

from __future__ import annotations

NO_FACTS = "none"


def _example(message: str, *lines: str) -> tuple[str, str]:
    return message, "\n".join(lines) or NO_FACTS


# Worked examples, all invented. No two share a profession or a place, so that the model learns the form and
# not the words; none is taken from the evaluation cases.
EXAMPLES: tuple[tuple[str, str], ...] = (
    _example(
        "Hello, I'm Tendai, a tram driver in Harare, and I've got three kids.",
        "name: User's name is Tendai",
        "job: User is a tram driver",
        "home: User lives in Harare",
        "family: User has three kids",
    ),
    _example(
        "I'm coeliac so nothing with gluten for me, and I can't stand loud restaurants.",
        "health: User is coeliac",
        "diet: User eats nothing with gluten",
        "dislikes: User can't stand loud restaurants",
    ),
    _example(
        "Ich bin Schreiner in Graz und baue gerade eine Treppe für ein altes Bauernhaus.",
        "job: Nutzer ist Schreiner",
        "home: Nutzer lebt in Graz",
        "building: Nutzer baut eine Treppe für ein altes Bauernhaus",
    ),
    _example(
        "Duz mich bitte und lass die Floskeln weg.",
        "reply_style: Nutzer möchte geduzt werden",
        "reply_style: Nutzer möchte Antworten ohne Floskeln",
    ),
    _example("ok let's do the second one"),
    _example(
        "My brother Emeka runs a garage in Lagos and I do his books on Sundays.",
        "family: User's brother Emeka runs a garage in Lagos",
        "habit: User does the books of a garage on Sundays",
    ),
    _example(
        "My neighbour Petra is a violinist and speaks Dutch, I play the drums.",
        "likes: User plays the drums",
    ),
    _example(
        "Never use emojis, answer in full sentences and give distances in miles.",
        "reply_style: User wants no emojis",
        "reply_style: User wants answers in full sentences",
        "units: User wants distances in miles",
    ),
    _example(
        "Moi c'est Noémie, j'apprends la poterie depuis mars "
        "et le samedi je vends mes bols au marché de Nantes.",
        "name: L'utilisatrice s'appelle Noémie",
        "learning: L'utilisatrice apprend la poterie depuis mars",
        "habit: L'utilisatrice vend ses bols au marché de Nantes le samedi",
    ),
    _example("The printer says error 61 again and I bought paper yesterday."),
    _example(
        "The thesis is due on 3 May, I'm writing it about coral reefs at the University of Cape Town.",
        "deadline: User's thesis is due on 3 May",
        "building: User is writing a thesis about coral reefs",
        "job: User studies at the University of Cape Town",
    ),
    _example(
        "I gave up smoking and now I swim every morning.",
        "habit: User gave up smoking",
        "habit: User swims every morning",
    ),
    _example(
        "Soy Ximena, tengo 27 años y vivo en Rosario con mi perro Tango.",
        "name: La usuaria se llama Ximena",
        "age: La usuaria tiene 27 años",
        "home: La usuaria vive en Rosario",
        "pet: La usuaria tiene un perro llamado Tango",
    ),
    _example(
        "When I ask about medicines, give the generic name too, and keep code comments in Swedish.",
        "reply_style: User wants the generic name too when they ask about medicines",
        "reply_style: User wants code comments in Swedish",
    ),
    _example(
        "what could I give my cousin Bram, he's 30 and a diver?",
        "family: User's cousin Bram is 30 and a diver",
    ),
    _example("It rained all weekend, the match was cancelled and we ate pizza."),
    _example(
        "(asked: And which city are you based in?)\nTallinn, since 2018.",
        "home: User lives in Tallinn since 2018",
    ),
    _example(
        "(asked: Sounds good. In what material, and when must it open?)\nBrick, and it must open by Easter.",
        "tools: User works with brick",
        "deadline: User's work must open by Easter",
    ),
    _example(
        "Lavoro in un vivaio vicino a Bari, sono vegano e odio il traffico.",
        "employer: L'utente lavora in un vivaio vicino a Bari",
        "diet: L'utente è vegano",
        "dislikes: L'utente odia il traffico",
    ),
    _example(
        "I left the bank, these days I restore clocks with a lathe and files.",
        "job: User restores clocks",
        "tools: User works with a lathe and files",
    ),
    _example(
        "(asked: What is hard about it, and do you take any medicine?)\nInsulin twice a day.",
        "health: User takes insulin twice a day",
    ),
    _example(
        "Estou treinando para a maratona de Recife e meu marido é bombeiro.",
        "goal: O usuário está treinando para a maratona de Recife",
        "family: O usuário tem um marido bombeiro",
    ),
    _example("ugh this week is endless, I'm a zombie"),
    _example(
        "I moved from Lima to Quito in spring to start at the Observatory.",
        "home: User lives in Quito",
        "employer: User works at the Observatory",
        "event: User moved from Lima to Quito in spring",
    ),
    _example(
        "我叫林涛，在成都开面馆，最近在学吉他。",
        "name: 用户叫林涛",
        "home: 用户住在成都",
        "job: 用户开面馆",
        "learning: 用户在学吉他",
    ),
    _example(
        "Note that I graduate on 9 July and that I'm the eldest of five.",
        "event: User graduates on 9 July",
        "family: User is the eldest of five",
    ),
    _example(
        "I get migraines, so please use small paragraphs.",
        "health: User gets migraines",
        "reply_style: User wants small paragraphs",
    ),
    _example(
        "I'm making Lantern, a card game, with Inkscape.",
        "building: User is making Lantern, a card game",
        "tools: User uses Inkscape",
    ),
    _example(
        "My mate Gary swears by vinegar, but my gran taught me to knit and she's 91.",
        "family: User's grandmother is 91 and taught them to knit",
    ),
    _example("shellfish closes my throat, so what else goes in?", "health: User is allergic to shellfish"),
    _example(
        "haskell is the day job, evenings belong to the band",
        "job: User works with Haskell",
        "likes: User plays in a band",
    ),
    _example("yes the timeout, let me try that"),
    _example(
        "no car, never had a licence, is there a bus to the lake?", "habit: User has no car and no licence"
    ),
    _example("I went to the lake yesterday, it was so much fun and the water was freezing"),
    _example("Goal is to make head chef before forty.", "goal: User wants to become head chef before forty"),
    _example("I'm confused, which kind should I choose?"),
    _example(
        "deaf in my left ear since school, so phone calls are no good",
        "health: User is deaf in the left ear since school",
    ),
    _example(
        "Kirchenchor ist immer mittwochs, ich singe Alt.", "habit: Nutzer singt mittwochs Alt im Kirchenchor"
    ),
    _example("Nee, das zweite, und bitte kürzer."),
    _example(
        "infirmière de nuit, du coup le matin je dors, et ma fille Inès garde le chien",
        "job: L'utilisatrice est infirmière de nuit",
        "family: L'utilisatrice a une fille, Inès",
        "pet: L'utilisatrice a un chien",
    ),
    _example(
        "Me operan de la rodilla el 4 de mayo.", "event: La usuaria se opera de la rodilla el 4 de mayo"
    ),
    _example(
        "imparo il ricamo da nonna Ida, che ha 88 anni",
        "learning: L'utente impara il ricamo da sua nonna Ida",
        "family: L'utente ha una nonna di 88 anni, Ida",
    ),
    _example(
        "minha mãe faleceu em março e eu cuido da loja dela",
        "family: O usuário perdeu a mãe em março",
        "job: O usuário cuida da loja da mãe",
    ),
    _example("妈妈眼睛不好，所以字要大一点", "family: 用户的妈妈眼睛不好"),
    _example(
        "猫アレルギーなのに二匹も飼ってる。",
        "health: ユーザーは猫アレルギーがある",
        "pet: ユーザーは猫を二匹飼っている",
    ),
    _example("새우만 먹어도 목이 부어요.", "health: 사용자는 새우 알레르기가 있다"),
    _example("Сыну четыре, и у него астма.", "family: У пользователя четырёхлетний сын с астмой"),
    _example(
        "al tien jaar bakker in Delft, dus vroeg op",
        "job: Gebruiker is bakker in Delft",
        "habit: Gebruiker staat vroeg op",
    ),
    _example(
        "we run Postgres 16 and the launch is on 2 June",
        "tools: User works with Postgres 16",
        "deadline: User's launch is on 2 June",
    ),
    _example(
        "when I paste code, show me only the lines that changed",
        "reply_style: User wants only the changed lines when they paste code",
    ),
    _example(
        "Just turned 52 and my parrot Coco sang for me!",
        "age: User is 52 years old",
        "pet: User has a parrot called Coco",
    ),
)
