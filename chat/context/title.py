"""Finds a title for a conversation from its first words, in its own language (ui.md, "Sidebar")."""

from __future__ import annotations

from collections.abc import Sequence

from chat.llm.types import FormNotKept, Lane, Provider, ProviderError, Turn
from chat.memory.language import detect
from chat.models import Message, Role

SLOT = "title"
LONGEST = 60  # characters, as the first words that stand there until then
_MOST_WORDS = 6
_MAX_TOKENS = 32  # six words of a language that the tokenizer knows badly
# Characters that are read of what the user said and of a reply: it says early what it is about.
_READ_OF = {Role.USER: 400, Role.ASSISTANT: 200}
_LANGUAGES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "zh": "Chinese",
}
# What small models answer when they have nothing to say.
_NOTHING = frozenset({"none", "title", "untitled", "new chat", "chat", "conversation", "user", "assistant"})
SYSTEM = (
    "You give chats their titles. A title names in two to six words what the chat is about, in the language "
    "of the chat. It is no sentence and no question."
)
_EXAMPLES = (
    (
        "User: how do i get red wine out of a wool carpet?? its still wet\n"
        "Assistant: Blot it with a cloth, do not rub. Then use cold water with a little vinegar.\n\n"
        "Title in English:",
        "Red wine on a carpet",
    ),
    (
        "User: Ich suche ein Geschenk für meine Nichte, sie wird sieben und mag Dinosaurier.\n"
        "Assistant: Wie wäre es mit einem Ausgrabungsset oder einem Besuch im Naturkundemuseum?\n\n"
        "Title in German:",
        "Geschenk für die Nichte",
    ),
    (
        "User: Hello, I'm Sam, I work as a nurse in Leeds and I'm building a tool shed\n"
        "Assistant: Nice to meet you, Sam! How big will the shed be?\n\n"
        "Title in English:",
        "Sam's tool shed",
    ),
    (
        "User: Peux-tu relire ma lettre de motivation avant que je l'envoie demain ?\n"
        "Assistant: Bien sûr, colle-la ici et dis-moi pour quel poste.\n\n"
        "Title in French:",
        "Lettre de motivation à relire",
    ),
    (
        "User: KeyError: 'id' in my flask view, why? args = request.args['id']\n"
        "Assistant: The address has no parameter of that name. Use request.args.get('id').\n\n"
        "Title in English:",
        "KeyError in a Flask view",
    ),
)
# Words without what quotes, marks up or introduces something; one word may be a whole title in Chinese.
_GRAMMAR = (
    f'root ::= word (" " word){{0,{_MOST_WORDS - 1}}}\n'
    r'word ::= [^ \t\n\r"“”„«»*#:;<>|`_\[\]]{1,24}'
)


class TitleFailed(ProviderError):
    """The model gave nothing that can stand as a title."""


def find_title(provider: Provider, messages: Sequence[Message]) -> str:
    """Return a title of at most six words for a conversation that begins with these.

    Blocks while the model writes: call it from a worker thread, outside any transaction. Raises `TitleFailed`
    when nothing usable came, and lets `ProviderError` through.
    """
    theirs = " ".join(m.content for m in messages if m.role == Role.USER)
    language = _LANGUAGES.get(detect(theirs), "the language of the user")
    said = "\n".join(_line(m) for m in messages)
    try:
        completion = provider.complete(
            [*prefix(), Turn("user", f"{said}\n\nTitle in {language}:")],
            slot=SLOT,
            lane=Lane.BACKGROUND,
            max_tokens=_MAX_TOKENS,
            grammar=_GRAMMAR,
        )
    except FormNotKept as formless:
        raise TitleFailed("The model gave no title.") from formless
    words = completion.text.split()
    if completion.finish == "length":
        # The last word may be half of one.
        words = words[:-1]
    return _checked(words, theirs)


def prefix() -> list[Turn]:
    """Return what every request for a title begins with."""
    turns = [Turn("system", SYSTEM)]
    for said, title in _EXAMPLES:
        turns += [Turn("user", said), Turn("assistant", title)]
    return turns


def _checked(words: list[str], theirs: str) -> str:
    title = " ".join(words).strip(" .,;:!…'\"-–—")
    copied = " ".join(theirs.split()).casefold().startswith(title.casefold())
    if (
        not any(letter.isalpha() for letter in title)
        or len(title) > LONGEST
        or len(words) > _MOST_WORDS
        or title.casefold() in _NOTHING
        or set(title) & set('"“”„«»:\n')
        # The first words stand there already, and more of them.
        or (copied and len(theirs.split()) > len(words))
    ):
        raise TitleFailed("The model gave no title.")
    return title[0].upper() + title[1:]


def _line(message: Message) -> str:
    who = "User" if message.role == Role.USER else "Assistant"
    return f"{who}: {' '.join(message.content.split())[: _READ_OF[Role(message.role)]]}"
