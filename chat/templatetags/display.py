"""Template filters: the text of facts, and short dates."""

from __future__ import annotations

from datetime import date, datetime

from django import template
from django.contrib.humanize.templatetags.humanize import naturalday
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.memory.formatting import format_for_display, format_for_quotation

register = template.Library()


@register.filter
def fact_text(text: str) -> str:
    """Return a fact's text as a card shows it."""
    return format_for_display(text)


@register.filter
def fact_text_inside(text: str) -> str:
    """Return a fact's text for use inside a sentence."""
    return format_for_display(text, inside=True)


@register.filter
def fact_text_quoted(text: str) -> str:
    """Return a fact's text for a sentence that puts quotation marks around it."""
    return format_for_quotation(text, inside=True)


@register.filter
def short_date(moment: datetime | date) -> str:
    """Return the local day in its shortest unambiguous form: today, 27 Nov, or 2 May 2024 of another year."""
    here = timezone.localtime(moment) if isinstance(moment, datetime) else moment
    return str(naturalday(here, _("j M") if here.year == timezone.localtime().year else _("j M Y")))
