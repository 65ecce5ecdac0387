"""What was found, in the place of the list of conversations or as a page of its own."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from chat.search.finding import Hit, Kind, find

from .answers import address_of
from .health import opened_from
from .scope import HtmxHttpRequest

A_PAGE = 30
# In which order a page of hits shows them.
_ORDER = list(Kind)
# The part of the search page that is asked for as one types there.
_PART = "found"


@dataclass(frozen=True, slots=True)
class Line:
    """A hit as a page has it: where its link leads, and of a message its conversation's title."""

    hit: Hit
    link: str
    title: str = ""


@require_GET
def search(request: HtmxHttpRequest) -> HttpResponse:
    """Show the list of conversations or what was found in its place; without htmx as a page of its own."""
    query = request.GET.get("q", "").strip()
    offset = _whole_number(request.GET.get("from", ""))
    found = find(request.user, query, limit=A_PAGE, offset=offset)
    lines = [_line(hit) for hit in sorted(found.hits, key=lambda hit: _ORDER.index(hit.kind))]
    after, page = offset + A_PAGE, reverse("search")
    context = {
        "q": query,
        "lines": lines,
        "found": found,
        "from": offset + 1,
        "to": offset + len(lines),
        "newer": _address(page, query, offset - A_PAGE) if offset else "",
        "further": _address(page, query, after) if after < found.total else "",
    }
    if not request.htmx:
        return render(request, "search.html", context)
    if request.htmx.target == _PART:
        return render(request, "search.html#found", context)
    # The page that asks shows its own title anew with the list.
    return render(request, "_rooms.html", {**context, "conversation": opened_from(request), "live": True})


def _line(hit: Hit) -> Line:
    if hit.message is not None:
        return Line(hit, address_of(hit.message), str(hit.conversation))
    if hit.conversation is not None:
        return Line(hit, hit.conversation.get_absolute_url())
    return Line(hit, f"{reverse('memory')}?found={hit.id}#fact-{hit.id}")


def _address(page: str, query: str, offset: int) -> str:
    return f"{page}?{urlencode({'q': query, 'from': max(0, offset)})}"


def _whole_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
