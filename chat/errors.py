"""Errors that a person can read: a code with parameters. Standard library only; every layer uses it.

The sentence is made where it is shown: `chat.error_messages` renders it in the reader's language, and `str()`
of an error is English for logs and commands. The database stores `Reason.encode()`, never a sentence.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .error_sentences import SENTENCES

if TYPE_CHECKING:
    from .llm.types import Usage

_CODES = {sentence: code for code, sentence in SENTENCES.items() if "%(" not in sentence}
_ENCODED = re.compile(r"([a-z][a-z-]*)(?: (\{.*\}))?", re.S)


@dataclass(frozen=True, slots=True)
class Reason:
    """A code of `SENTENCES` with its parameters: text, whole numbers, or further reasons."""

    code: str
    params: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the English sentence."""
        shown = {name: f"{value:,}" if _is_grouped(self.code, name, value) else value
                 for name, value in self.params.items()}  # fmt: skip
        return SENTENCES[self.code] % shown

    def encode(self) -> str:
        """Return the reason as text for a database column: the code, and its parameters as JSON."""
        if not self.params:
            return self.code
        params = {k: {"reason": v.encode()} if isinstance(v, Reason) else v for k, v in self.params.items()}
        return f"{self.code} {json.dumps(params, ensure_ascii=False)}"

    @classmethod
    def decode(cls, stored: str) -> Reason | None:
        """Return the reason that `encode` wrote; None for any other text."""
        found = _ENCODED.fullmatch(stored)
        if found is None or found[1] not in SENTENCES:
            return None
        try:
            params = json.loads(found[2] or "{}")
            reason = cls(found[1], {name: _decode_param(value) for name, value in params.items()})
            str(reason)
        except (ValueError, KeyError, TypeError):
            # Cut off at the length of its column, or written by another version.
            return None
        return reason


def to_english(stored: str) -> str:
    """Return the English sentence of a stored reason; any other text as it is."""
    reason = Reason.decode(stored)
    return stored if reason is None else str(reason)


def from_english(sentence: str) -> str:
    """Return the code of a sentence without parameters; any other text as it is."""
    return _CODES.get(sentence, sentence)


def _decode_param(value: Any) -> Any:
    if isinstance(value, dict):
        return Reason.decode(value["reason"]) or value["reason"]
    return value


def _is_grouped(code: str, name: str, value: Any) -> bool:
    """Return whether a number is shown with its thousands grouped: where its place is `%(name)s`."""
    return isinstance(value, int) and f"%({name})s" in SENTENCES[code]


class AppError(Exception):
    """An error with a code; `str()` is its English sentence. A code without a sentence raises KeyError."""

    def __init__(self, reason: str | Reason, **params: Any) -> None:
        self.reason = reason if isinstance(reason, Reason) else Reason(reason, params)
        super().__init__(str(self.reason))

    @property
    def code(self) -> str:
        """Return the code of the error."""
        return self.reason.code


def reason_of(error: BaseException) -> Reason:
    """Return the reason of an error; one without a code becomes a reason that shows the error's own text."""
    return error.reason if isinstance(error, AppError) else Reason("verbatim", {"sentence": str(error)})


class Refused(AppError):
    """A request cannot be carried out; nothing was changed."""


class Busy(Refused):
    """Something else is at work at the same place, such as a reply in this conversation; try again later."""


class Overloaded(Refused):
    """Too much waits at the moment; the same request may succeed in a while."""


class QuotaExceeded(Refused):
    """The person has reached a limit; `after` is in how many seconds it allows more."""

    def __init__(self, reason: Reason, after: int) -> None:
        super().__init__(reason)
        self.after = after


class IdempotencyKeyReused(Refused):
    """The Idempotency-Key was sent before with another request."""


class TooLateToUndo(Refused):
    """A deletion cannot be undone: its time is over, or it has been undone already."""


class VersionConflict(Refused):
    """The object has changed since the caller read it."""


class PendingDeletion(Refused):
    """The object is being deleted; only Undo can change it now."""


class BadFile(AppError):
    """A file cannot be imported; nothing was changed. `where` is the place in the file, "" for all of it."""

    def __init__(self, reason: str | Reason, where: str | Reason = "") -> None:
        super().__init__(reason)
        self.where = where

    def __str__(self) -> str:
        return self.render(str(self.reason), str(self.where))

    def render(self, sentence: str, where: str) -> str:
        """Return the place and the sentence as one sentence."""
        text = f"{where}: {sentence}" if where else sentence
        return text if text.endswith(".") else f"{text}."


class UnknownCommand(AppError, ValueError):
    """The text looks like a slash command and is not a valid one."""


class BadAddress(AppError, ValueError):
    """The address of a model server is not accepted."""


class ProviderError(AppError):
    """A call of the model failed; `usage` is what the call cost until then, where that is known."""

    usage: Usage | None = None


class ModelNotReady(ProviderError):
    """The model is missing, loading or failed to load."""


class PromptTooLong(ProviderError):
    """The prompt leaves no room for an answer in the window."""


class FormatNotKept(ProviderError):
    """A provider without grammars did not keep to the required format, although it was asked twice."""

    def __init__(self, usage: Usage) -> None:
        super().__init__("form-not-kept")
        self.usage = usage


class Unfinished(ProviderError):
    """A whole answer was stopped before its end, by its stop flag or because the model is shut down."""

    usage: Usage

    def __init__(self, usage: Usage) -> None:
        super().__init__("model-stopped")
        self.usage = usage


class ModelTooSlow(ProviderError):
    """The model did not finish within the time that a background task may take."""


class GrammarError(ProviderError):
    """The engine cannot parse a grammar; llama.cpp reports this by a null pointer only."""


class TemplateMissing(ProviderError):
    """The model file has no chat template. A guessed template would garble every answer."""


class UnusableOutput(ProviderError):
    """The model answered, and its answer cannot be used: no title, no summary, or no valid choice."""


class ServerAway(ModelNotReady):
    """The model server cannot be reached or gives no sensible answer; callers wait for another try."""


class ServerBusy(ModelNotReady):
    """The model server asks to try again; `after` is in how many seconds, 0 where it does not say."""

    def __init__(self, reason: str | Reason, after: float = 0.0) -> None:
        super().__init__(reason)
        self.after = after


class ConnectionLost(ProviderError):
    """The connection to the model server broke in the middle of an answer."""

    def __init__(self) -> None:
        super().__init__("server-connection-lost")


class ServerRefused(ProviderError):
    """The model server rejected the request; `text` is its answer, which only the capability test reads."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__("server-refused", what=str(status))
        self.status = status
        self.text = text


# Codes of `Refused` that speak of the state of things, and of files that were not taken: with status 409 htmx
# leaves the page as it is, while the body of a 422 replaces the form.
_CONFLICTS = frozenset(
    {
        "account-active",
        "account-being-deleted",
        "account-inactive",
        "account-not-being-deleted",
        "account-not-waiting",
        "account-waiting",
        "admin-exists",
        "app-is-only-one",
        "bulk-action-unknown",
        "conversation-deleted",
        "conversation-gone",
        "fact-archived",
        "fact-gone",
        "fact-known",
        "fact-not-archived",
        "fact-superseded",
        "facts-gone",
        "file-too-large",
        "file-too-large-on-server",
        "history-point-unknown",
        "history-text-erased",
        "import-lost",
        "invitation-gone",
        "invitations-all-used",
        "last-admin",
        "no-facts-chosen",
        "no-file-chosen",
        "nothing-to-forget",
        "pins-all-used",
        "pins-too-few",
        "reply-not-last",
        "reply-replaced",
        "several-people",
    }
)


def status_of(error: AppError) -> int:
    """Return the status of a page: 409 where the state forbids a request, 422 where its content is wrong.

    429 stands for a person's limits, 503 for a model that cannot be used and for too many requests.
    """
    if isinstance(error, QuotaExceeded):
        return 429
    if isinstance(error, ProviderError | Overloaded):
        return 503
    state = isinstance(error, Busy | PendingDeletion | TooLateToUndo | VersionConflict)
    return 409 if state or error.code in _CONFLICTS else 422
