"""Labelled cases. A file in JSON Lines has one case a line; all are validated first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chat.memory.kinds import CategoryName

Words = Annotated[list[str], Field(min_length=1)]


class CaseError(Exception):
    """The file of cases is invalid; the text names the line and the reason."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class CaseMessage(_Strict):
    """One message of a labelled conversation."""

    role: Literal["user", "assistant", "system"]
    content: str


class Expected(_Strict):
    """An expected fact: any fact that contains one of these words counts, whatever its category."""

    any: Words
    category: CategoryName


class ExtractionCase(_Strict):
    """A conversation, the facts that must be stored from it, and words that no fact may contain."""

    id: str
    messages: Annotated[list[CaseMessage], Field(min_length=1)]
    expect: list[Expected] = []
    forbid: list[str] = []
    allow: list[str] = []


class UpdateCase(_Strict):
    """Known facts, one message, and the facts that must be known afterwards."""

    id: str
    facts: list[str] = []
    message: str
    max_facts: int
    keeps_or_gains: list[Words] = []
    loses: list[str] = []


class RecallCase(_Strict):
    """Known facts (`*` marks pinned ones), earlier conversations, a message, and what its prompt contains.

    The conversations of `chats` belong to the same app, the oldest first, a day apart. `before` are the
    messages of the present conversation; without them the message opens it.
    """

    id: str
    facts: list[str] = []
    chats: list[list[CaseMessage]] = []
    before: list[CaseMessage] = []
    message: str
    in_prompt: list[str] = []
    not_in_prompt: list[str] = []


class ReplyCase(_Strict):
    """Known facts, the first message of a conversation, and what the model's reply must be.

    It contains a text of each group of `reply_any` and no text of `reply_none`, whatever their case, and has
    at most `max_words` words where that is not 0.
    """

    id: str
    facts: list[str] = []
    message: str
    reply_any: list[Words] = []
    reply_none: list[str] = []
    max_words: Annotated[int, Field(ge=0)] = 0


class WordingsCase(_Strict):
    """Facts, each in several wordings. Each must be stored as one fact with that number of mentions."""

    id: str
    facts: Annotated[list[Words], Field(min_length=1)]


Case = ExtractionCase | UpdateCase | RecallCase | ReplyCase | WordingsCase
_KINDS: dict[str, type[Case]] = {
    "extraction": ExtractionCase,
    "updates": UpdateCase,
    "recall": RecallCase,
    "replies": ReplyCase,
    "wordings": WordingsCase,
}
KINDS = tuple(_KINDS)


def load_cases(kind: str, path: Path) -> list[Case]:
    """Return the cases of a file. Raises CaseError with the line of the first invalid case."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise CaseError(f"{path} could not be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise CaseError(f"{path} could not be read: it is not text in UTF-8.") from error
    cases: list[Case] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            cases.append(_KINDS[kind].model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "the line"
            raise CaseError(f"{path.name}, line {number}: {place}: {first['msg']}") from error
    return cases
