"""The error of an import file, with its place: a path such as `conversations[3].messages[17].role`."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from chat.errors import BadFile, Reason

# By pydantic's error type; other types get a general code.
_CODES = {
    "missing": "field-missing",
    "string_type": "field-not-text",
    "string_too_long": "field-too-long",
    "string_too_short": "field-empty",
    "int_type": "field-not-a-whole-number",
    "int_parsing": "field-not-a-whole-number",
    "float_type": "field-not-a-number",
    "bool_type": "field-not-a-boolean",
    "list_type": "field-not-a-list",
    "dict_type": "field-not-an-object",
    "model_type": "field-not-an-object",
    "uuid_parsing": "field-not-a-uuid",
    "uuid_type": "field-not-a-uuid",
    "datetime_parsing": "field-not-a-datetime",
    "datetime_from_date_parsing": "field-not-a-datetime",
    "datetime_type": "field-not-a-datetime",
    "timezone_aware": "field-without-time-zone",
    "literal_error": "field-not-a-choice",
}


def place_in_archive(name: str, where: str | Reason) -> str | Reason:
    """Return the place of an error within a file of an archive; `name` is "" outside of archives."""
    if isinstance(where, str):
        return join_place(name, where)
    return Reason("file-position-in-archive", {"name": name, "where": where}) if name else where


def join_place(name: str, where: str) -> str:
    """Return a place within a file of an archive."""
    return f"{name}: {where}" if name and where and not where.startswith("[") else f"{name}{where}"


def from_validation_error(error: ValidationError, where: str) -> BadFile:
    """Return the first error of a shape as BadFile. The invalid value is not included."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    why = _CODES.get(first["type"], "field-invalid")
    return BadFile(why, extend_place(where, first["loc"]))


def extend_place(where: str, steps: Sequence[str | int]) -> str:
    """Return `where` extended by these steps."""
    for step in steps:
        where += f"[{step}]" if isinstance(step, int) else f".{step}" if where else step
    return where
