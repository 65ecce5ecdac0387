"""What is selected in a message and remembered."""

from __future__ import annotations

from django.contrib import messages as notices
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from chat.actions import facts
from chat.actions.messages import Refused
from chat.generation.markdown import plain
from chat.memory.shown import shown
from chat.memory.similar import normalise
from chat.models import Message, Origin
from chat.topics.contents import with_contents

from .answers import changed, refused, toast
from .forgetting import SHOWN_CHARACTERS
from .scope import HtmxHttpRequest, own_message, uuid_or_404


@require_POST
def highlight(request: HtmxHttpRequest) -> HttpResponse:
    """Remember words of a message as they stand there, or say that they are known."""
    source = own_message(request, uuid_or_404(request.POST.get("message", "")))
    quote, back = request.POST.get("text", ""), reverse("conversation", args=[source.conversation_id])
    if len(quote) > facts.MAX_CHARACTERS:
        sentence = _("That is too long to remember as one. Select up to %d characters.")
        return refused(request, sentence % facts.MAX_CHARACTERS, 422, back)
    if not _stands_in(quote, source):
        return refused(request, _("These words are not in the message. Select them again."), 422, back)
    try:
        saved = facts.add_fact(request.user, quote, Origin.HIGHLIGHT, source=source)
    except Refused as problem:
        return refused(request, str(problem), 422, back)
    known = saved.mention_count > 1
    words = {"text": Truncator(shown(saved.text)).chars(SHOWN_CHARACTERS)}
    sentence = (_("Already remembered: “%(text)s”") if known else _("Remembered “%(text)s”")) % words
    if not request.htmx:
        notices.success(request, sentence)
        return redirect(back)
    return toast(
        changed(HttpResponse(status=204)), sentence, "" if known else reverse("fact_delete", args=[saved.pk])
    )


def _stands_in(quote: str, message: Message) -> bool:
    """Tell whether a message says these words, whatever signs and line breaks are between them."""
    [row] = with_contents([message])
    wanted = normalise(quote)
    return bool(wanted) and any(wanted in normalise(said) for said in (plain(row.content), row.content))
