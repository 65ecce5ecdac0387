"""What the owner chose about pages and memory: each verb changes one thing, or refuses and changes none."""

from __future__ import annotations

from functools import cache
from typing import Any
from zoneinfo import available_timezones

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from chat.context.prompt import DEFAULT_PERSONA
from chat.models import App, Conversation, OwnerSettings, Strategy, Theme

from .messages import Refused
from .owners import hold_memory

# Seconds between what was said and memory's look; beyond ten minutes the conversation has ended anyway.
LOOK_AFTER_RANGE = (2, 600)
# Days; a conversation is never pruned with the first choice, which is the default.
PRUNE_AFTER = (0, 30, 90, 180, 365)
# Characters; about a quarter of the smallest window.
MAX_PERSONA = 4000
SWITCH = {"on": True, "off": False}


@cache
def zones() -> frozenset[str]:
    """Return the names of all time zones that this machine knows."""
    return frozenset(available_timezones() - {"localtime", "posixrules", "Factory"})


def set_theme(owner: Any, theme: str) -> None:
    """Choose light or dark; "" follows the system."""
    if theme not in Theme.values:
        raise Refused(_("Choose light, dark or as the system has it."))
    _save(owner, theme=theme)


def set_language(owner: Any, language: str) -> None:
    """Choose the language of the pages; "" follows the browser."""
    if language and language not in dict(settings.LANGUAGES):
        raise Refused(_("Choose one of the languages."))
    _save(owner, language=language)


def set_time_zone(owner: Any, zone: str) -> None:
    """Choose where the owner's days begin, by its IANA name; "" follows the machine."""
    if zone and zone not in zones():
        raise Refused(_("There is no time zone with this name."))
    _save(owner, time_zone=zone)


def set_look_after(owner: Any, seconds: str) -> None:
    """Choose after how many quiet seconds memory reads what was said; looks that wait already keep theirs."""
    shortest, longest = LOOK_AFTER_RANGE
    if not (seconds.strip().isascii() and seconds.strip().isdigit()):
        raise Refused(_("Write the seconds as a whole number."))
    if not shortest <= (given := int(seconds)) <= longest:
        refusal = _("Choose between %(shortest)d and %(longest)d seconds.")
        raise Refused(refusal % {"shortest": shortest, "longest": longest})
    _save(owner, look_after=given)


def set_prune_after(owner: Any, days: str) -> None:
    """Choose after how many days without a word a conversation is deleted at night; "0" keeps them all."""
    if days not in {str(choice) for choice in PRUNE_AFTER}:
        raise Refused(_("Choose one of the times."))
    _save(owner, prune_after=int(days))


def set_redaction(owner: Any, switch: str) -> None:
    """Keep passwords, keys and card numbers out of what memory keeps from now on, or not."""
    if switch not in SWITCH:
        raise Refused(_("Choose on or off."))
    _save(owner, redact_secrets=SWITCH[switch])


def set_persona(app: App, persona: str) -> None:
    """Tell the assistant of an app who it is; "" or the default text means the default, also future ones.

    The next message of each conversation begins with it, so that the model reads the conversation anew once.
    """
    persona = persona.replace("\x00", "").replace("\r\n", "\n").strip()
    if len(persona) > MAX_PERSONA:
        refusal = _("A persona has at most %(most)d characters. This one has %(here)d.")
        raise Refused(refusal % {"most": MAX_PERSONA, "here": len(persona)})
    _change(app, persona="" if persona == DEFAULT_PERSONA else persona)


def set_app_strategy(app: App, strategy: str) -> None:
    """Choose what the app's conversations keep when they outgrow the window, but for those with their own."""
    if strategy not in Strategy.values:
        raise Refused(_("Choose one of the strategies."))
    _change(app, strategy=strategy)


def _save(owner: Any, **values: Any) -> None:
    OwnerSettings.objects.update_or_create(owner=owner, defaults=values)


def _change(app: App, **values: Any) -> None:
    with transaction.atomic():
        hold_memory(app.owner_id)
        App.objects.filter(pk=app.pk).update(**values)
        # What was made ready for their next compaction was made with the old choice.
        Conversation.objects.filter(app=app, prepared__isnull=False).update(prepared=None)
