"""What a program asks once more is not said once more: by its own key, or by how OpenAI's packages ask again.

Those send no key, but with each request how often they have made it: a first one begins anew, a later one
with the same token, address and words joins what the first has begun.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from chat.actions import branches, idempotency
from chat.actions.idempotency import Made
from chat.actions.messages import Busy
from chat.api.problems import Problem, invalid
from chat.generation import run as generation
from chat.generation.options import Options
from chat.generation.writing import Run
from chat.llm.types import Usage
from chat.models import Message, MessageState, PromptReport, Role
from chat.topics.contents import with_contents
from chat.views.scope import HtmxHttpRequest

_COUNT = "X-Stainless-Retry-Count"
_LONGEST_KEY = 200
# OpenAI's packages wait 8 s at most before they ask again; a slow network may need a moment more.
RETURNS_SECONDS = 30.0
# An answer and the request that gave it up may have crossed on the way.
_CROSSING = timedelta(seconds=3)


@dataclass(slots=True)
class Saying:
    """By which key a request is known, "" for none; `chosen` by its program, `again` where it came before."""

    owner: Any
    key: str = ""
    request: bytes = b""
    chosen: bool = False
    first: bool = False
    again: bool = False


def saying_of(request: HtmxHttpRequest, owner: Any, choices: Any) -> Saying:
    """Return what a request is known by; raises Problem for a key that is none."""
    asked = f"{request.method} {request.path}\n{json.dumps(choices)}\n".encode() + request.body
    if (key := request.headers.get("Idempotency-Key")) is not None:
        if not 0 < len(key) <= _LONGEST_KEY or "\x00" in key:
            sentence = _("An Idempotency-Key has one to %d characters.") % _LONGEST_KEY
            raise invalid(sentence, "header", "Idempotency-Key")
        return Saying(owner, key, asked, chosen=True)
    count = request.headers.get(_COUNT, "")
    if not count.isdecimal():
        return Saying(owner)
    token = request.headers.get("Authorization", "")
    key = idempotency.digest_of(f"{token}\n".encode() + asked)
    return Saying(owner, f"retry:{key}", asked, first=not count.strip("0"))


def said_once(
    saying: Saying,
    say: Callable[[], tuple[Message, Message]],
    need_model: Callable[[], None],
    options: Options,
) -> Run:
    """Say something and begin its reply, or return the reply that an earlier request has begun.

    A reply that did not come to its end is written anew: the process was killed, or nobody waited for it.
    Raises Problem, and Refused with a sentence.
    """
    begun: list[Message] = []

    def make() -> Made:
        asked, reply = say()
        begun.append(reply)
        return Made([str(asked.pk), str(reply.pk)])

    made = idempotency.once(saying.owner, saying.key, saying.request, make, anew=saying.first)
    if not made.again:
        return generation.start(begun[0], options)
    saying.again = True
    if (run := generation.await_begin(_reply(saying.owner, made.ids[-1]))) is not None:
        return run
    # It may have come to its end meanwhile.
    reply = _reply(saying.owner, made.ids[-1])
    if reply.state == MessageState.STREAMING:
        raise Busy(_("The reply is still being written. Stop it, or wait for its end."))
    if reply.state == MessageState.COMPLETE:
        return _finished(reply, options)
    need_model()
    return generation.start(_anew(saying, made.ids[0], reply), options)


def told(saying: Saying) -> None:
    """Note that a reply has come to its program: its package does not ask for it again."""
    if saying.key and not saying.chosen:
        idempotency.let_go(saying.owner, saying.key, _CROSSING)


def _reply(owner: Any, key: str) -> Message:
    """Return the reply, or what has taken its place since; raises Problem where it has been deleted."""
    rows = Message.objects.for_owner(owner).filter(conversation__deletion=None)
    rows = rows.select_related("conversation__app", "conversation__owner")
    reply = rows.filter(pk=key).first()
    if reply is not None and reply.replaced_by_id is not None:
        later = rows.filter(conversation=reply.conversation, role=Role.ASSISTANT, seq__gt=reply.seq)
        reply = later.shown().order_by("seq").first()
    if reply is None:
        raise Problem("gone", _("What this request made has been deleted since."))
    return reply


def _anew(saying: Saying, asked: str, reply: Message) -> Message:
    with transaction.atomic():
        new = branches.retry_reply(reply)
        idempotency.renew(saying.owner, saying.key, [asked, str(new.pk)])
    return new


def _finished(reply: Message, options: Options) -> Run:
    """Return a reply that has come to its end, as a run that is over."""
    with_contents([reply])
    report = PromptReport.objects.filter(reply=reply).first()
    spent = Usage()
    if report is not None:
        spent = Usage(report.prompt_tokens, report.cached_tokens, report.completion_tokens)
    cut = options.max_tokens is not None and spent.completion_tokens >= options.max_tokens
    return Run(
        str(reply.pk),
        str(reply.conversation_id),
        options,
        state=MessageState.COMPLETE,
        usage=spent,
        finish="length" if cut else "stop",
        over=True,
        unsent=reply.content,
    )
