"""Renders error codes as sentences in the reader's language."""

from __future__ import annotations

from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext

from .error_sentences import SENTENCES
from .errors import AppError, BadFile, Reason


def describe(what: AppError | Reason | str) -> str:
    """Return the sentence in the active language.

    A string is a stored reason (see `Reason.encode`); one that is no known code is returned as it is, since
    older versions stored whole sentences.
    """
    if isinstance(what, BadFile):
        where = what.where if isinstance(what.where, str) else describe(what.where)
        return what.render(describe(what.reason), where)
    if isinstance(what, AppError):
        what = what.reason
    reason = Reason.decode(what) if isinstance(what, str) else what
    if reason is None:
        return str(what)
    template = SENTENCES[reason.code]
    return gettext(template) % {name: _show(template, name, v) for name, v in reason.params.items()}


def _show(template: str, name: str, value: Any) -> Any:
    if isinstance(value, Reason):
        return describe(value)
    if isinstance(value, int) and f"%({name})s" in template:
        return number_format(value, force_grouping=True)
    return value
