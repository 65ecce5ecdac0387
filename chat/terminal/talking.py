"""The conversation at a terminal: a line is read, a reply is written, what was learned is said."""

from __future__ import annotations

from django.utils.translation import gettext as _

from chat.commands import NoCommand, parse

from .client import Gone, Said
from .commands import Talk, obey
from .harmless import in_a_line
from .screen import Lines

_PROMPT = "› "


def talk_until_end(talk: Talk, lines: Lines) -> bool:
    """Read lines until there are none left; False where something went wrong with one from a pipe.

    Who types breaks off what is done just now; who pipes, all of it: raises KeyboardInterrupt then.
    """
    well = True
    talk.known = _known(talk) if lines.by_hand else None
    while True:
        try:
            line = lines.read(_PROMPT)
        except EOFError:
            return well
        except KeyboardInterrupt:
            if not lines.by_hand:
                raise
            # As in a shell: the line is thrown away.
            continue
        try:
            if line.strip():
                well = _answer(talk, line.rstrip("\n")) and well
            if lines.by_hand:
                _tell_what_was_learned(talk)
        except KeyboardInterrupt:
            talk.screen.line(_("Stopped."), "faint")
            if not lines.by_hand:
                raise


def _answer(talk: Talk, line: str) -> bool:
    try:
        command = parse(line)
        if command is None:
            _reply(talk, line.strip())
        else:
            obey(talk, *command)
    except (Said, NoCommand) as reason:
        if isinstance(reason, Gone) and talk.conversation:
            # Deleted in another window or in the browser.
            talk.conversation, talk.temporary = "", False
            reason = Said(_("This chat is not there any more. What you write next begins a new one."))
        talk.screen.line(str(reason), "bad")
        return False
    return True


def _reply(talk: Talk, text: str) -> None:
    try:
        _stream(talk, text)
    except Gone:
        if not talk.temporary:
            raise
        talk.conversation = ""
        talk.screen.line(_("This temporary chat was gone already; a new one has begun."), "faint")
        _stream(talk, text)


def _stream(talk: Talk, text: str) -> None:
    where = talk.where()
    if talk.screen.coloured:
        talk.screen.write("…", "faint")
    begun = False
    pieces = talk.client.ask(text, where)
    try:
        for talk.conversation, piece in pieces:
            if piece and not begun:
                talk.screen.erase_line()
                begun = True
            talk.screen.write(piece)
    finally:
        pieces.close()
        if begun:
            # Also of half a reply: what is said next is none of it.
            talk.screen.line()
        else:
            talk.screen.erase_line()
    if not begun:
        talk.screen.line()


def _known(talk: Talk) -> set[str] | None:
    """Return what memory knows, None where nobody says."""
    try:
        return {fact["text"] for fact in talk.everything("facts")}
    except Said:
        return None


def _tell_what_was_learned(talk: Talk) -> None:
    now = _known(talk)
    if now is None:
        return
    if talk.known is not None:
        for text in sorted(now - talk.known):
            talk.screen.line(_("Remembered: %s") % in_a_line(text), "faint")
    talk.known = now | (talk.known or set())
