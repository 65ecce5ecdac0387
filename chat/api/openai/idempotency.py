"""Recognises repeated requests, so that a message is not sent twice.

A client may send an Idempotency-Key. OpenAI's packages send none, but they count retries in a header: a
request with count 0 is new; one with a higher count and the same token, address and body joins the reply
of the first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from chat.access import HtmxHttpRequest, messages_of
from chat.actions import idempotency, message_edits
from chat.api.problems import Problem, invalid
from chat.errors import Busy
from chat.generation import run as generation
from chat.generation.elsewhere import fill_from_row, follow_elsewhere
from chat.generation.exchange import RequestKey
from chat.generation.options import ReplyOptions
from chat.generation.reply_run import ReplyRun
from chat.generation.run import begin_exchange, require_model
from chat.models import Message, MessageState, Role, User

_RETRY_COUNT_HEADER = "X-Stainless-Retry-Count"
_MAX_KEY_LENGTH = 200
# OpenAI's packages retry after 8 s at most; the rest is for slow networks.
RETRY_WINDOW_SECONDS = 30.0
# A response and the retry of its request may cross: the key stays valid for this time after the response.
_CROSSING_TIME = timedelta(seconds=3)


@dataclass(slots=True)
class RequestIdentity:
    """The key of a request, "" for none.

    `chosen` is true for a client's own key, `first` for a first attempt, `again` once a retry is recognised.
    """

    owner: User
    key: str = ""
    request: bytes = b""
    chosen: bool = False
    first: bool = False
    again: bool = False


def identify_request(request: HtmxHttpRequest, owner: User, choices: Any) -> RequestIdentity:
    """Return the identity of a request; raises Problem for an invalid Idempotency-Key."""
    asked = f"{request.method} {request.path}\n{json.dumps(choices)}\n".encode() + request.body
    if (key := request.headers.get("Idempotency-Key")) is not None:
        if not 0 < len(key) <= _MAX_KEY_LENGTH or "\x00" in key:
            sentence = _("An Idempotency-Key has one to %d characters.") % _MAX_KEY_LENGTH
            raise invalid(sentence, "header", "Idempotency-Key")
        return RequestIdentity(owner, key, asked, chosen=True)
    count = request.headers.get(_RETRY_COUNT_HEADER, "")
    if not count.isdecimal():
        return RequestIdentity(owner)
    token = request.headers.get("Authorization", "")
    key = idempotency.hash_request(f"{token}\n".encode() + asked)
    return RequestIdentity(owner, f"retry:{key}", asked, first=not count.strip("0"))


def send_once(
    identity: RequestIdentity,
    save: Callable[[], tuple[Message, Message]],
    options: ReplyOptions,
) -> ReplyRun:
    """Send a message and begin its reply, or return the reply that an earlier request has begun.

    A reply that was not completed is written again: the process was killed, or its client had disconnected.
    Raises Problem, Refused and ModelNotReady.
    """
    key = RequestKey(identity.key, identity.request, restart=identity.first)
    begun = begin_exchange(identity.owner, save, key=key, options=options)
    if not begun.repeated:
        return begun.run
    identity.again = True
    if (run := generation.await_begin(_find_reply(identity.owner, begun.keys[-1]))) is not None:
        return run
    # The reply may have ended meanwhile.
    reply = _find_reply(identity.owner, begun.keys[-1])
    if reply.state == MessageState.STREAMING:
        if (there := follow_elsewhere(reply, options)) is None:
            raise Busy("reply-in-progress")
        return there
    if reply.state == MessageState.COMPLETE:
        return _build_finished_run(reply, options)
    require_model()
    again = begin_exchange(
        identity.owner, lambda: [_retry_reply(identity, begun.keys[0], reply)], options=options
    )
    return again.run


def release_retry_key(identity: RequestIdentity) -> None:
    """Release the key of a retry after the client has received the reply: it will not retry any more."""
    if identity.key and not identity.chosen:
        idempotency.shorten_retention(identity.owner, identity.key, _CROSSING_TIME)


def _find_reply(owner: User, key: str) -> Message:
    """Return the reply, or the one that has replaced it; raises Problem where it has been deleted."""
    rows = messages_of(owner)
    reply = rows.filter(pk=key).first()
    if reply is not None and reply.replaced_by_id is not None:
        later = rows.filter(conversation=reply.conversation, role=Role.ASSISTANT, seq__gt=reply.seq)
        reply = later.current_branch().order_by("seq").first()
    if reply is None:
        raise Problem("gone", _("What this request created has been deleted since."))
    return reply


def _retry_reply(identity: RequestIdentity, asked: str, reply: Message) -> Message:
    with transaction.atomic():
        new = message_edits.retry_reply(reply)
        idempotency.replace_created_ids(identity.owner, identity.key, [asked, str(new.pk)])
    return new


def _build_finished_run(reply: Message, options: ReplyOptions) -> ReplyRun:
    """Return a completed reply as a run that has ended."""
    run = ReplyRun(str(reply.pk), str(reply.conversation_id), options)
    fill_from_row(run, reply)
    return run
