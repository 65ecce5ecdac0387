"""One part of a file, and the check that makes it one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from .columns import Shape
from .problems import BadFile, of_pydantic

S = TypeVar("S", bound=Shape)
Kind = Literal["source", "settings", "app", "conversation", "fact", "graph", "refused"]


@dataclass(frozen=True, slots=True)
class Part:
    """What kind of thing, the thing in its shape, where it stands, and of whom the file says it tells."""

    kind: Kind
    value: Any
    where: str = ""
    person: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that is not taken, by its own words, and why."""

    what: str
    why: str


def shaped(shape: type[S], value: Any, where: str) -> S:
    """Return a value in its shape, or raise BadFile with the place of the first fault."""
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        raise of_pydantic(error, where) from error
    except RecursionError as error:
        raise BadFile(str(error), where) from error
