"""Which stretch of a long conversation a page shows, and where it goes on."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import QueryDict

from chat.models import Conversation, Message
from chat.models.message import MessageQuerySet

PAGE = 60
# Around a message that was looked for, some of what led to it.
_LED_TO_IT = 8


@dataclass(frozen=True, slots=True)
class Stretch:
    """Messages in order; `earlier` and `later` are the places before and after which there are more."""

    rows: list[Message]
    earlier: int | None = None
    later: int | None = None


def stretch(conversation: Conversation, asked: QueryDict) -> Stretch:
    """Return the messages before or after the place that an address names, else the newest."""
    shown = Message.objects.filter(conversation=conversation).shown()
    if (place := asked.get("before", "")).isdecimal():
        return _before(shown, shown.filter(seq__lt=int(place)))
    if (place := asked.get("after", "")).isdecimal():
        return _after(shown, shown.filter(seq__gt=int(place)))
    return _before(shown, shown)


def around(message: Message) -> Stretch:
    """Return a message with some of what led to it and what followed."""
    shown = Message.objects.filter(conversation=message.conversation_id).shown()
    led = list(shown.filter(seq__lt=message.seq).reverse()[:_LED_TO_IT])
    return _after(shown, shown.filter(seq__gte=led[-1].seq if led else message.seq))


def _before(shown: MessageQuerySet, wanted: MessageQuerySet) -> Stretch:
    rows = list(wanted.reverse()[: PAGE + 1])[::-1]
    more, rows = len(rows) > PAGE, rows[-PAGE:]
    later = rows[-1].seq if rows and shown.filter(seq__gt=rows[-1].seq).exists() else None
    return Stretch(rows, rows[0].seq if more else None, later)


def _after(shown: MessageQuerySet, wanted: MessageQuerySet) -> Stretch:
    rows = list(wanted[: PAGE + 1])
    more, rows = len(rows) > PAGE, rows[:PAGE]
    earlier = rows[0].seq if rows and shown.filter(seq__lt=rows[0].seq).exists() else None
    return Stretch(rows, earlier, rows[-1].seq if more else None)
