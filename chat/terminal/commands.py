"""What each slash command does in a terminal: the table of `chat.commands`, over the API."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from chat.commands import COMMANDS
from chat.models import Category

from .client import Client, Gone, Said
from .harmless import in_a_line
from .screen import Screen

_LISTED = 20
_PAGE = 100
_DIGITS = 4  # of a number in a list, and more


@dataclass
class Talk:
    """Where the terminal is: which app, which conversation, what was listed last and what is known so far."""

    client: Client
    screen: Screen
    app: str = ""
    conversation: str = ""
    temporary: bool = False
    listed: list[str] = field(default_factory=list)
    # What was deleted from here, the last one last: its id, and until when that can be undone.
    deleted: list[tuple[str, datetime]] = field(default_factory=list)
    # None where nobody could say.
    known: set[str] | None = None

    def leave(self) -> None:
        """Go to no conversation; a temporary one is gone with that."""
        left = self.conversation if self.temporary else ""
        self.conversation, self.temporary = "", False
        if left:
            with suppress(Gone):
                self.client.post(f"conversations/{left}/end")

    def where(self) -> dict[str, str]:
        """Return how the next message says where it belongs; begins a temporary conversation first."""
        app = {"app": self.app} if self.app else {}
        if self.temporary and not self.conversation:
            self.conversation = self.client.create("conversations", temporary=True, **app)["id"]
        return {"conversation": self.conversation} if self.conversation else {"conversation": "new", **app}

    def everything(self, path: str) -> list[dict[str, Any]]:
        """Return all pages of a list."""
        answer = self.client.get(path, limit=_PAGE)
        found = list(answer["items"])
        while answer["next"]:
            answer = self.client.get(answer["next"].removeprefix("/api/"))
            found += answer["items"]
        return found


def obey(talk: Talk, name: str, rest: str) -> None:
    """Do what a command says; raises Said with a sentence where it cannot be done."""
    _DOERS[name](talk, rest)


def _new(talk: Talk, rest: str) -> None:
    talk.leave()
    talk.screen.line(_("A new chat."), "faint")


def _temporary(talk: Talk, rest: str) -> None:
    talk.leave()
    talk.temporary = True
    talk.screen.line(_("A temporary chat: it knows nothing of you, and leaves nothing behind."), "faint")


def _sessions(talk: Talk, rest: str) -> None:
    chats = talk.client.get("conversations", limit=_LISTED)["items"]
    if not chats:
        talk.screen.line(_("There are no chats yet."), "faint")
    talk.listed = [chat["id"] for chat in chats]
    for number, chat in enumerate(chats, 1):
        mark = "*" if chat["id"] == talk.conversation else " "
        title, day = _title(chat), _day(chat["updated_at"])
        talk.screen.write(f"{mark}{number:>3}  ", "bold")
        talk.screen.write(title)
        talk.screen.line(f"  {chat['app']}, {day}", "faint")


def _load(talk: Talk, rest: str) -> None:
    found = _chosen(talk, rest)
    talk.leave()
    talk.conversation, talk.app = found["id"], found["app"]
    talk.screen.line(_title(found), "bold")
    _show(talk, talk.everything(f"conversations/{found['id']}/messages"))


def _title(chat: dict[str, Any]) -> str:
    return in_a_line(chat["title"]) or _("Untitled")


def _chosen(talk: Talk, rest: str) -> dict[str, Any]:
    """Return the chat of this number in what was listed, of this id, or that holds these words."""
    key = _listed_as(talk, rest) or _as_id(rest)
    if not key:
        hits = talk.client.get("search", q=rest, kind=["conversation", "message"], limit=1)["items"]
        key = hits[0]["conversation"] if hits else ""
    try:
        if key:
            return dict(talk.client.get(f"conversations/{key}"))
    except Gone:
        pass
    raise Said(_("No chat holds this."))


def _listed_as(talk: Talk, rest: str) -> str:
    # Not isdigit(): it takes "²", which int() does not.
    number = int(rest) if rest.isdecimal() and len(rest) < _DIGITS else 0
    return talk.listed[number - 1] if 0 < number <= len(talk.listed) else ""


def _as_id(rest: str) -> str:
    try:
        return str(UUID(rest))
    except ValueError:
        return ""


def _history(talk: Talk, rest: str) -> None:
    _show(talk, talk.everything(f"conversations/{_here(talk)}/messages"))
    talk.client.delete(f"conversations/{_here(talk)}/clear")
    talk.screen.line(_("The model sees everything that was said here."), "faint")


def _show(talk: Talk, messages: list[dict[str, Any]]) -> None:
    for message in messages:
        if message["role"] in ("user", "assistant"):
            mine = message["role"] == "user"
            talk.screen.write("› " if mine else "  ", "name" if mine else "")
            talk.screen.line(message["content"], "bold" if mine else "")


def _clear(talk: Talk, rest: str) -> None:
    talk.client.post(f"conversations/{_here(talk)}/clear")
    talk.screen.line(_("The model no longer sees what was said here."), "faint")


def _forget(talk: Talk, rest: str) -> None:
    gone = _here(talk)
    if talk.temporary:
        raise Said(_("This chat is gone once you leave it."))
    deletion = talk.client.delete(f"conversations/{gone}")
    talk.conversation = ""
    _tell_deletion(talk, _("The chat was deleted."), deletion)


def _tell_deletion(talk: Talk, sentence: str, deletion: dict[str, Any]) -> None:
    until = timezone.localtime(datetime.fromisoformat(deletion["expires_at"]))
    talk.deleted.append((deletion["id"], until))
    talk.screen.line(
        _("%(what)s /undo takes it back until %(until)s.") % {"what": sentence, "until": f"{until:%H:%M:%S}"},
        "faint",
    )


def _undo(talk: Talk, rest: str) -> None:
    if not talk.deleted:
        raise Said(_("There is nothing to undo."))
    # The last one that time is left for: a chat has more of it than a memory.
    left = [one for one in talk.deleted if one[1] > timezone.now()] or talk.deleted
    deletion = left[-1]
    try:
        undone = talk.client.post(f"deletions/{deletion[0]}/undo")
    except Gone as reason:
        raise Said(_("It is too late to undo: this is gone.")) from reason
    talk.deleted.remove(deletion)
    if undone["conversation"] and not (talk.conversation or talk.temporary):
        # Back to where it was deleted.
        talk.conversation = undone["conversation"]
    talk.screen.line(_("Undone."), "faint")


def _save(talk: Talk, rest: str) -> None:
    kept = talk.client.post(f"conversations/{_here(talk)}/keep")["kept"]
    talk.temporary = False
    sentence = _("This chat stays from now on.") if kept else _("Everything here is saved already.")
    talk.screen.line(sentence, "faint")


def _remember(talk: Talk, rest: str) -> None:
    fact = talk.client.create("facts", text=rest, origin="told")
    if talk.known is not None:
        talk.known.add(fact["text"])
    sentence = _("Already remembered.") if fact["mention_count"] > 1 else _("Remembered.")
    talk.screen.line(sentence, "faint")


def _unlearn(talk: Talk, rest: str) -> None:
    found = talk.client.get("facts", meant=rest)["items"]
    if not found:
        raise Said(_("Nothing remembered says this."))
    deletion = talk.client.delete(f"facts/{found[0]['id']}")
    _tell_deletion(talk, _("Forgot “%s”.") % in_a_line(found[0]["text"]), deletion)


def _memories(talk: Talk, rest: str) -> None:
    facts = talk.everything("facts")
    if not facts:
        talk.screen.line(_("No memories yet. I'll learn as we talk."), "faint")
    before = ""
    for fact in facts:
        if fact["category"] != before:
            before = fact["category"]
            talk.screen.line(str(Category(before).label), "name")
        talk.screen.line(f"  {in_a_line(fact['text'])}" + ("  ★" if fact["pinned"] else ""))


def _help(talk: Talk, rest: str) -> None:
    for command in COMMANDS:
        takes = f" <{command.takes}>" if command.takes else ""
        talk.screen.write(f"/{command.name}{takes}", "name")
        talk.screen.line(f"  {command.at_terminal}")
    talk.screen.line(_("Ctrl-C stops a reply, Ctrl-D ends."), "faint")


def _here(talk: Talk) -> str:
    if not talk.conversation:
        raise Said(_("Nothing has been said here yet."))
    return talk.conversation


def _day(iso: str) -> str:
    return date_format(timezone.localtime(datetime.fromisoformat(iso)), "DATE_FORMAT")


_DOERS: dict[str, Callable[[Talk, str], None]] = {
    "new": _new,
    "temporary": _temporary,
    "memories": _memories,
    "remember": _remember,
    "unlearn": _unlearn,
    "clear": _clear,
    "history": _history,
    "forget": _forget,
    "undo": _undo,
    "sessions": _sessions,
    "load": _load,
    "save": _save,
    "help": _help,
}
