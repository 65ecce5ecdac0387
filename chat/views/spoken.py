"""Sentences that are written in English where nobody knows the reader, said in the reader's language.

The rooms below know no Django, and what they say is kept: a failure's reason is read months later, perhaps in
another language. A test compares this list with what those rooms can say.
"""

from __future__ import annotations

import re
from functools import cache

from django.utils.translation import gettext, gettext_noop

_SENTENCES = (
    # the model's state and what its engine refuses: chat/llm
    gettext_noop("No model is loaded in this process."),
    gettext_noop("The model is loading. You can write already."),
    gettext_noop("The model could not be loaded. %(why)s"),
    gettext_noop("The model is still loading."),
    gettext_noop("The model has been shut down."),
    gettext_noop("The model's engine failed (%(what)s)."),
    gettext_noop("The model's engine failed while reading. The message is saved; try again."),
    gettext_noop("The model's engine has no seat left."),
    gettext_noop("The model file could not be loaded. `manage.py weights verify` checks it."),
    gettext_noop("There is not enough memory for the model's window. Close something or set WINDOW lower."),
    gettext_noop("A text could not be tokenised."),
    gettext_noop("The answer format could not be read by the model's engine."),
    gettext_noop("This conversation is longer than the model's window."),
    gettext_noop("The model's chat template refused this conversation (%(what)s)."),
    gettext_noop("The model gave no summary."),
    gettext_noop("The model told something else than what was said."),
    gettext_noop("The summary was not finished."),
    gettext_noop("There is no message to answer."),
    # a model on a server: chat/llm/remote
    gettext_noop("Connecting to the model's server. You can write already."),
    gettext_noop("The model's server cannot be reached. You can write already; it is tried again and again."),
    gettext_noop("Couldn't reach the model. Your message is saved."),
    gettext_noop("The model did not answer in time. Your message is saved."),
    gettext_noop("Couldn't reach the model."),
    gettext_noop("The model did not answer in time."),
    gettext_noop("The connection to the model broke off. What had come is kept."),
    gettext_noop("The model's server has too much to do. Try again in a moment."),
    gettext_noop("The model's server is still loading the model."),
    gettext_noop("The account at the model's server has no credit left."),
    gettext_noop("The model's server does not accept the key."),
    gettext_noop("This machine does not trust the certificate of the model's server."),
    gettext_noop("The model's server does not speak https at this address."),
    gettext_noop("The model's server lists no model. Load one there, or enter the name of one."),
    gettext_noop("The model's server has no model of this name."),
    gettext_noop("The model's server sends requests on to another address. Enter that address instead."),
    gettext_noop("What is at this address does not answer as a model's server does."),
    gettext_noop("The model's server refused the request (%(what)s)."),
    gettext_noop("The model used up its room for thinking and gave no reply."),
    gettext_noop("The model did not keep to the form that was asked for, twice."),
    gettext_noop("The model was stopped before it had finished."),
    gettext_noop("This is no address of a server."),
    gettext_noop("The address begins with https:// or, on your own network, with http://."),
    gettext_noop("Write the key into its own field, not into the address."),
    gettext_noop("The address ends before ? and #."),
    gettext_noop("Outside your own network the address must begin with https://."),
    gettext_noop("No model can be asked at this address."),
    # weights that are not there: chat/llm/weights
    gettext_noop("There is no model named %(name)s. The catalogue has %(known)s."),
    gettext_noop("The weights of %(name)s are not on this machine."),
    gettext_noop(
        "MODEL_PATH names %(path)s, which is not there. Correct it, or unset it to use the catalogue."
    ),
    # why memory did not keep something: chat/memory
    gettext_noop("a question states nothing"),
    gettext_noop("a request, not a fact"),
    gettext_noop("said in play"),
    gettext_noop("only supposed, not so"),
    gettext_noop("the user was not sure"),
    gettext_noop("said in jest"),
    gettext_noop("text that gives orders to the memory"),
    gettext_noop("about someone else"),
    gettext_noop("holds a secret"),
    gettext_noop("about the world, not about the user"),
    gettext_noop("no longer so"),
    gettext_noop("said twice in one message"),
    gettext_noop("not in the user's words"),
    gettext_noop("“%(name)s” is not in the user's words"),
    gettext_noop("nothing in the message says so"),
    gettext_noop("says nothing"),
    gettext_noop("says nothing by itself"),
    gettext_noop("only for now"),
    gettext_noop("the user said that it is not so"),
    gettext_noop("The model's notes could not be read, twice; nothing was stored from this message."),
)
_PLACE = re.compile(r"%\((\w+)\)s")


def said(sentence: str) -> str:
    """Return a sentence in the reader's language; one that is not ours, or is translated, as it is."""
    if not sentence:
        return ""
    if (known := gettext(sentence)) != sentence:
        return known
    for pattern, template in _patterns():
        if match := pattern.fullmatch(sentence):
            return gettext(template) % {name: said(part) for name, part in match.groupdict().items()}
    return sentence


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Return the sentences that have something put into them, as patterns that find it again."""
    found = []
    for sentence in _SENTENCES:
        first, *rest = _PLACE.split(sentence)
        pattern = re.escape(first)
        for name, text in zip(rest[::2], rest[1::2], strict=True):
            pattern += f"(?P<{name}>.+){re.escape(text)}"
        if rest:
            found.append((re.compile(pattern, re.S), sentence))
    return found
