"""What each slash command does in a terminal: the table of `chat.commands`, over the API."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from chat.commands import COMMANDS
from chat.models import Category

from .client import Client, Gone, Said
from .screen import Screen

_LISTED = 20
_PAGE = 100


@dataclass
class Talk:
    """Where the terminal is: which app, which conversation, what was listed last and what is known so far."""

    client: Client
    screen: Screen
    app: str = ""
    conversation: str = ""
    temporary: bool = False
    listed: list[str] = field(default_factory=list)
    last_deletion: str = ""
    known: set[str] = field(default_factory=set)

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
            self.conversation = self.client.post("conversations", temporary=True, **app)["id"]
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
        title, day = chat["title"] or _("Untitled"), _day(chat["updated_at"])
        talk.screen.write(f"{mark}{number:>3}  ", "bold")
        talk.screen.write(title)
        talk.screen.line(f"  {chat['app']}, {day}", "faint")


def _load(talk: Talk, rest: str) -> None:
    found = _chosen(talk, rest)
    talk.leave()
    talk.conversation, talk.app = found["id"], found["app"]
    talk.screen.line(found["title"] or _("Untitled"), "bold")
    _show(talk, talk.everything(f"conversations/{found['id']}/messages"))


def _chosen(talk: Talk, rest: str) -> dict[str, Any]:
    if rest.isdigit() and 0 < int(rest) <= len(talk.listed):
        return dict(talk.client.get(f"conversations/{talk.listed[int(rest) - 1]}"))
    if len(rest) >= 32 and " " not in rest:
        return dict(talk.client.get(f"conversations/{rest}"))
    hits = talk.client.get("search", q=rest, kind=["conversation", "message"], limit=1)["items"]
    if not hits:
        raise Said(_("No chat holds this."))
    return dict(talk.client.get(f"conversations/{hits[0]['conversation']}"))


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
    _deleted(talk, _("The chat was deleted."), deletion)


def _deleted(talk: Talk, sentence: str, deletion: dict[str, Any]) -> None:
    until = timezone.localtime(datetime.fromisoformat(deletion["expires_at"]))
    talk.last_deletion = deletion["id"]
    talk.screen.line(
        _("%(what)s /undo takes it back until %(until)s.") % {"what": sentence, "until": f"{until:%H:%M:%S}"},
        "faint",
    )


def _undo(talk: Talk, rest: str) -> None:
    if not talk.last_deletion:
        raise Said(_("There is nothing to undo."))
    talk.client.post(f"deletions/{talk.last_deletion}/undo")
    talk.last_deletion = ""
    talk.screen.line(_("Undone."), "faint")


def _save(talk: Talk, rest: str) -> None:
    kept = talk.client.post(f"conversations/{_here(talk)}/keep")["kept"]
    talk.temporary = False
    sentence = _("This chat stays from now on.") if kept else _("Everything here is saved already.")
    talk.screen.line(sentence, "faint")


def _remember(talk: Talk, rest: str) -> None:
    fact = talk.client.post("facts", text=rest)
    talk.known.add(fact["text"])
    sentence = _("Already remembered.") if fact["mention_count"] > 1 else _("Remembered.")
    talk.screen.line(sentence, "faint")


def _unlearn(talk: Talk, rest: str) -> None:
    found = (
        talk.client.get("facts", q=rest, limit=2)["items"]
        or talk.client.get("search", q=rest, kind="fact", limit=1)["items"]
    )
    if not found:
        raise Said(_("Nothing remembered says this."))
    fact = talk.client.get(f"facts/{found[0]['id']}")
    deletion = talk.client.delete(f"facts/{fact['id']}")
    _deleted(talk, _("Forgot “%s”.") % fact["text"], deletion)


def _memories(talk: Talk, rest: str) -> None:
    facts = talk.everything("facts")
    if not facts:
        talk.screen.line(_("No memories yet. I'll learn as we talk."), "faint")
    before = ""
    for fact in facts:
        if fact["category"] != before:
            before = fact["category"]
            talk.screen.line(str(Category(before).label), "name")
        talk.screen.line(f"  {fact['text']}" + ("  ★" if fact["pinned"] else ""))


def _help(talk: Talk, rest: str) -> None:
    for command in COMMANDS:
        takes = f" <{command.takes}>" if command.takes else ""
        talk.screen.write(f"/{command.name}{takes}", "name")
        talk.screen.line(f"  {command.does}")
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
