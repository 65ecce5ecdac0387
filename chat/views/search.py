"""Search results, in the place of the conversation list or as a page of their own."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from chat.access import HtmxHttpRequest, find_whole_number, is_from_another_site
from chat.past_chats.related_messages import find_related_messages
from chat.search.search import Hit, HitKind, find

from .memory import find_open_conversation
from .responses import build_message_url

PAGE_SIZE = 30
# With fewer results, messages of a similar meaning follow by themselves.
_FEW = 5
# The order of kinds within a page of results.
_ORDER = list(HitKind)
# The element of the search page that is updated while the user types.
_RESULTS_ID = "search-results"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A hit with the address of its link; `title` is the conversation of a message."""

    hit: Hit
    link: str
    title: str = ""


@require_GET
def search(request: HtmxHttpRequest) -> HttpResponse:
    """Show the conversation list or the results in its place; without htmx as a page of its own."""
    query = request.GET.get("q", "").strip()
    offset = find_whole_number(request.GET.get("from", ""), digits=5) or 0
    # Another site's page could measure how long the search takes, which tells whether it finds something.
    foreign = is_from_another_site(request)
    found = find(request.user, "" if foreign else query, limit=PAGE_SIZE, offset=offset)
    lines = [_build_result(hit) for hit in sorted(found.hits, key=lambda hit: _ORDER.index(hit.kind))]
    by_meaning = request.GET.get("meaning") == "on"
    related = []
    if query and not foreign and not offset and (by_meaning or found.total < _FEW):
        shown = {hit.id for hit in found.hits}
        related = [_build_result(hit) for hit in find_related_messages(request.user, query, shown)]
    after, page = offset + PAGE_SIZE, reverse("search")
    context = {
        "q": query,
        "lines": lines,
        "by_meaning": by_meaning,
        "related": related,
        "found": found,
        "from": offset + 1,
        "to": offset + len(lines),
        "newer": _build_page_url(page, query, offset - PAGE_SIZE) if offset else "",
        "further": _build_page_url(page, query, after) if after < found.total else "",
    }
    if not request.htmx:
        return render(request, "search.html", context)
    if request.htmx.target == _RESULTS_ID:
        return render(request, "search.html#results", context)
    # The list also carries the title of the open conversation, which may have been renamed.
    return render(
        request,
        "_conversation_list.html",
        {**context, "conversation": find_open_conversation(request), "live": True},
    )


def _build_result(hit: Hit) -> SearchResult:
    if hit.message is not None:
        return SearchResult(hit, build_message_url(hit.message), str(hit.conversation))
    if hit.conversation is not None:
        return SearchResult(hit, hit.conversation.get_absolute_url())
    return SearchResult(hit, f"{reverse('memory')}?found={hit.id}#fact-{hit.id}")


def _build_page_url(page: str, query: str, offset: int) -> str:
    return f"{page}?{urlencode({'q': query, 'from': max(0, offset)})}"
