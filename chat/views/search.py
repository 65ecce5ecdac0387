"""Finds conversations by their titles and by what was said in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET

from chat.models import Conversation, Message, Role

from .health import opened_from
from .scope import HtmxHttpRequest

MOST = 30
_MOST_WORDS = 8
_BEFORE, _LENGTH = 40, 140  # characters of a snippet
_MARKUP = re.compile(r"\*\*|`+|^#+\s+", re.M)


@dataclass(frozen=True, slots=True)
class Hit:
    """One place that was found; `message` is None where the title says it."""

    conversation: Conversation
    title: SafeString
    message: Message | None = None
    snippet: SafeString | str = ""


@require_GET
def search(request: HtmxHttpRequest) -> HttpResponse:
    """Show the list of conversations or what was found in its place; without htmx as a page of its own."""
    query = request.GET.get("q", "").strip()
    context = {"q": query, "hits": found(request.user, query) if query else []}
    if not request.htmx:
        return render(request, "search.html", context)
    # The page that asks shows its own title anew with the list.
    return render(request, "_rooms.html", {**context, "conversation": opened_from(request), "live": True})


def found(owner: Any, query: str) -> list[Hit]:
    """Return where all words of a query stand: titles first, then messages, the newest first; two queries.

    What was packed away with its topic is not looked into.
    """
    words = query.split()[:_MOST_WORDS]
    listed = Conversation.objects.for_owner(owner).listed()
    titled = listed.filter(_with_all(words, "title")).newest_first()[:MOST]
    hits = [Hit(c, _marked(str(c), words)) for c in titled]
    said = Message.objects.for_owner(owner).shown().filter(role__in=(Role.USER, Role.ASSISTANT))
    said = said.filter(conversation__in=listed).filter(_with_all(words, "content"))
    rows = said.select_related("conversation").order_by("-created_at", "-seq")[: MOST - len(hits)]
    return hits + [
        Hit(m.conversation, format_html("{}", m.conversation), m, snippet(m.content, words)) for m in rows
    ]


def _with_all(words: Sequence[str], field: str) -> Q:
    return reduce(and_, (_with(word, field) for word in words))


def _with(word: str, field: str) -> Q:
    # SQLite knows the two cases of ASCII letters alone.
    forms = {word} if word.isascii() else {word, word.lower(), word.upper(), word.capitalize()}
    return reduce(or_, (Q(**{f"{field}__icontains": form}) for form in forms))


def snippet(text: str, words: Sequence[str]) -> SafeString:
    """Return the piece of a message around the first word that was looked for, the words marked."""
    plain = " ".join(_MARKUP.sub("", text).split())
    place = _pattern(words).search(plain)
    begin = max(0, place.start() - _BEFORE) if place else 0
    if begin:
        begin = plain.find(" ", begin, place.start() if place else None) + 1 or begin
    piece = plain[begin : begin + _LENGTH]
    end = begin + len(piece) < len(plain)
    return format_html("{}{}{}", "…" if begin else "", _marked(piece, words), "…" if end else "")


def _marked(text: str, words: Sequence[str]) -> SafeString:
    # Split by a group, every second piece is a word that was looked for.
    pieces = enumerate(_pattern(words).split(text))
    return format_html_join(
        "", "{}", ((format_html("<mark>{}</mark>", part) if n % 2 else part,) for n, part in pieces)
    )


def _pattern(words: Sequence[str]) -> re.Pattern[str]:
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, longest_first))})", re.IGNORECASE)
