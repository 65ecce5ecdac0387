"""Generates the title of a conversation from its first messages, in the conversation's language."""

from __future__ import annotations

from collections.abc import Sequence

from chat.errors import FormatNotKept, UnusableOutput
from chat.llm.types import GenerationOptions, Lane, Provider, Turn
from chat.memory.kept_out import leave_out_kept
from chat.memory.language import NAMES, detect_language
from chat.models import Message, Role

SLOT = "title"
MAX_CHARACTERS = 60  # as long as the first words of the chat, which are the title until then
_MAX_WORDS = 6
_MAX_TOKENS = 32  # six words in a language that the tokenizer splits into many tokens
# How many characters of a message are used; a reply says at its beginning what it is about.
_USED_CHARACTERS = {Role.USER: 400, Role.ASSISTANT: 200}
# What small models write when they find no title.
_PLACEHOLDERS = frozenset(
    {"none", "title", "untitled", "new chat", "chat", "conversation", "user", "assistant"}
)
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
# Words without quotation marks, Markdown and colons. In Chinese one "word" may be a whole title.
_GRAMMAR = (
    f'root ::= word (" " word){{0,{_MAX_WORDS - 1}}}\n'
    r'word ::= [^ \t\n\r"“”„«»*#:;<>|`_\[\]]{1,24}'
)


def generate_title(provider: Provider, messages: Sequence[Message]) -> str:
    """Return a title of at most six words for a conversation that begins with these.

    Blocks while the model writes: call it from a worker thread, outside any transaction. Raises
    `UnusableOutput` when nothing usable came, and lets `ProviderError` through.
    """
    messages = leave_out_kept(messages)
    user_text = " ".join(m.content for m in messages if m.role == Role.USER)
    language = NAMES.get(detect_language(user_text), "the language of the user")
    transcript = "\n".join(_line(m) for m in messages)
    try:
        completion = provider.complete(
            [*build_prefix(), Turn("user", f"{transcript}\n\nTitle in {language}:")],
            GenerationOptions(slot=SLOT, lane=Lane.BACKGROUND, max_tokens=_MAX_TOKENS, grammar=_GRAMMAR),
        )
    except FormatNotKept as error:
        raise UnusableOutput("no-title") from error
    words = completion.text.split()
    if completion.finish == "length":
        # Drop the last word, which may be cut off.
        words = words[:-1]
    return _check_title(words, user_text)


def build_prefix() -> list[Turn]:
    """Return the turns that every request for a title begins with; the engine caches them."""
    turns = [Turn("system", SYSTEM)]
    for said, title in _EXAMPLES:
        turns += [Turn("user", said), Turn("assistant", title)]
    return turns


def _check_title(words: list[str], user_text: str) -> str:
    title = " ".join(words).strip(" .,;:!…'\"-–—")
    copied = " ".join(user_text.split()).casefold().startswith(title.casefold())
    if (
        not any(letter.isalpha() for letter in title)
        or len(title) > MAX_CHARACTERS
        or len(words) > _MAX_WORDS
        or title.casefold() in _PLACEHOLDERS
        or set(title) & set('"“”„«»:\n')
        # A copy of the first words is no better than the title so far, which is longer.
        or (copied and len(user_text.split()) > len(words))
    ):
        raise UnusableOutput("no-title")
    return title[0].upper() + title[1:]


def _line(message: Message) -> str:
    who = "User" if message.role == Role.USER else "Assistant"
    return f"{who}: {' '.join(message.content.split())[: _USED_CHARACTERS[Role(message.role)]]}"
