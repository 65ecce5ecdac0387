"""The slash commands in a terminal; `chat.commands` has their table, and each calls the REST API."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from chat.commands import COMMANDS, parse_chat_id, parse_chat_place
from chat.llm.types import ToolCall
from chat.models import Category
from chat.text import format_as_one_line

from .client import NotFound, TerminalClient, TerminalError
from .screen import Screen

_LISTED = 20
_PAGE = 100


@dataclass
class TerminalSession:
    """The state of a terminal: app, conversation, last list, pending deletions, known facts."""

    client: TerminalClient
    screen: Screen
    app: str = ""
    conversation: str = ""
    temporary: bool = False
    listed: list[str] = field(default_factory=list)
    # Pending deletions of this terminal, the newest last: id and deadline.
    deleted: list[tuple[str, datetime]] = field(default_factory=list)
    # The requests to memory of which the outcome was shown.
    reported: set[str] = field(default_factory=set)
    # The texts of known facts; None where they could not be loaded.
    known: set[str] | None = None

    def leave_conversation(self) -> None:
        """Leave the conversation; a temporary one is deleted by that."""
        left = self.conversation if self.temporary else ""
        self.conversation, self.temporary = "", False
        if left:
            with suppress(NotFound):
                self.client.post(f"conversations/{left}/end")

    def message_target(self) -> dict[str, str]:
        """Return the `metadata` that says where the next message belongs.

        Creates a temporary conversation where needed.
        """
        app = {"app": self.app} if self.app else {}
        if self.temporary and not self.conversation:
            self.conversation = self.client.create("conversations", temporary=True, **app)["id"]
        return {"conversation": self.conversation} if self.conversation else {"conversation": "new", **app}

    def fetch_all(self, path: str) -> list[dict[str, Any]]:
        """Return the items of all pages of a list."""
        answer = self.client.get(path, limit=_PAGE)
        found = list(answer["items"])
        while answer["next"]:
            # The last one: BASE_PATH may contain the same, and the query is quoted.
            answer = self.client.get(answer["next"].rpartition("/api/")[2])
            found += answer["items"]
        return found


def run_command(session: TerminalSession, name: str, rest: str) -> None:
    """Run a slash command. Raises TerminalError."""
    _HANDLERS[name](session, rest)


def _new(session: TerminalSession, rest: str) -> None:
    session.leave_conversation()
    session.screen.line(_("A new chat."), "faint")


def _temporary(session: TerminalSession, rest: str) -> None:
    session.leave_conversation()
    session.temporary = True
    session.screen.line(
        _("Temporary chat: memory is off, and the chat is deleted when you leave it."), "faint"
    )


def _sessions(session: TerminalSession, rest: str) -> None:
    chats = _list_chats(session)
    if not chats:
        session.screen.line(_("There are no chats yet."), "faint")
    session.listed = [chat["id"] for chat in chats]
    for number, chat in enumerate(chats, 1):
        mark = "*" if chat["id"] == session.conversation else " "
        title, day = _format_title(chat), _format_day(chat["updated_at"])
        session.screen.write(f"{mark}{number:>3}  ", "bold")
        session.screen.write(title)
        session.screen.line(f"  {chat['app']}, {day}", "faint")


def _load(session: TerminalSession, rest: str) -> None:
    found = _find_conversation(session, rest)
    session.leave_conversation()
    session.conversation, session.app = found["id"], found["app"]
    session.screen.line(_format_title(found), "bold")
    _print_messages(session, session.fetch_all(f"conversations/{found['id']}/messages"))


def _format_title(chat: dict[str, Any]) -> str:
    return format_as_one_line(chat["title"]) or _("Untitled")


def _find_conversation(session: TerminalSession, rest: str) -> dict[str, Any]:
    """Return the conversation with this number in the last list, with this id, or with these words."""
    key = _id_from_list(session, rest) or str(parse_chat_id(rest) or "")
    if not key:
        hits = session.client.get("search", q=rest, kind=["conversation", "message"], limit=1)["items"]
        key = hits[0]["conversation"] if hits else ""
    try:
        if key:
            return dict(session.client.get(f"conversations/{key}"))
    except NotFound:
        pass
    raise TerminalError(_("No chat matches this."))


def _id_from_list(session: TerminalSession, rest: str) -> str:
    place = parse_chat_place(rest)
    if place and not session.listed:
        session.listed = [chat["id"] for chat in _list_chats(session)]
    return session.listed[place - 1] if 0 < place <= len(session.listed) else ""


def _list_chats(session: TerminalSession) -> list[dict[str, Any]]:
    return list(session.client.get("conversations", limit=_LISTED)["items"])


def _history(session: TerminalSession, rest: str) -> None:
    _print_messages(session, session.fetch_all(f"conversations/{_require_conversation(session)}/messages"))


def _restore(session: TerminalSession, rest: str) -> None:
    session.client.delete(f"conversations/{_require_conversation(session)}/clear")
    session.screen.line(_("The model sees everything that was said here."), "faint")


def _print_messages(session: TerminalSession, messages: list[dict[str, Any]]) -> None:
    for message in messages:
        role, text, calls = message["role"], message["content"], message["tool_calls"] or ()
        if role == "user":
            session.screen.write("› ", "name")
            session.screen.line(text, "bold")
        elif role == "assistant":
            if text or not calls:
                session.screen.write("  ")
                session.screen.line(text)
            for call in calls:
                session.screen.line(f"  {_('Tools called')}: {ToolCall.from_json(call).name}", "faint")
        else:
            result = _("Result of %(name)s") % {"name": message["name"] or "?"}
            label = _("Instruction") if role == "system" else result
            session.screen.line(f"  {label}: {text}", "faint")


def _clear(session: TerminalSession, rest: str) -> None:
    session.client.post(f"conversations/{_require_conversation(session)}/clear")
    session.screen.line(_("The model no longer sees what was said here. /restore brings it back."), "faint")


def _forget(session: TerminalSession, rest: str) -> None:
    gone = _require_conversation(session)
    if session.temporary:
        raise TerminalError(_("A temporary chat is deleted when you leave it."))
    deletion = session.client.delete(f"conversations/{gone}")
    session.conversation = ""
    report_deletion(session, _("The chat was deleted."), deletion)


def report_deletion(session: TerminalSession, sentence: str, deletion: dict[str, Any]) -> None:
    """Show what was deleted and until when /undo takes it back, and let /undo know it."""
    until = timezone.localtime(datetime.fromisoformat(deletion["expires_at"]))
    session.deleted.append((deletion["id"], until))
    session.screen.line(
        _("%(what)s /undo takes it back until %(until)s.") % {"what": sentence, "until": f"{until:%H:%M:%S}"},
        "faint",
    )


def _undo(session: TerminalSession, rest: str) -> None:
    if not session.deleted:
        raise TerminalError(_("There is nothing to undo."))
    # The newest deletion that can still be undone: a conversation has a longer deadline than a memory.
    left = [one for one in session.deleted if one[1] > timezone.now()] or session.deleted
    deletion = left[-1]
    try:
        undone = session.client.post(f"deletions/{deletion[0]}/undo")
    except NotFound as reason:
        raise TerminalError(_("It is too late to undo this.")) from reason
    session.deleted.remove(deletion)
    if undone["conversation"] and not (session.conversation or session.temporary):
        # Return to the conversation that was restored.
        session.conversation = undone["conversation"]
    session.screen.line(_("Undone."), "faint")


def _save(session: TerminalSession, rest: str) -> None:
    kept = session.client.post(f"conversations/{_require_conversation(session)}/keep")["kept"]
    session.temporary = False
    sentence = _("This chat stays from now on.") if kept else _("Everything here is saved already.")
    session.screen.line(sentence, "faint")


def _remember(session: TerminalSession, rest: str) -> None:
    fact = session.client.create("facts", text=rest, origin="told")
    if session.known is not None:
        session.known.add(fact["text"])
    sentence = _("Already remembered.") if fact["mention_count"] > 1 else _("Remembered.")
    session.screen.line(sentence, "faint")


def _unlearn(session: TerminalSession, rest: str) -> None:
    found = session.client.get("facts", meant=rest)["items"]
    if not found:
        raise TerminalError(_("No memory matches this."))
    deletion = session.client.delete(f"facts/{found[0]['id']}")
    report_deletion(session, _("Forgot “%s”.") % format_as_one_line(found[0]["text"]), deletion)


def _memories(session: TerminalSession, rest: str) -> None:
    facts = session.fetch_all("facts")
    if not facts:
        session.screen.line(_("No memories yet. I'll learn as we talk."), "faint")
    before = ""
    for fact in facts:
        if fact["category"] != before:
            before = fact["category"]
            session.screen.line(str(Category(before).label), "name")
        session.screen.line(f"  {format_as_one_line(fact['text'])}" + ("  ★" if fact["pinned"] else ""))


def _help(session: TerminalSession, rest: str) -> None:
    for command in COMMANDS:
        takes = f" <{command.takes}>" if command.takes else ""
        session.screen.write(f"/{command.name}{takes}", "name")
        session.screen.line(f"  {command.at_terminal}")
    session.screen.line(_("Ctrl-C stops a reply, Ctrl-D ends."), "faint")


def _require_conversation(session: TerminalSession) -> str:
    if not session.conversation:
        raise TerminalError(_("Nothing has been said here yet."))
    return session.conversation


def _format_day(iso: str) -> str:
    return date_format(timezone.localtime(datetime.fromisoformat(iso)), "DATE_FORMAT")


_HANDLERS: dict[str, Callable[[TerminalSession, str], None]] = {
    "new": _new,
    "temporary": _temporary,
    "memories": _memories,
    "remember": _remember,
    "unlearn": _unlearn,
    "clear": _clear,
    "restore": _restore,
    "history": _history,
    "forget": _forget,
    "undo": _undo,
    "sessions": _sessions,
    "load": _load,
    "save": _save,
    "help": _help,
}
