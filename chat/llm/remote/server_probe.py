"""Probes what a model server can do. Claims of a server are not trusted: each ability is tried."""

from __future__ import annotations

import logging
import re
from dataclasses import replace

from chat.errors import ProviderError, ServerRefused
from chat.llm.reasoning import ReasoningSeparator
from chat.llm.roles import RoleSupport, probe_roles, probe_roles_by_size

from .constrained import json_schema_format
from .counting import apply_template
from .events import Json, get_choice, get_message, get_reasoning, get_text, positive_int
from .protocol import Capabilities, ConstraintSupport, Dialect
from .server_identity import get_nested, request_optional
from .transport import Transport

logger = logging.getLogger(__name__)

# The server may have to load the model from disk first.
_TRY_SECONDS = 300.0
_COLOUR = "violet"
_GREET = [{"role": "system", "content": "You answer briefly."}, {"role": "user", "content": "Say hello."}]


def probe(transport: Transport, said: Capabilities) -> Capabilities:
    """Return the capabilities of a server by what it says about itself (`server_identity.identify`).

    Blocks for several short answers, and longer where the server loads the model first. Raises ProviderError.
    """
    found = replace(said, counts_tokens=_can_count_tokens(transport, said))
    found = _learn_dialect(transport, found)
    found = replace(found, roles=_find_roles(transport, found))
    return replace(
        found,
        constraint=_find_constraint(transport, found),
        embeddings=_find_embedding_size(transport, found),
    )


def _can_count_tokens(transport: Transport, found: Capabilities) -> bool:
    """Return whether the server counts tokens, chat template included."""
    if found.kind != "llama-server":
        return False
    rendered = request_optional(
        transport, "POST", f"{transport.address.root}/apply-template", {"messages": _GREET[1:]}
    )
    tokenized = request_optional(
        transport, "POST", f"{transport.address.root}/tokenize", {"content": "one two three"}
    )
    return isinstance(rendered.get("prompt"), str) and bool(tokenized.get("tokens"))


def _learn_dialect(transport: Transport, found: Capabilities) -> Capabilities:
    """Request a few words, to learn the server's dialect and whether the model writes its reasoning."""
    try:
        dialect, answer = _try(transport, found, {"messages": _GREET, "max_tokens": 16})
    except ServerRefused as refusal:
        if "system" not in refusal.text.lower() and "role" not in refusal.text.lower():
            raise
        found = replace(found, roles=RoleSupport(system=False))
        dialect, answer = _try(transport, found, {"messages": _GREET[1:], "max_tokens": 16})
    message = get_message(answer)
    separator = ReasoningSeparator()
    text = get_text(message)
    separator.take(text)
    opens_reasoning = "</think>" in text and not separator.found
    return replace(
        found,
        dialect=dialect,
        writes_reasoning=separator.found or opens_reasoning or bool(get_reasoning(message)),
        template_opens_reasoning=opens_reasoning,
        reported_model=str(answer.get("model", "")),
    )


def _find_roles(transport: Transport, found: Capabilities) -> RoleSupport:
    """Return which roles the server's chat template supports."""
    if found.counts_tokens:
        rendered = probe_roles(lambda messages: apply_template(transport, messages), object_arguments=False)
        return replace(rendered, system=rendered.system and found.roles.system)

    def count(messages: list[Json]) -> int:
        _dialect, answer = _try(transport, found, {"messages": messages, "max_tokens": 16})
        return positive_int(get_nested(answer, "usage", "prompt_tokens"))

    return probe_roles_by_size(count, system=found.roles.system)


def _find_constraint(transport: Transport, found: Capabilities) -> ConstraintSupport:
    """Return the strictest constraint that the server obeys; each is tried with an unlikely word."""
    if found.kind == "llama-server" and _obeys_constraint(
        transport, found, {"grammar": f'root ::= "{_COLOUR}"'}, _COLOUR
    ):
        return ConstraintSupport.GRAMMAR
    for constraint, kind in (
        (ConstraintSupport.PATTERN, {"type": "string", "pattern": f"^({_COLOUR}|{_COLOUR}s)$"}),
        (ConstraintSupport.SCHEMA, {"type": "string", "enum": [_COLOUR, f"{_COLOUR}s"]}),
    ):
        if _obeys_constraint(
            transport, found, {"response_format": json_schema_format(kind)}, f'{{"answer":"{_COLOUR}'
        ):
            return constraint
    return ConstraintSupport.NONE


def _obeys_constraint(
    transport: Transport, found: Capabilities, constraint_body: Json, expected_start: str
) -> bool:
    max_tokens = 24 + (found.dialect.reasoning_tokens if found.writes_reasoning else 0)
    messages = _GREET if found.roles.system else _GREET[1:]
    try:
        _manner, answer = _try(
            transport, found, {"messages": messages, "max_tokens": max_tokens, **constraint_body}
        )
    except ServerRefused:
        return False
    text = get_text(get_message(answer))
    separator = ReasoningSeparator(found.opened_reasoning_tag)
    text = separator.take(text)[1] + separator.finish()[1]
    return re.sub(r"\s", "", text).startswith(expected_start)


def _try(transport: Transport, found: Capabilities, body: Json) -> tuple[Dialect, Json]:
    """Return the dialect that works, and the answer to a request in it; raises ServerRefused."""
    dialect = found.dialect
    url = f"{transport.address.api}/chat/completions"
    while True:
        translated = dialect.translate({"model": found.model, "temperature": 0, **body})
        try:
            answer = transport.post(url, translated, seconds=_TRY_SECONDS)
        except ServerRefused as refusal:
            changed = dialect.adapt_to(refusal, translated)
            if changed is None:
                raise
            dialect = changed
            continue
        if not isinstance(answer, dict) or not get_choice(answer):
            raise ProviderError("server-not-a-model-server")
        return dialect, answer


def _find_embedding_size(transport: Transport, found: Capabilities) -> int:
    """Return the size of the server's embedding vectors, 0 without any. It is only shown to the user."""
    body = {"model": found.model, "input": "hello"}
    data = request_optional(transport, "POST", f"{transport.address.api}/embeddings", body).get("data")
    first = data[0] if isinstance(data, list) and data else None
    vector = first.get("embedding") if isinstance(first, dict) else None
    return len(vector) if isinstance(vector, list) else 0
