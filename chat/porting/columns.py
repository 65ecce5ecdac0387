"""What single columns of a file hold, checked, and the base of its shapes."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, PlainSerializer

from .storable import in_every_zone

# What a column of whole numbers holds in every database.
LARGEST = 2**31 - 1

Whole = Annotated[int, Field(ge=0, le=LARGEST)]
Share = Annotated[float, Field(ge=0, le=1)]
# Levels of what is kept as it comes: the most that pydantic's reader of JSON takes through the API.
_DEEPEST = 200


def _shallow(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object that can be written as it was read: that takes a deeper stack on another day."""
    level: list[Any] = [value]
    for _depth in range(_DEEPEST):
        inside = [item for one in level for item in (one.values() if isinstance(one, dict) else one)]
        level = [item for item in inside if isinstance(item, dict | list)]
        if not level:
            return value
    raise ValueError(_DEEPEST)


Moment = Annotated[AwareDatetime, AfterValidator(in_every_zone)]
JsonObject = Annotated[dict[str, Any], AfterValidator(_shallow)]


def one_of(values: Any) -> Any:
    """Return the type of one of these words."""
    return Literal[tuple(values)]


class Shape(BaseModel):
    """An object of a file; members that are not known here are left alone."""

    model_config = ConfigDict(extra="ignore", protected_namespaces=())


# Keys that are kept as text.
Key = Annotated[UUID, PlainSerializer(str)]
Place = Annotated[str, Field(pattern=r"^[0-9]{1,9}$")]
