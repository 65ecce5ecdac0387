"""The memory panel as a whole: its lists, the count in the header, the health line, and the entity graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from chat.access import (
    HtmxHttpRequest,
    conversations_of,
    find_whole_number,
    is_from_another_site,
    uuid_or_404,
)
from chat.error_messages import describe
from chat.errors import Reason
from chat.llm.model_status import ModelState
from chat.llm.registry import registry
from chat.memory.graph.layout import NARROW, WIDE
from chat.memory.graph_answers import answer_question, load_edges
from chat.memory.graph_picture import EntityNetwork
from chat.models import Conversation, ExtractionRun, Fact, Job, MemoryMode, Message, User

from .deletions import list_archived_facts, list_heard_once
from .memory_cards import load_panel_context

EXAMPLE_QUESTIONS = (
    lazy("What tools do I like?"),
    lazy("Where have I lived?"),
    lazy("Who is in my family?"),
    lazy("What am I building?"),
)


@require_GET
def memory_panel(request: HtmxHttpRequest) -> HttpResponse:
    """Show the panel: as a page, as the content of the sheet, or its list alone (`found` marks one card)."""
    if request.htmx and request.htmx.target == "memory-list":
        return render(
            request, "memory/panel.html#list", load_panel_context(request, found=_find_linked_fact(request))
        )
    return render_panel(request)


def render_panel(request: HtmxHttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    """Render the panel with further context: as the content of the sheet for htmx, else as a page."""
    health = load_health(request.user, find_open_conversation(request))
    context = {
        **load_panel_context(request),
        "health": health,
        "archived": list_archived_facts(request.user),
        "heard_once": list_heard_once(request.user),
        **more,
    }
    template = "memory/panel.html#panel" if request.htmx else "memory/panel.html"
    return render(request, template, context, status=status)


@require_GET
def memory_pill(request: HtmxHttpRequest) -> HttpResponse:
    """Show the number of facts, marked when it rose from `was`; 204 when it is still `was`."""
    was = request.GET.get("was", "")
    count = Fact.objects.for_owner(request.user).live().count()
    if was == str(count):
        return HttpResponse(status=204)
    before = find_whole_number(was)
    context = {"memory_count": count, "rose": before is not None and count > before}
    return render(request, "memory/_pill.html", context)


def _find_linked_fact(request: HtmxHttpRequest) -> Fact | None:
    """Return the fact that a link names; None where it is no longer live."""
    if not (given := request.GET.get("found")):
        return None
    return Fact.objects.for_owner(request.user).live().filter(pk=uuid_or_404(given)).first()


@require_GET
def memory_graph(request: HtmxHttpRequest) -> HttpResponse:
    """Show the entity graph as a picture and a list, with the answer to a question where one is asked."""
    question = request.GET.get("q", "").strip()[:200]
    context: dict[str, Any] = {"q": question, "examples": EXAMPLE_QUESTIONS}
    if question and not is_from_another_site(request):
        context["answer"] = answer_question(request.user, question, registry.embedder())
    if request.htmx:
        return render(request, "memory/graph.html#answer", context)
    net = EntityNetwork(load_edges(request.user))
    context |= {
        "total": len(net.things),
        "pictures": [("wide", net.build_picture(WIDE)), ("narrow", net.build_picture(NARROW))],
        "groups": net.build_groups(),
    }
    return render(request, "memory/graph.html", context)


@dataclass(slots=True)
class MemoryHealth:
    """The health line: the last extraction, its outcomes, and how many messages wait.

    `conversation` is None where the line is about all conversations of the owner.
    """

    conversation: Conversation | None
    at: datetime | None = None
    outcomes: list[str] = field(default_factory=list)
    refused: list[dict[str, str]] = field(default_factory=list)
    problem: str = ""
    waiting: int = 0

    @property
    def modes(self) -> list[tuple[str, Any]]:
        """Return the values and labels of the memory switch."""
        return [*MemoryMode.choices]


def load_health(owner: User, conversation: Conversation | None) -> MemoryHealth:
    """Return the health of a conversation of the owner; without one, of the last extracted conversation."""
    runs = ExtractionRun.objects.for_owner(owner).filter(message__conversation__deletion=None)
    if conversation is None:
        last = runs.select_related("message__conversation").first()
        waiting = Message.objects.backlog(owner).count()
        runs = runs.filter(message__conversation=last.message.conversation) if last else runs.none()
    else:
        runs = runs.filter(message__conversation=conversation)
        unread = Message.objects.not_extracted(conversation)
        waiting = unread.count() if conversation.memory_mode == MemoryMode.ON else 0
    health = MemoryHealth(conversation, waiting=waiting)
    if batch := runs.last_batch():
        health.at = batch[0].created_at
        health.outcomes = _describe_outcomes(batch)
        health.refused = [{**r, "reason": describe(r["reason"])} for run in batch for r in run.refused]
        health.problem = describe(next((run.error for run in batch if run.error), ""))
    if conversation is not None and waiting:
        health.problem = _describe_problem(conversation) or health.problem
    if waiting and (model := registry.status()).state is ModelState.AWAY:
        health.problem = _("Memory waits for the model on %(host)s and continues automatically.") % {
            "host": model.host
        }
    return health


def _describe_outcomes(runs: list[ExtractionRun]) -> list[str]:
    stored, known = sum(r.stored for r in runs), sum(r.reinforced for r in runs)
    over, refusals = sum(r.ended for r in runs), sum(len(r.refused) for r in runs)
    outcomes = [
        (stored, ngettext("%d learned", "%d learned", stored)),
        (known, ngettext("%d already known", "%d already known", known)),
        (over, ngettext("%d no longer true", "%d no longer true", over)),
        (refusals, ngettext("%d not kept", "%d not kept", refusals)),
    ]
    return [words % n for n, words in outcomes if n] or [_("nothing to remember")]


def _describe_problem(conversation: Conversation) -> str:
    """Return why messages of a conversation still wait; "" where no extraction has failed."""
    job = Job.objects.filter(dedupe_key=f"extract:{conversation.pk}").first()
    if job is None or not job.last_error:
        return ""
    reason = Reason.decode(job.last_error)
    unknown = _("Something went wrong while memory was reading.")
    why = describe(reason) if reason is not None else unknown
    then = (
        _("The next message starts another attempt.")
        if job.failed_at
        else _("It will be tried again automatically.")
    )
    return f"{why} {then}"


def find_open_conversation(request: HtmxHttpRequest) -> Conversation | None:
    """Return the conversation on whose page htmx sent the request; None for other pages."""
    shown = urlsplit(request.htmx.current_url_abs_path or "").path
    try:
        page = resolve(shown.removeprefix(settings.BASE_PATH))
    except Resolver404:
        return None
    if page.url_name != "conversation":
        return None
    return conversations_of(request.user).filter(pk=page.kwargs["pk"]).first()


@require_GET
def health_line(request: HtmxHttpRequest) -> HttpResponse:
    """Show the health line of the open conversation, else of the last extracted one."""
    if not request.htmx:
        return redirect("memory")
    context = {"health": load_health(request.user, find_open_conversation(request))}
    return render(request, "memory/_health.html", context)
