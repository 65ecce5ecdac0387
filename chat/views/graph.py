"""The entity graph: a picture with a list beside it, and questions to it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_GET

from chat.memory.graph.layout import NARROW, WIDE
from chat.memory.graph_answers import answer, edges
from chat.memory.graph_picture import Net

from .scope import HtmxHttpRequest

EXAMPLES = (
    lazy("What tools do I like?"),
    lazy("Where have I lived?"),
    lazy("Who is in my family?"),
    lazy("What am I building?"),
)


@require_GET
def graph(request: HtmxHttpRequest) -> HttpResponse:
    """Show the picture and the list, and the answer to a question when one is asked."""
    question = request.GET.get("q", "").strip()[:200]
    context: dict[str, Any] = {"q": question, "examples": EXAMPLES}
    if question:
        context["answer"] = answer(request.user, question)
    if request.htmx:
        return render(request, "memory/graph.html#answer", context)
    net = Net(edges(request.user))
    context |= {
        "total": len(net.things),
        "pictures": [("wide", net.picture(WIDE)), ("narrow", net.picture(NARROW))],
        "groups": net.groups(),
    }
    return render(request, "memory/graph.html", context)
