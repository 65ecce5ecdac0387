"""Probes what a model server can do. Claims of a server are not trusted: each ability is tried."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from typing import Any

from chat.errors import ModelNotReady, ProviderError, ServerRefused
from chat.llm.roles import RoleSupport, probe_roles, probe_roles_by_size

from .constrained import json_schema_format
from .counting import apply_template
from .events import Json, ReasoningFilter, get_choice, get_message, get_text, has_reasoning, positive_int
from .protocol import (
    COMMON_CONTROL_TOKENS,
    UNKNOWN_WINDOW,
    VLLM_SLOTS,
    Capabilities,
    ConstraintSupport,
    Dialect,
)
from .transport import Transport

logger = logging.getLogger(__name__)

# The window in tokens of an Ollama that does not report one: its own default.
_OLLAMA_WINDOW = 4096
# The default limit of a window: a hosted server evaluates, and bills, the whole prompt again for each reply.
MAX_DEFAULT_WINDOW = 32_768
# The version of vLLM that knows `cache_salt`; earlier ones ignore it.
_SALT_SINCE = (0, 9)
# The server may have to load the model from disk first.
_TRY_SECONDS = 300.0
_COLOUR = "violet"
_GREET = [{"role": "system", "content": "You answer briefly."}, {"role": "user", "content": "Say hello."}]
_CONTROL_TOKEN = re.compile(r"<\|[^|<>\s]{1,40}\|>|</?[a-z]+(?:_[a-z]+)+>|\[/?[A-Z_]{3,}\]")


def probe(transport: Transport, model: str, window: int) -> Capabilities:
    """Return the capabilities of a server for a model ("" for its first) and a window (0 for the offered
    one).

    Blocks for several short answers, and longer where the server loads the model first. Raises ProviderError.
    """
    chosen, entry = _choose_model(_list_models(transport, named=bool(model)), model)
    found = _identify_server(transport, chosen, entry)
    found = replace(
        found, window=_limit_window(found, window), counts_tokens=_can_count_tokens(transport, found)
    )
    found = _learn_dialect(transport, found)
    found = replace(found, roles=_find_roles(transport, found))
    return replace(
        found,
        constraint=_find_constraint(transport, found),
        embeddings=_find_embedding_size(transport, found),
    )


def _list_models(transport: Transport, *, named: bool) -> list[Json]:
    """Return the models that a server lists; [] for a server without a list if the model is named."""
    try:
        answer = transport.get(f"{transport.address.api}/models")
    except ServerRefused as refusal:
        if refusal.status not in (404, 405, 501):
            raise
        if named:
            return []
        raise ProviderError("server-not-a-model-server") from refusal
    # Some servers send the bare list; Ollama sends null for an empty one.
    entries = answer.get("data", 0) if isinstance(answer, dict) else answer
    entries = [] if entries is None else entries
    if not isinstance(entries, list):
        raise ProviderError("server-not-a-model-server")
    listed = [entry for entry in entries if isinstance(entry, dict) and "id" in entry]
    if entries and not listed:
        raise ProviderError("server-not-a-model-server")
    return listed


def _choose_model(listed: list[Json], model: str) -> tuple[str, Json]:
    """Return the name of the model and its entry in the list, {} for a model without an entry."""
    if not model and not listed:
        raise ProviderError("server-without-models")
    # Ollama completes a name without a tag by this tag.
    for name in (model, f"{model}:latest") if model else (listed[0]["id"],):
        for entry in listed:
            if entry["id"] == name:
                return str(name), entry
    if listed and not any(model in (entry.get("aliases") or ()) for entry in listed):
        raise ProviderError("server-model-unknown")
    return model, {}


def _identify_server(transport: Transport, model: str, entry: Json) -> Capabilities:
    """Return what the server reports through the endpoints of its own kind."""
    if entry.get("owned_by") == "llamacpp" or not entry:
        props = _request_optional(transport, "GET", f"{transport.address.root}/props")
        if isinstance(settings := props.get("default_generation_settings"), dict):
            offered = positive_int(settings.get("n_ctx")) or positive_int(_get_nested(entry, "meta", "n_ctx"))
            control_tokens = {str(props.get(name) or "") for name in ("bos_token", "eos_token")}
            control_tokens |= set(_CONTROL_TOKEN.findall(str(props.get("chat_template", ""))))
            return Capabilities(
                "llama-server",
                model,
                offered=offered,
                slots=max(1, positive_int(props.get("total_slots"))),
                control_tokens=COMMON_CONTROL_TOKENS | (control_tokens - {""}),
            )
    offered = positive_int(entry.get("max_model_len"))
    if offered or entry.get("owned_by") == "vllm":
        version = _request_optional(transport, "GET", f"{transport.address.root}/version").get("version")
        if version or entry.get("owned_by") == "vllm":
            knows_salt = _parse_version(version) >= _SALT_SINCE
            return Capabilities("vllm", model, offered=offered, slots=VLLM_SLOTS, knows_salt=knows_salt)
        return Capabilities("other", model, offered=offered)
    if (
        _request_optional(transport, "GET", f"{transport.address.root}/api/version").get("version")
        and transport.address.private
    ):
        return Capabilities("ollama", model, offered=_ollama_window(transport, model))
    return Capabilities("other", model, offered=positive_int(entry.get("context_length")))


def _parse_version(version: Any) -> tuple[int, int]:
    """Return the first two numbers of a version such as "0.11.2", (0, 0) where it cannot be read."""
    numbers = re.match(r"(\d{1,4})\.(\d{1,4})", str(version or ""), re.ASCII)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def _ollama_window(transport: Transport, model: str) -> int:
    """Return the window that Ollama runs a model with: /v1 ignores `num_ctx` and silently truncates."""
    shown = _request_optional(transport, "POST", f"{transport.address.root}/api/show", {"model": model})
    trained = [
        positive_int(v) for k, v in (shown.get("model_info") or {}).items() if k.endswith(".context_length")
    ]
    set_by_file = re.search(r"^num_ctx\s+(\d+)", str(shown.get("parameters") or ""), re.M)
    loaded = _request_optional(transport, "GET", f"{transport.address.root}/api/ps").get("models") or []
    runs = [positive_int(m.get("context_length")) for m in loaded if m.get("model") == model]
    window = int(set_by_file[1]) if set_by_file else next(filter(None, runs), _OLLAMA_WINDOW)
    return min([window, *filter(None, trained)])


def _limit_window(found: Capabilities, wanted: int) -> int:
    offered = found.offered or wanted or UNKNOWN_WINDOW
    return min(offered, wanted or MAX_DEFAULT_WINDOW)


def _can_count_tokens(transport: Transport, found: Capabilities) -> bool:
    """Return whether the server counts tokens, chat template included."""
    if found.kind != "llama-server":
        return False
    rendered = _request_optional(
        transport, "POST", f"{transport.address.root}/apply-template", {"messages": _GREET[1:]}
    )
    tokenized = _request_optional(
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
    reasoning = ReasoningFilter()
    text = get_text(message)
    reasoning.take(text)
    opens_reasoning = "</think>" in text and not reasoning.found
    return replace(
        found,
        dialect=dialect,
        writes_reasoning=reasoning.found or opens_reasoning or has_reasoning(message),
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
        return positive_int(_get_nested(answer, "usage", "prompt_tokens"))

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
    reasoning = ReasoningFilter(opened=found.template_opens_reasoning)
    text = reasoning.take(text) + reasoning.finish()
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
    data = _request_optional(transport, "POST", f"{transport.address.api}/embeddings", body).get("data")
    first = data[0] if isinstance(data, list) and data else None
    vector = first.get("embedding") if isinstance(first, dict) else None
    return len(vector) if isinstance(vector, list) else 0


def _request_optional(transport: Transport, method: str, url: str, body: Json | None = None) -> Json:
    """Return the answer of an optional endpoint, {} where the server lacks it; raises ModelNotReady."""
    try:
        answer = transport.get(url) if method == "GET" else transport.post(url, body or {})
    except ModelNotReady:
        raise
    except ProviderError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _get_nested(found: Any, *names: str) -> Any:
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found
