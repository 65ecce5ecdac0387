"""What is wrong with a file, and where: a path such as `conversations[3].messages[17].role`."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from pydantic import ValidationError

# By pydantic's name of an error; whatever is not here is a value that may not stand there.
_SENTENCES = {
    "missing": gettext_noop("is missing"),
    "string_type": gettext_noop("must be text"),
    "string_too_long": gettext_noop("is too long"),
    "string_too_short": gettext_noop("is empty"),
    "int_type": gettext_noop("must be a whole number"),
    "int_parsing": gettext_noop("must be a whole number"),
    "float_type": gettext_noop("must be a number"),
    "bool_type": gettext_noop("must be true or false"),
    "list_type": gettext_noop("must be a list"),
    "dict_type": gettext_noop("must be an object"),
    "model_type": gettext_noop("must be an object"),
    "uuid_parsing": gettext_noop("must be a UUID"),
    "uuid_type": gettext_noop("must be a UUID"),
    "datetime_parsing": gettext_noop("must be a date with a time"),
    "datetime_from_date_parsing": gettext_noop("must be a date with a time"),
    "datetime_type": gettext_noop("must be a date with a time"),
    "timezone_aware": gettext_noop("must name its time zone"),
    "literal_error": gettext_noop("is none of the words that may stand here"),
}


class BadFile(Exception):
    """A file cannot be taken; the text is a sentence that says where and why. Nothing was changed."""

    def __init__(self, why: str, where: str = "") -> None:
        sentence = f"{where}: {why}" if where else why
        super().__init__(sentence if sentence.endswith(".") else f"{sentence}.")
        self.why, self.where = why, where

    def within(self, name: str) -> BadFile:
        """Return the same problem of a file that has a name of its own."""
        return BadFile(self.why, within(name, self.where))


def within(name: str, where: str) -> str:
    """Return a place within a file of an archive."""
    return f"{name}: {where}" if name and where and not where.startswith("[") else f"{name}{where}"


def of_pydantic(error: ValidationError, where: str) -> BadFile:
    """Return the first problem that a shape found, with its path; the value itself is not told."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    why = _SENTENCES.get(first["type"], gettext_noop("has a value that may not stand here"))
    return BadFile(_(why), path(where, first["loc"]))


def path(where: str, steps: Sequence[str | int]) -> str:
    """Return a place below another one."""
    for step in steps:
        where += f"[{step}]" if isinstance(step, int) else f".{step}" if where else step
    return where
