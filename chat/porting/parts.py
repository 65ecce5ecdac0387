"""The validated parts of an import file, and the types of their columns."""

from __future__ import annotations

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

from chat.errors import BadFile, reason_of

from .problems import from_validation_error

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
Kind = Literal["source", "settings", "app", "conversation", "fact", "graph", "refused"]


@dataclass(frozen=True, slots=True)
class FilePart:
    """A validated value and its kind; `where` is its place in the file, `person` the user that mem0 names for
    it.
    """

    kind: Kind
    value: Any
    where: str = ""
    person: str = ""


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
