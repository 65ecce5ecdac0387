"""How templates name a day."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.contrib.humanize.templatetags.humanize import naturalday
from django.utils import timezone
from django.utils.translation import gettext as _

register = template.Library()


@register.filter
def day(moment: datetime) -> str:
    """Return a day as short as it can be told from others: today, 27 Nov, and 2 May 2024 in another year."""
    here = timezone.localtime(moment)
    return str(naturalday(here, _("j M") if here.year == timezone.localtime().year else _("j M Y")))
