"""What a model server can do, as `server_probe` found it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from chat.llm.roles import RoleSupport

from .requests import Dialect

# The window in tokens of servers that do not report one: a common size.
UNKNOWN_WINDOW = 8192
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
    `embeddings` the size of its vectors (0 without), and `reported_model` the model's name in its answers.
    """

    kind: Literal["llama-server", "ollama", "vllm", "other"] = "other"
    model: str = ""
    window: int = UNKNOWN_WINDOW
    offered: int = 0
    constraint: ConstraintSupport = ConstraintSupport.NONE
    counts_tokens: bool = False
    embeddings: int = 0
    slots: int = 2
    control_tokens: frozenset[str] = COMMON_CONTROL_TOKENS
    writes_reasoning: bool = False
    template_opens_reasoning: bool = False
    roles: RoleSupport = field(default_factory=RoleSupport)
    reported_model: str = ""
    dialect: Dialect = field(default_factory=Dialect)
