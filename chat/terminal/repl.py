"""The main loop of the terminal: reads a line, streams the reply, and reports new facts."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from chat.commands import parse
from chat.errors import UnknownCommand
from chat.text import format_as_one_line

from .client import NotFound, TerminalError
from .commands import TerminalSession, report_deletion, run_command
from .screen import LineReader

_PROMPT = "› "


def run_repl(session: TerminalSession, lines: LineReader) -> bool:
    """Read and answer lines until the input ends. Returns False where a line from a pipe failed.

    Ctrl-C stops the current reply at a terminal; with a pipe as input it raises KeyboardInterrupt.
    """
    well = True
    session.known = _load_fact_texts(session) if lines.is_interactive else None
    while True:
        try:
            line = lines.read(_PROMPT)
        except EOFError:
            return well
        except KeyboardInterrupt:
            if not lines.is_interactive:
                raise
            # As in a shell, Ctrl-C discards the line.
            continue
        try:
            if line.strip():
                well = _handle_line(session, line.rstrip("\n")) and well
            if lines.is_interactive:
                _report_new_facts(session)
                _report_requests(session)
        except KeyboardInterrupt:
            session.screen.line(_("Stopped."), "faint")
            if not lines.is_interactive:
                raise


def _handle_line(session: TerminalSession, line: str) -> bool:
    try:
        command = parse(line)
        if command is None:
            _answer_message(session, line.strip())
        else:
            run_command(session, *command)
    except (TerminalError, UnknownCommand) as reason:
        if isinstance(reason, NotFound) and session.conversation:
            # The conversation was deleted elsewhere.
            session.conversation, session.temporary = "", False
            reason = TerminalError(_("This chat no longer exists. Your next message starts a new one."))
        session.screen.line(str(reason), "bad")
        return False
    return True


def _answer_message(session: TerminalSession, text: str) -> None:
    try:
        _stream_reply(session, text)
    except NotFound:
        if not session.temporary:
            raise
        session.conversation = ""
        session.screen.line(_("This temporary chat no longer exists. A new one was started."), "faint")
        _stream_reply(session, text)


def _stream_reply(session: TerminalSession, text: str) -> None:
    where = session.message_target()
    if session.screen.coloured:
        session.screen.write("…", "faint")
    begun = False
    pieces = session.client.ask(text, where)
    try:
        for session.conversation, piece in pieces:
            if piece and not begun:
                session.screen.erase_line()
                begun = True
            session.screen.write(piece)
    finally:
        pieces.close()
        if begun:
            # End the line after a stopped reply too.
            session.screen.line()
        else:
            session.screen.erase_line()
    if not begun:
        session.screen.line()


def _load_fact_texts(session: TerminalSession) -> set[str] | None:
    """Return the texts of all facts, None where they cannot be loaded."""
    try:
        return {fact["text"] for fact in session.fetch_all("facts")}
    except TerminalError:
        return None


def _report_new_facts(session: TerminalSession) -> None:
    now = _load_fact_texts(session)
    if now is None:
        return
    if session.known is not None:
        for text in sorted(now - session.known):
            session.screen.line(_("Remembered: %s") % format_as_one_line(text), "faint")
    session.known = now | (session.known or set())


def _report_requests(session: TerminalSession) -> None:
    """Show what memory did about requests in this conversation, each once, as the page does below a reply."""
    if not session.conversation:
        return
    try:
        found = session.client.get(f"conversations/{session.conversation}/requests")
    except TerminalError:
        return
    for request in found:
        if request["id"] not in session.reported:
            session.reported.add(request["id"])
            _report_request(session, request)


def _report_request(session: TerminalSession, request: dict[str, Any]) -> None:
    texts = [format_as_one_line(fact["text"]) for fact in request["facts"]]
    if request["outcome"] == "forgotten":
        report_deletion(session, _("Forgotten: %s.") % "; ".join(texts), request["deletion"])
    elif request["outcome"] == "nothing":
        session.screen.line(_("Nothing in memory matches."), "faint")
    elif request["outcome"] == "off":
        sentence = _("This chat does not change memory: nothing was saved or forgotten.")
        session.screen.line(sentence, "faint")
    elif texts:
        session.screen.line(_("Which should be forgotten?"), "faint")
        for text in texts:
            session.screen.line(f"  /unlearn {text}", "faint")
