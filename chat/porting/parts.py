"""The validated parts of an import file, the types of their columns, and the errors of a part with its place.

A place is a path such as `conversations[3].messages[17].role`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
)

from chat.errors import BadFile, Reason, reason_of

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


# The largest integer that a column holds in every supported database.
LARGEST = 2**31 - 1

Whole = Annotated[int, Field(ge=0, le=LARGEST)]
Share = Annotated[float, Field(ge=0, le=1)]
# The largest offset of a time zone from UTC.
_LARGEST_OFFSET = timedelta(days=1)
# Levels of what is kept as it comes: the most that pydantic's reader of JSON takes through the API.
_DEEPEST = 200


def require_local_time_everywhere(value: datetime) -> datetime:
    """Return an aware datetime unchanged; raise ValueError where it has no local time in some time zone.

    Those are the first and the last day of Python's calendar: converting them to another zone overflows, so a
    page that shows them would fail.
    """
    try:
        in_utc = value.astimezone(UTC)
        if in_utc - _LARGEST_OFFSET < in_utc + _LARGEST_OFFSET:
            return value
    except OverflowError:
        pass
    raise ValueError("This moment is before or after all that a calendar has in every zone.")


def _shallow(value: dict[str, Any]) -> dict[str, Any]:
    """Return the object unchanged; raise ValueError where it is nested deeper than _DEEPEST, since writing it
    as JSON could then exceed the stack.
    """
    level: list[Any] = [value]
    for _depth in range(_DEEPEST):
        inside = [item for one in level for item in (one.values() if isinstance(one, dict) else one)]
        level = [item for item in inside if isinstance(item, dict | list)]
        if not level:
            return value
    raise ValueError(_DEEPEST)


Moment = Annotated[AwareDatetime, AfterValidator(require_local_time_everywhere)]
JsonObject = Annotated[dict[str, Any], AfterValidator(_shallow)]


def literal_of(values: Any) -> Any:
    """Return the Literal type of these values."""
    return Literal[tuple(values)]


class FileShape(BaseModel):
    """An object of an import file. Unknown members are ignored."""

    model_config = ConfigDict(extra="ignore", protected_namespaces=())


# UUIDs that are stored as text.
Key = Annotated[UUID, PlainSerializer(str)]
Place = Annotated[str, Field(pattern=r"^[0-9]{1,9}$")]


S = TypeVar("S", bound=FileShape)
Kind = Literal["source", "settings", "app", "conversation", "fact", "graph", "refused", "broken"]


@dataclass(frozen=True, slots=True)
class FilePart:
    """A validated value and its kind; `where` is its place in the file, `person` the user that mem0 names for
    it. The value of a broken part is a BrokenItem.
    """

    kind: Kind
    value: Any
    where: str = ""
    person: str = ""


@dataclass(frozen=True, slots=True)
class BrokenItem:
    """A conversation or a fact that cannot be read; the rest of the file is imported without it."""

    kind: Literal["conversation", "fact"]
    fault: BadFile


@dataclass(frozen=True, slots=True)
class RefusedItem:
    """An item that is not imported, and the reason as a sentence."""

    what: str
    why: str


def validate_shape(shape: type[S], value: Any, where: str) -> S:
    """Return the value validated as `shape`; raise BadFile with the place of the first error."""
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        raise from_validation_error(error, where) from error
    except RecursionError as error:
        raise BadFile(reason_of(error), where) from error
