"""Hides the parts of a message that the user did not state: code, quotes, pasted text, mail, links."""

from __future__ import annotations

import re

from .text_similarity import SINGLE_CHARACTERS

HIDDEN = "…"

# A fenced code block; an unclosed one extends to the end.
_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.S)
_INLINE = re.compile(r"`[^`\n]+`")
_URL = re.compile(r"\b(?:https?://|www\.)\S+|(?<![\w.+-])[\w.+-]++@[\w-]+\.[\w.]+\b", re.I)
# A quoted line of Markdown or mail: "> …".
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.M)
# A header line of a mail: "From: …", "Betreff: …", "发件人：…".
_MAIL_HEADER = re.compile(
    r"^[ \t]*(?:from|to|cc|bcc|subject|sent|date|von|an|betreff|de|à|objet|para|asunto|assunto|da|"
    r"oggetto|发件人|收件人|主题)"
    r"[ \t]*[:：].*$",
    re.I | re.M,
)
# What shows that header lines are of a mail: an address, a value of several words, or one of these headers.
# "From: Oslo" and "To: Rome" alone are a journey.
_OF_A_MAIL = re.compile(
    r"@|[:：][ \t]*\S{1,200}[ \t]+\S|"
    r"^[ \t]*(?:cc|bcc|subject|sent|date|betreff|objet|asunto|assunto|oggetto|主题)[ \t]*[:：]",
    re.I,
)
# The line above a quoted mail: "--- Original Message", "On 3 May Tom wrote:", "Am … schrieb …:".
_FORWARDED = re.compile(
    r"^[ \t]*(?:-{2,}[ \t]*(?:original|forwarded|weitergeleitete)\b.*|on .{6,80} wrote:|"
    r"am .{6,80} schrieb.*:|le .{6,80} a écrit ?:)",
    re.I | re.M,
)
# The salutation of a pasted letter ("Dear Ms Berg,") on a line of its own. Not on the first line of the
# message: there it is more likely the user's own greeting.
_SALUTATION = re.compile(
    r"\n[ \t]*(?:dear|sehr geehrter?|liebe[rs]?|chère?|estimad[oa]|querid[oa]|gentile|egregi[oa]|car[oa]|"
    r"prezad[oa]|尊敬的|亲爱的)[ \t]*[^\n]{1,50}[,:!，：][ \t]*\n",
    re.I,
)
# Text in double quotes of any style, or at least 14 characters in single quotes. A sign after a digit means
# inches (27").
_QUOTES = re.compile(
    r"(?<!\d)\"[^\"]+\"|“[^“”]+”|“(?:[^“”]|(?<=\n)“){1,1000}”|„[^„“”]+[“”]|«(?:[^«»]|«[^«»]*»)+»|「[^「」]+」|『[^『』]+』|(?<![\w])['‘](?=\S).{12,1000}?(?<=\S)['’](?!\w)",
    re.S,
)
# "Summarise this email: …", "Übersetze: …": the text after the colon is not the user's statement.
_EDITING_REQUEST = re.compile(
    r"\b(?:summari[sz]e|translate|proofread|correct|improve|rewrite|rephrase|shorten|explain|edit|"
    r"review|fix|paraphrase|"
    r"übersetze?|korrigiere?|fasse?|résume[rz]?|tradui(?:s|re|sez)|corrige[rz]?|traduce|resume|resumir|"
    r"traducir|corregir|"
    r"riassumi|traduci|correggi|traduza|resuma|corrija)\b[^\n:：]{0,60}[:：]|(?:翻译|总结|润色|修改)[^\n:：]{0,20}[:：]",
    re.I,
)
# A length such as "at most three short sentences", "zwei Absätzen", "10 words".
_LENGTH = (
    r"(?:(?:at most|no more than|about|just|only|under|höchstens|nur|etwa|au plus|máximo|massimo|"
    r"no máximo) )?"
    r"(?:\d+|an?|one|two|three|four|five|six|ten|a few|ein(?:em|er|en)?|zwei|drei|vier|fünf|wenigen|une?|"
    r"deux|"
    r"trois|quatre|cinq|quelques|una?|dos|tres|cuatro|cinco|pocas|due|tre|quattro|cinque|poche|uma?|dois|"
    r"duas|"
    r"três|quatro|poucas) (?:(?:short|brief|single|kurzen|courtes|breves|brevi|curtas) )?"
    r"(?:sentences?|words?|lines?|paragraphs?|bullet points?|sätzen?|satz|worten|wörtern?|wort|zeilen?|"
    r"absätzen?|"
    r"phrases?|mots?|lignes?|frases?|palabras?|líneas?|frasi|parole|righe|palavras?|linhas?)"
)
# "Answer in three sentences." applies to one answer and is hidden; "Always answer …" does not match.
_LENGTH_REQUEST = re.compile(
    r"(?:^|(?<=[.!?:]\s))(?:please |bitte )?(?:(?:answer|reply|respond|explain|say|tell|summari[sz]e|"
    r"describe|write|"
    r"antworte|erkläre?|sag|schreib|fasse?|réponds|répondez|explique|responde|explica|contesta|rispondi|"
    r"spiega|"
    rf"responda)\b[^.!?\n]{{0,30}}? (?:in|with|en|em|mit|con|com) )?{_LENGTH}(?: please| bitte)?(?=[.!]|$)",
    re.I | re.M,
)
# A line of program output or code: tracebacks, shell prompts, imports, log lines, SQL, tables, JSON.
_MACHINE_LINE = re.compile(
    r"^[ \t]*(?:traceback \(|file \"|at [\w.$<>]+\(|\$ |>>> |\.\.\. |#include|import \w|"
    r"from \w+ import|def \w+\(|class \w+[(:]|"
    r"[{}\[\]]|</?\w[^<>]*>|\w*(?:error|exception): |\d{4}-\d\d-\d\d[T ]\d\d:|\[?(?:info|warn|warning|"
    r"error|debug)\]?[: ]|"
    r"(?:select|insert|update|delete|create) .*;|[-+]{3} |@@ |\|.*\|[ \t]*$|[\w.-]+[=:] ?[{\[\"']).*$",
    re.I | re.M,
)
# A paragraph with more words is treated as a pasted document.
_MAX_PARAGRAPH_WORDS = 120

# Quotes with fewer words are titles or names and stay visible.
_MIN_QUOTE_WORDS = 4

# Greetings, thanks, agreement and slash commands.
_COURTESY = (
    r"hi|hey|hello|hola|hallo|salut|bonjour|ciao|olá|oi|你好|您好|moin|servus|good (?:morning|evening|"
    r"night|afternoon)|"
    r"guten (?:morgen|tag|abend)|buenos días|buongiorno|bom dia|thanks?|thank you|thx|ty|merci|danke|"
    r"gracias|grazie|"
    r"obrigad[oa]|谢谢|ok(?:ay)?|okey|fine|great|cool|nice|perfect|awesome|sure|yes|no|yep|nope|ja|nein|"
    r"oui|non|sí|si|sim|"
    r"não|好的?|bye|goodbye|tschüss|adiós|lol|haha+|hm+|sounds good|got it|i see|makes sense|never ?mind|"
    r"nothing|just testing|"
    r"testing|test|there|everyone|again|so much|very much|a lot|a bunch|for (?:that|this|your help|"
    r"the help)|that helps|you|"
    r"vielen|beaucoup|muchas|mille|tante|muito|alles klar|passt|d'accord|vale|va bene|de nada|please|"
    r"go on|continue|next|stop|more|try again|again please|weiter|continue[rz]?|sigue|continúa|avanti|"
    r"继续|/\w+.*"
)
_ONLY_COURTESY = re.compile(rf"(?:(?:{_COURTESY})[\s,.!?…:)(~。！，-]*)+", re.I)
# A two-word fact such as "I'm colour-blind"; not "I'm back" or "I'm tired".
_SHORT_STATEMENT = re.compile(
    r"(?:i'm|i’m|ich bin|je suis|soy|sono|sou) (?!back\b|here\b|done\b|sorry\b|good\b|fine\b|ok\b|okay\b|"
    r"ready\b|"
    r"tired\b|bored\b|hungry\b|sure\b|lost\b|confused\b|stuck\b|late\b|busy\b|home\b|happy\b|sad\b|in\b|"
    r"out\b|"
    r"glad\b|da\b|müde\b|fertig\b|désolée?\b|prête?\b|listo\b|lista\b|pronto\b|pronta\b|io\b|"
    r"yo\b)[^\W\d_][\w-]+[.!]*",
    re.I,
)
# Requests for a form of address: "Duz mich", "tutoie-moi".
_FORM_OF_ADDRESS = re.compile(r"\b(?:duz|siez|tutoie|tutoyez|vouvoie|tutéame|tutea|dammi del)\b", re.I)
_WORDLIKE = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SINGLE = re.compile(f"[{SINGLE_CHARACTERS}]")


def mask_foreign_text(text: str) -> str:
    """Return the text with everything that is not the user's own statement replaced by HIDDEN."""
    text = _FENCE.sub(HIDDEN, text)
    text = _cut_mail(text)
    text = _cut_edited_text(text)
    text = _QUOTED_LINE.sub(HIDDEN, text)
    text = _QUOTES.sub(lambda m: m[0] if count_words(m[0]) < _MIN_QUOTE_WORDS else HIDDEN, text)
    text = _INLINE.sub(HIDDEN, text)
    text = _URL.sub(HIDDEN, text)
    text = _MACHINE_LINE.sub(HIDDEN, text)
    text = _LENGTH_REQUEST.sub(HIDDEN, text)
    paragraphs = re.split(r"\n\s*\n", text)
    if len(paragraphs) > 1:
        paragraphs = [HIDDEN if count_words(p) > _MAX_PARAGRAPH_WORDS else p for p in paragraphs]
    text = "\n\n".join(paragraphs)
    return re.sub(rf"{HIDDEN}(?:\s*{HIDDEN})+", HIDDEN, text).strip()


def count_words(text: str) -> int:
    """Return the number of words; two characters of a script without spaces count as one word."""
    single = len(_SINGLE.findall(text))
    return len(_WORDLIKE.findall(_SINGLE.sub(" ", text))) + (single + 1) // 2


def is_worth_extracting(masked: str, question: str = "") -> bool:
    """Return whether the model should read a masked message: at least three words, not only courtesies.

    One word is enough as the answer to `question`, the assistant's question before it.
    """
    said = masked.replace(HIDDEN, " ").strip()
    if not said or _ONLY_COURTESY.fullmatch(said):
        return False
    if _FORM_OF_ADDRESS.search(said) or _SHORT_STATEMENT.fullmatch(said):
        return True
    return count_words(said) >= (1 if question.rstrip().endswith(("?", "？")) else 3)


def _cut_mail(text: str) -> str:
    """Hide a pasted mail to the end of the text; it starts at a header, "wrote:" or a salutation line."""
    forwarded = _FORWARDED.search(text)
    headers = list(_MAIL_HEADER.finditer(text))
    starts = [found.start() for found in (forwarded, _SALUTATION.search(text)) if found]
    if len(headers) >= 2 and any(_OF_A_MAIL.search(header[0]) for header in headers):
        starts.append(headers[0].start())
    return text[: min(starts)] + HIDDEN if starts else text


def _cut_edited_text(text: str) -> str:
    """Hide the text after a request to summarise, translate or correct it."""
    request = _EDITING_REQUEST.search(text)
    return text[: request.end()] + " " + HIDDEN if request and text[request.end() :].strip() else text
