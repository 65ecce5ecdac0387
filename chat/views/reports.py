"""What the prompt of one reply was made of, in words and bars (design §6, "Report")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from chat.context.budget import reserve
from chat.models import Fact, PromptReport

from .answers import address_of
from .articles import window_share
from .scope import HtmxHttpRequest, own_report

# In the order in which the model reads them.
_LABELS = {
    "persona": lazy("Instructions"),
    "memory": lazy("Memory"),
    "summary": lazy("Summary"),
    "history": lazy("Earlier messages"),
    "note": lazy("Memory for this message"),
    "message": lazy("Your message"),
    "reserve": lazy("Kept free for the reply"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """One bar: `tokens`, and `width` in percent of the longest bar."""

    name: str
    label: Any
    tokens: int
    width: float


@require_GET
def report(request: HtmxHttpRequest, pk: UUID) -> HttpResponse:
    """Show what a reply was made of; without htmx as a page of its own."""
    found = own_report(request, pk)
    facts = Fact.objects.for_owner(request.user).live()
    context = {
        "report": found,
        "m": found.reply,
        "back": address_of(found.reply),
        "parts": parts(found),
        "share": window_share(found),
        "used": _grouped(facts, found.facts),
        "left_out": _grouped(facts, found.left_out),
        "losses": losses(found),
        "read": max(0, found.prompt_tokens - found.cached_tokens),
        "seconds": None if found.first_token_ms is None else found.first_token_ms / 1000,
    }
    return render(request, "chat/_report.html" if request.htmx else "chat/report.html", context)


def parts(report: PromptReport) -> list[Part]:
    """Return the bars of a report, those of nothing left out."""
    tokens = {**report.sections, "reserve": reserve(report.window) if report.window else 0}
    longest = max(tokens.values(), default=0)
    return [
        Part(name, label, tokens[name], round(100 * tokens[name] / longest, 1))
        for name, label in _LABELS.items()
        if tokens.get(name)
    ]


def losses(report: PromptReport) -> list[str]:
    """Return in sentences what did not go to the model as it stands; empty when everything did."""
    said = []
    if count := report.cut_messages:
        said.append(
            ngettext("%d earlier message was left out.", "%d earlier messages were left out.", count) % count
        )
    if report.summarised:
        said.append(_("A summary stands in the place of earlier messages."))
    if report.stage >= 2:
        said.append(_("Memory was reduced to what matters most."))
    if report.stage >= 3:
        said.append(_("The last messages were shortened."))
    if report.shortened:
        said.append(_("Your message was longer than the window; its middle was left out."))
    return said


def _grouped(facts: QuerySet[Fact], ids: list[str]) -> Any:
    return facts.filter(pk__in=ids).grouped() if ids else []  # type: ignore[attr-defined]
