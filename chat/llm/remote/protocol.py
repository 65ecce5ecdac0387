"""What a model server understands: its capabilities, its dialect of OpenAI's protocol, and calls in it.

`server_identity` and `server_probe` find the capabilities.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Literal

from chat.errors import ServerRefused
from chat.llm.roles import RoleSupport, adapt_turns, build_message
from chat.llm.template import break_control_tokens
from chat.llm.types import REASONING_TOKENS, Finish, GenerationOptions, StopFlag, Turn, Usage

from .events import Json
from .slots import SlotUse

if TYPE_CHECKING:
    from .constrained import OutputConstraint

# Parameters that a request can omit when a server rejects them.
_OPTIONAL = (
    *("temperature", "stream_options", "cache_prompt", "cache_salt", "id_slot"),
    *("chat_template_kwargs", "reasoning_effort"),
)


@dataclass(eq=False)
class RemoteCall:
    """One call and its state.

    `background` marks a whole answer, which is attempted again after pre-emption.
    """

    turns: Sequence[Turn]
    options: GenerationOptions
    background: bool = False
    constraint: OutputConstraint | None = None
    stop: StopFlag = field(init=False)
    # What the server of the last attempt could do then.
    found: Capabilities = field(default_factory=lambda: Capabilities())
    usage: Usage = field(default_factory=Usage)
    finish: Finish = "stop"
    began_monotonic: float = field(default_factory=time.monotonic)
    is_announced: bool = False

    def __post_init__(self) -> None:
        self.stop = self.options.stop or StopFlag()

    def announce_begin(self) -> None:
        """Announce that the call was admitted, at its first attempt."""
        if not self.is_announced:
            self.is_announced = True
            self.options.announce_begin()

    def record_piece(self) -> None:
        """Update the usage's seconds when a piece of text arrives."""
        self.usage.seconds = time.monotonic() - self.began_monotonic
        if self.usage.first_token_seconds is None:
            self.usage.first_token_seconds = self.usage.seconds


class RemoteStream:
    """The text of one reply; the request is sent when the iteration begins."""

    def __init__(self, call: RemoteCall, pieces: Callable[[RemoteCall], Iterator[str]]) -> None:
        self._call = call
        self._pieces = pieces

    @property
    def usage(self) -> Usage:
        """Return the cost of the reply so far."""
        return self._call.usage

    @property
    def finish(self) -> Finish:
        """Return why the reply ended."""
        return self._call.finish

    def __iter__(self) -> Iterator[str]:
        return self._pieces(self._call)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a server's requests differ from OpenAI's protocol, learned from what the server rejects.

    `omitted` are parameters that it does not accept. Newer models of OpenAI accept `max_completion_tokens`
    only. `reasoning_tokens` are allowed beside the reply for models that write their reasoning.
    """

    omitted: frozenset[str] = frozenset()
    uses_max_completion_tokens: bool = False
    reasoning_tokens: int = REASONING_TOKENS

    def translate(self, body: Json) -> Json:
        """Return the body of a request as this server accepts it."""
        translated = {name: value for name, value in body.items() if name not in self.omitted}
        if self.uses_max_completion_tokens and "max_tokens" in translated:
            translated["max_completion_tokens"] = translated.pop("max_tokens")
        return translated

    def adapt_to(self, refusal: ServerRefused, body: Json) -> Dialect | None:
        """Return the dialect without the parameter that was rejected, None where the refusal names no
        parameter.
        """
        if refusal.status not in (400, 422):
            return None
        if "max_completion_tokens" in refusal.text and "max_tokens" in body:
            return replace(self, uses_max_completion_tokens=True)
        for name in _OPTIONAL:
            if name in body and name in refusal.text:
                return replace(self, omitted=self.omitted | {name})
        return None


def build_body(call: RemoteCall, found: Capabilities, slot: SlotUse, salt_key: bytes) -> Json:
    """Return the body of a chat request.

    vLLM shares cached prefixes between prompts with the same salt only; `salt_key` makes that of each owner,
    so that nobody can guess one. A llama-server continues the prefix in `slot`, unless it is another owner's.
    """
    max_tokens = call.options.max_tokens + (call.constraint.extra_tokens if call.constraint else 0)
    body: Json = {
        "model": found.model,
        "messages": build_messages(found, call.turns),
        "max_tokens": max_tokens + (found.dialect.reasoning_tokens if found.writes_reasoning else 0),
        "temperature": call.options.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if found.kind == "llama-server":
        body["cache_prompt"] = slot.may_reuse
        if slot.number is not None:
            body["id_slot"] = slot.number
    if found.kind == "vllm":
        body["cache_salt"] = hashlib.blake2b(call.options.owner.encode(), key=salt_key).hexdigest()
    if found.can_reason:
        body |= _choose_reasoning(found, wanted=call.options.reasoning)
    if call.constraint is not None:
        body |= call.constraint.extra
    return found.dialect.translate(body)


def _choose_reasoning(found: Capabilities, *, wanted: bool) -> Json:
    """Return the parameter by which a server's model reasons or does not."""
    if found.kind == "ollama":
        return {} if wanted else {"reasoning_effort": "none"}
    return {"chat_template_kwargs": {"enable_thinking": wanted}}


def separates_owners(found: Capabilities, *, several_processes: bool) -> bool:
    """Return whether the server's cache never uses one owner's prefix for another owner's prompt.

    Which owner's prefix a slot of a llama-server holds is known only where no other process uses the server.
    """
    if found.kind == "llama-server":
        return not several_processes and not {"id_slot", "cache_prompt"} & found.dialect.omitted
    return found.knows_salt and "cache_salt" not in found.dialect.omitted


def build_messages(found: Capabilities, turns: Sequence[Turn]) -> list[Json]:
    """Return turns as messages in the roles that the server supports, with control tokens in texts broken."""
    clean = partial(break_control_tokens, control_tokens=found.control_tokens)
    adapted = adapt_turns(turns, found.roles)
    return [build_message(turn, clean(turn.content), found.roles, clean) for turn in adapted]


# The window in tokens of servers that do not report one: a common size.
UNKNOWN_WINDOW = 8192
# Calls at the same time of servers that do not report their number, and of vLLM, which batches many.
UNKNOWN_SLOTS, VLLM_SLOTS = 2, 64
# Control tokens of common chat templates, which must be broken in users' text; the probe finds others.
COMMON_CONTROL_TOKENS = frozenset(
    [
        "<s>",
        "</s>",
        "<bos>",
        "<eos>",
        "<start_of_turn>",
        "<end_of_turn>",
        "[INST]",
        "[/INST]",
        "<<SYS>>",
        "<</SYS>>",
    ]
)


class ConstraintSupport(IntEnum):
    """How a server can constrain an answer; each level includes the ones before it."""

    NONE = 0
    SCHEMA = 1  # a JSON schema with a list of texts
    PATTERN = 2  # a JSON schema with a regular expression
    GRAMMAR = 3  # GBNF, llama.cpp's notation


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the probe found.

    `window` is the window in tokens that is used, `offered` the one that the server reports (0 without),
    `slots` how many calls it works on at the same time, `embeddings` the size of its vectors (0 without),
    `knows_salt` whether it shares cached prefixes only between requests with one `cache_salt`,
    `forwards_to` the host that it sends prompts for this model to, such as Ollama's cloud ("" for none),
    `reported_model` the model's name in its answers, and `mark` a digest of what the server says about
    itself.
    """

    kind: Literal["llama-server", "ollama", "vllm", "other"] = "other"
    model: str = ""
    window: int = UNKNOWN_WINDOW
    offered: int = 0
    constraint: ConstraintSupport = ConstraintSupport.NONE
    counts_tokens: bool = False
    embeddings: int = 0
    slots: int = UNKNOWN_SLOTS
    knows_salt: bool = False
    forwards_to: str = ""
    control_tokens: frozenset[str] = COMMON_CONTROL_TOKENS
    writes_reasoning: bool = False
    template_opens_reasoning: bool = False
    roles: RoleSupport = field(default_factory=RoleSupport)
    reported_model: str = ""
    dialect: Dialect = field(default_factory=Dialect)
    mark: str = ""

    @property
    def opened_reasoning_tag(self) -> str:
        """Return the closing tag of the reasoning that the chat template opens, "" where it opens none."""
        return "</think>" if self.template_opens_reasoning else ""

    @property
    def can_reason(self) -> bool:
        """Return whether the model reasons, and the server can be told not to.

        A template that always opens the reasoning cannot be told.
        """
        return self.writes_reasoning and self.kind != "other" and not self.template_opens_reasoning

    def with_findings_of(self, known: Capabilities) -> Capabilities:
        """Return what a server says about itself, with what a probe of the same model has found by trying."""
        return replace(
            self,
            constraint=known.constraint,
            counts_tokens=known.counts_tokens,
            embeddings=known.embeddings,
            writes_reasoning=known.writes_reasoning,
            template_opens_reasoning=known.template_opens_reasoning,
            roles=known.roles,
            reported_model=known.reported_model,
            dialect=known.dialect,
        )
