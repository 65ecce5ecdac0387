"""Patterns of sentences by the kind of fact that they state, in seven languages."""

from __future__ import annotations

import re

# Words for the assistant's answers and their parts.
_REPLY = (
    r"answers?|repl(?:y|ies)|responses?|explanations?|preamble|emojis?|sentences?|italics|headings?|"
    r"tables|bullet points?|bullets|"
    r"code examples?|jargon|exclamation marks?|punctuation|abbreviations|small talk|sources|hashtags|"
    r"disclaimers|"
    r"metaphors|analogies|apologies|summaries|"
    r"step by step|paragraphs?|spoilers?|antworten?|réponses?|respuestas?|risposte|respostas?"
)
_LANGUAGE = (
    r"english|french|german|spanish|italian|portuguese|chinese|mandarin|japanese|korean|dutch|polish|"
    r"danish|swedish|norwegian|"
    r"russian|arabic|turkish|hindi|ukrainian|greek|czech|finnish"
)
_MONTH = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|"
    r"oct(?:ober)?|nov(?:ember)?|"
    r"dec(?:ember)?|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
)
# Beginnings of weekday names; the pattern adds "day" or "days".
_DAY = r"mon|tues|wednes|thurs|fri|satur|sun"
_RELATIVE = (
    r"wife|husband|partner|daughters?|sons?|kids?|child(?:ren)?|twins?|mother|father|mom|mum|dad|parents?|"
    r"sisters?|brothers?|siblings?|cousins?|aunt|uncle|niece|nephew|grand\w+|fiancée?|frau|mann|"
    r"tochter|töchter|"
    r"sohn|söhne|kind(?:er)?|mutter|vater|eltern|schwester|bruder|femme|mari|filles?|fils|enfants?|mère|père|"
    r"sœur|frère|espos[oa]|marido|hij[oa]s?|madre|padre|herman[oa]s?|moglie|marito|figli[oae]?|sorella|"
    r"fratello|"
    r"mulher|filh[oa]s?|mãe|pai|irmã|irmão"
)

# The first pattern that matches decides, so specific patterns come before general ones.
_RULES: tuple[tuple[str, str], ...] = (
    # Before age, name and health: "User's son is 6 years old" is not about the user's age.
    (
        "family",
        rf"^(?:user's|nutzers) (?:\w+ ){{0,2}}(?:{_RELATIVE})\b(?!'s wedding)|"
        rf"\b(?:has|had|got|hat|utilisat\w+ a|tiene|tem|ha) (?:[\w,-]+ ){{0,3}}(?:{_RELATIVE})\b(?!')|"
        rf"\b(?:{_RELATIVE}) (?:of|de l'utilisat\w+|del usuario|de la usuaria|dell'utente|"
        r"d[oa] usuári[oa])\b|"
        rf"\bfamily of\b|"
        r"妻子|丈夫|老婆|老公|女儿|儿子|孩子|妈妈|爸爸|姐姐|妹妹|哥哥|弟弟",
    ),
    (
        "reply_language",
        rf"\b(?:{_REPLY}|answered|addressed)\b.{{0,30}}\bin (?:{_LANGUAGE})\b|回答.{{0,6}}(?:中文|英文|英语)",
    ),
    (
        "units",
        r"\b(?:metric|imperial|celsius|fahrenheit)\b|\b(?:wants?|prefers?|uses?|needs?|likes?)\b.*\b(?:"
        r"kilomet(?:er|re)s|miles|kilos|pounds|euros|dollars)\b",
    ),
    (
        "reply_style",
        rf"\b(?:wants?|prefers?|likes?|needs?|hates?|dislikes?|asks? for)\b.*\b(?:{_REPLY})\b|"
        rf"\bmust (?:never|always) be\b|回答|回复",
    ),
    (
        "reply_style",
        r"\b(?:möchte|wünscht|will|bevorzugt|veut|préfère|souhaite|quiere|prefiere|vuole|preferisce|quer|"
        r"prefere)\b.*(?:antwort|réponse|respuesta|rispost|respost|erklärung|einleitung|sätze|phrase|frase)",
    ),
    (
        "reply_style",
        r"\b(?:geduzt|gesiezt|tutoy|vouvoy|tutear|answered|addressed as)\b|\btypescript in code\b",
    ),
    (
        "name",
        r"^user's (?:\w+ )?name is\b|^user is called\b|\bgoes by\b|^用户(?:叫|的名字|名叫)"
        r"|^(?:nutzer(?:in)?) heißt|s'appelle|se llama|si chiama|(?:se )?chama(?:-se)?\b",
    ),
    (
        "age",
        r"\b(?:years old|turned \d+|turns \d+|^user's birthday|is \d{1,3}$)|\bjahre alt\b|"
        r"\b(?:a|tiene|ha|tem) \d{1,3} (?:ans|años|anni|anos)$|\d岁",
    ),
    (
        "deadline",
        rf"\b(?:deadline|due|ships?|launch(?:es)?|releases?|delivery|submission|crowdfunding|kickstarter|"
        rf"campaign|demo|comes? out|goes live|premieres?|has to be (?:done|finished)|must be (?:done|"
        rf"finished)|slipped to|(?:must|has to|have to) be [\w ]+ by)\b.*(?:\d|\b(?:{_MONTH})\b)|"
        rf"\bdeadline\b|\bdue (?:on|by|in)\b|截止",
    ),
    (
        # Single foods are habits, because `diet` can have one value only: "eats no pork", "eats no beef".
        "habit",
        r"\b(?:eats? no\b|(?:doesn't|does not|never|no longer) eats?\b|"
        r"isst (?:[\w ]+ )?(?:kein\w*|nie|nicht)\b|"
        r"ne mange (?:pas|jamais|plus)|n[ou] come|non mangia|não come)|"
        rf"\b(?:plays?|swims?|runs|goes|trains?|cycles|rows|bakes|sings|does|practises|"
        rf"practices) (?!.*\bby\b).*"
        rf"\b(?:(?:on|every|each) (?:{_DAY})days?|(?:{_DAY})day (?:mornings?|evenings?|nights?|"
        rf"afternoons?))\b",
    ),
    (
        "diet",
        r"\b(?:vegetarian|vegan|pescatarian|halal|kosher|eats (?:only|meat|fish|nothing)|"
        r"gluten[- ]free|keto|vegetarier(?:in)?|veganer(?:in)?|vegetarisch|végétarien\w*|vegetarian[oa]|"
        r"vegetariano|vegan[oa])\b|素食|吃素|"
        r"清真",
    ),
    (
        "health",
        r"\b(?:allerg\w+|intol[eé]?r\w+|intolleran\w+|diabet\w+|asthma\w*|adhd|autis\w+|dyslexi\w+|"
        r"migraines?|"
        r"epilep\w+|depress\w+|anxiety|coeliac|celiac|insulin|diagnosed|disease|celíac[oa]|celiac[oa]|"
        r"cœliaque|céliaque|zöliakie|eyesight|glaucoma|vertigo|tinnitus|illness|disabilit\w+|"
        r"surgery|medication|medicine|wheelchair|hearing aid|pacemaker|blood thinners?|dialysis|deaf|"
        r"blind|pregnant|arthritis|back pain|blood pressure|allergi\w+|"
        r"alérgic\w+|alergi\w+)\b|过敏|糖尿病|哮喘|近视",
    ),
    (
        "pet",
        r"\b(?:dogs?|cats?|puppy|kitten|parrot|hamster|rabbits?|horses?|ferrets?|tortoises?|turtles?|"
        r"budgies?|canary|pony|ponies|donkeys?|goats?|sheep|alpacas?|llamas?|hens?|chickens?|ducks?|"
        r"geese|rooster|pigs?|cows?|hund|katze|chien|chat|perr[oa]|"
        r"gat[oa]|cane|gatto|cachorr[oa])\b.*\b(?:called|named|name|llamad[oa]|heißt|s'appelle|"
        r"chiamat[oa]|chamad[oa])\b|\b(?:has|got|keeps|breeds|hat|a un|tiene|ha|tem) (?:a |an |two |"
        r"three |\w+ |einen? |"
        r"une? |un[oa]? |uma? )?(?:dogs?|cats?|puppy|kitten|parrots?|hamsters?|rabbits?|horses?|ferrets?|"
        r"tortoises?|turtles?|budgies?|canary|ponies|donkeys?|goats?|sheep|alpacas?|llamas?|hens?|"
        r"chickens?|ducks?|geese|pigs?|cows?|hund|katze|chien|"
        r"chat|perr[oa]|gat[oa]|cane|gatto|cachorr[oa])\b|养了?.{0,4}[猫狗]",
    ),
    (
        "relationship",
        r"\b(?:is|got|are) (?:single|married|divorced|engaged|widowed|separated|in a relationship)\b|"
        r"\b(?:verheiratet|"
        r"marié[e]?|casad[oa]|sposat[oa]|solter[oa])\b|已婚|单身",
    ),
    (
        "home",
        r"\b(?:lives?|living|resides?|based)(?: [\w-]+){0,2} (?:in|to|near|at|from|outside|by)\b|"
        r"\bmoved(?: (?:back|house|home|here|away|out|over|in|again|recently|just|with [\w' ]+?))* "
        r"(?:in|to|into|near|from|outside)\b|"
        r"^nutzer(?:in)? (?:wohnt|"
        r"lebt)\b|\bnach \w+ (?:um)?(?:gezogen|zieht)\b|\bzieht nach\b|"
        r"\bdéménag\w+ (?:à|en|au|dans)\b|\bmud(?:ó|ado|ou|ou-se) (?:a|para)\b|\btrasferit[oa] a\b|"
        r"\b(?:habite|vit) (?:à|en|au|dans)\b|\bvive (?:en|a|in)\b|\babita\b|\bmora (?:em|no|"
        r"na)\b|住在|搬到",
    ),
    (
        "origin",
        r"\b(?:comes? from|is from|originally from|grew up in|was born in)\b|\bkommt aus\b|"
        r"\bvient de\b|\bes de\b|来自",
    ),
    (
        "learning",
        r"\b(?:learn(?:s|ing)?|studying for|practis(?:es|ing)|practic(?:es|ing)|"
        r"taking (?:\w+ ){0,2}(?:lessons|classes|"
        r"a course)|lernt|apprend|aprende|aprendiendo|impara|imparando|aprendendo|sta imparando)\b|在学|"
        r"学习",
    ),
    (
        "goal",
        r"\b(?:plans? to|wants? to (?!be )|preparing|training for|saving (?:up )?for|aims? to|goal|"
        r"hopes? to|applying|bereitet sich|prépare|se prepara|treinando|entrenando)\b|准备|打算|计划",
    ),
    (
        "building",
        r"\b(?:is |are )?(?:building|writing|making|developing|creating|designing|rewriting|migrating|"
        r"restor(?:es|ing) (?:a|an|the|their|our)|renovating|repairing|refurbishing|"
        r"organi[sz]ing|curating|composing|recording an?|filming an?|working on|"
        r"(?:looks? after|maintains?|runs|manages) (?:a |an |the |their )?[\w' ]{0,30}(?:website|blog|"
        r"podcast|channel|newsletter)|"
        r"restaurando|restauriert|restaure|restaurant une?|producing|"
        r"launching|running a|coding|(?:code|programme|programmiert|programa) "
        r"(?:un|une|ein|eine|einen|uno|una|um|uma)\b|baut|schreibt|entwickelt|construit|écrit|"
        r"développe|construyendo|escribiendo|desarrollando|costruendo|scrivendo|sviluppando|"
        r"construindo|escrevendo|desenvolvendo)\b|在写|在做|在开发|正在",
    ),
    (
        "employer",
        r"\b(?:start(?:s|ed)|began|hired|(?:is|are) now|now) (?:at|by) (?-i:[A-Z])|^User is at (?-i:[A-Z])|"
        r"\b(?:works? (?:at|for)|employed (?:at|by)|(?:new )?job at|joined|arbeitet (?:bei|für)|"
        r"travaille (?:chez|pour)|trabaja (?:en|para)|lavora (?:per|presso))\b|就职|上班",
    ),
    (
        "tools",
        (
            r"\bon (?:all )?(?:my|their|the|both) (?:machines?|laptops?|computers?|pcs?|servers?|phones?)\b|"
            r"\b(?:moved|switched|migrated|ported) (?:everything|it all|all) (?:over )?to\b|"
            r"\b(?:runs? [\w .+-]{2,30} on (?:\w+ )?(?:their|all|a|the)|uses?|using|works? with|"
            r"plays? (?:around )?with|benutzt|nutzt|utilise|utiliza|usa)\b|使用"
        ),
    ),
    (
        "dislikes",
        r"\b(?:dislikes?|hates?|(?:doesn't|does not|don't) (?:really |much )?(?:like|enjoy|care for)|"
        r"not a (?:big |great )?fan of|(?:isn't|is not|not) (?:keen on|into|fond of)|can't stand|"
        r"cannot stand|avoids?|detests?|hasst|mag kein\w*|déteste|"
        r"n'aime pas|odia|detesta|no le gusta|non (?:gli|le) piace|não gosta)\b|讨厌|不喜欢",
    ),
    (
        "likes",
        r"\b(?:collects?|sammelt|collectionne|colecciona|colleziona|coleciona|knits?|sews?|folds?|"
        r"fencing|likes?|loves?|enjoys?|admires?|prefers?|fan of|favou?rite|plays?|mag|liebt|bewundert|"
        r"aime|admire|adore|admira|ammira|le gusta|ama|piace|gosta|adora)\b|喜欢|爱好",
    ),
    (
        "job",
        r"\b(?:operates?|conducts|drives (?:a|an) (?:taxi|cab|bus|truck|lorry|tram|train|crane)|"
        r"works? (?:as|in)|job is|is an? \w+(?: \w+)?|leads?|leading|manages?|managing|teaches|runs|"
        r"studies|arbeitet als|"
        r"ist \w+(?:in)?$|travaille comme|trabaja como|es (?:profesor|médic|enfermer|ingenier)\w*|"
        r"lavora come|trabalha como)\b|工作|职业|老师|医生|工程师",
    ),
    (
        "language",
        rf"\b(?:speaks?|fluent in|native speaker|spricht|parle|habla|parla|"
        rf"fala) (?:\w+ ){{0,2}}(?:{_LANGUAGE}|\w+)\b|会说",
    ),
    (
        "event",
        rf"\b(?:wedding|graduat\w+|moves?|trip|travels?|flies|born|getting married)\b|\b(?:{_MONTH})\b",
    ),
    (
        "habit",
        r"\b(?:drinks?|trinkt|boit|bebe|beve)\b|"
        r"\b(?:every|each|usually|often|always|mornings?|evenings?|weekends?|daily|weekly|gave up|quit|"
        r"anymore|any more|no longer|switched to|doesn't (?:eat|drink|smoke)|"
        r"stopped|jeden|chaque|cada|ogni|tous les|toutes les|todos los|todas las|todo dia|todos os|"
        r"todas as|tutti i|tutte le)\b|每天|每周",
    ),
)
PATTERNS = tuple((kind, re.compile(pattern, re.I)) for kind, pattern in _RULES)
