"""What a model server says about itself, which costs no answer of it. `server_probe` tries the rest."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from chat.errors import ModelNotReady, ProviderError, ServerRefused
from memoryapp.base.local_servers import OLLAMA_CLOUD, is_cloud_model

from .events import Json, positive_int
from .protocol import COMMON_CONTROL_TOKENS, UNKNOWN_WINDOW, VLLM_SLOTS, Capabilities
from .transport import Transport

# The window in tokens of an Ollama that does not report one: its own default.
_OLLAMA_WINDOW = 4096
# The default limit of a window: a hosted server evaluates, and bills, the whole prompt again for each reply.
MAX_DEFAULT_WINDOW = 32_768
# The version of vLLM that knows `cache_salt`; earlier ones ignore it.
_SALT_SINCE = (0, 9)
_CONTROL_TOKEN = re.compile(r"<\|[^|<>\s]{1,40}\|>|</?[a-z]+(?:_[a-z]+)+>|\[/?[A-Z_]{3,}\]")
# Properties of a model in a list that differ from answer to answer.
_CHANGING = {"created", "permission", "status"}
_PROPS_OF_MODEL = ("build_info", "chat_template", "model_path", "total_slots")


def identify(transport: Transport, model: str, window: int) -> Capabilities:
    """Return what a server says about a model ("" for its first) and a window (0 for the offered one).

    `mark` is equal where all of that is. Raises ProviderError.
    """
    chosen, entry = _choose_model(_list_models(transport, named=bool(model)), model)
    said = _identify_server(transport, chosen, entry)
    mark = _digest(said.kind, said.mark, said.offered, {k: v for k, v in entry.items() if k not in _CHANGING})
    return replace(said, window=_limit_window(said, window), mark=mark)


def _digest(*parts: Any) -> str:
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=16).hexdigest()


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
        props = request_optional(transport, "GET", f"{transport.address.root}/props")
        if isinstance(settings := props.get("default_generation_settings"), dict):
            offered = positive_int(settings.get("n_ctx")) or positive_int(get_nested(entry, "meta", "n_ctx"))
            control_tokens = {str(props.get(name) or "") for name in ("bos_token", "eos_token")}
            control_tokens |= set(_CONTROL_TOKEN.findall(str(props.get("chat_template", ""))))
            return Capabilities(
                "llama-server",
                model,
                offered=offered,
                slots=max(1, positive_int(props.get("total_slots"))),
                control_tokens=COMMON_CONTROL_TOKENS | (control_tokens - {""}),
                mark=_digest([props.get(name) for name in _PROPS_OF_MODEL]),
            )
    offered = positive_int(entry.get("max_model_len"))
    if offered or entry.get("owned_by") == "vllm":
        version = request_optional(transport, "GET", f"{transport.address.root}/version").get("version")
        if version or entry.get("owned_by") == "vllm":
            knows_salt = _parse_version(version) >= _SALT_SINCE
            return Capabilities(
                "vllm",
                model,
                offered=offered,
                slots=VLLM_SLOTS,
                knows_salt=knows_salt,
                mark=_digest(version),
            )
        return Capabilities("other", model, offered=offered)
    if (
        request_optional(transport, "GET", f"{transport.address.root}/api/version").get("version")
        and transport.address.private
    ):
        shown = request_optional(transport, "POST", f"{transport.address.root}/api/show", {"model": model})
        offered = _ollama_window(transport, model, shown)
        return Capabilities("ollama", model, offered=offered, forwards_to=_find_cloud(model, shown))
    return Capabilities("other", model, offered=positive_int(entry.get("context_length")))


def _parse_version(version: Any) -> tuple[int, int]:
    """Return the first two numbers of a version such as "0.11.2", (0, 0) where it cannot be read."""
    numbers = re.match(r"(\d{1,4})\.(\d{1,4})", str(version or ""), re.ASCII)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def _find_cloud(model: str, shown: Json) -> str:
    """Return the host that Ollama sends prompts for this model to, "" for a model that it runs itself."""
    remote = str(shown.get("remote_host") or "")
    if not remote and not is_cloud_model(model):
        return ""
    try:
        return urlsplit(remote).hostname or OLLAMA_CLOUD
    except ValueError:
        return OLLAMA_CLOUD


def _ollama_window(transport: Transport, model: str, shown: Json) -> int:
    """Return the window that Ollama runs a model with: /v1 ignores `num_ctx` and silently truncates."""
    trained = [
        positive_int(v) for k, v in (shown.get("model_info") or {}).items() if k.endswith(".context_length")
    ]
    set_by_file = re.search(r"^num_ctx\s+(\d+)", str(shown.get("parameters") or ""), re.M)
    loaded = request_optional(transport, "GET", f"{transport.address.root}/api/ps").get("models") or []
    runs = [positive_int(m.get("context_length")) for m in loaded if m.get("model") == model]
    window = int(set_by_file[1]) if set_by_file else next(filter(None, runs), _OLLAMA_WINDOW)
    return min([window, *filter(None, trained)])


def _limit_window(found: Capabilities, wanted: int) -> int:
    offered = found.offered or wanted or UNKNOWN_WINDOW
    return min(offered, wanted or MAX_DEFAULT_WINDOW)


def request_optional(transport: Transport, method: str, url: str, body: Json | None = None) -> Json:
    """Return the answer of an optional endpoint, {} where the server lacks it; raises ModelNotReady."""
    try:
        answer = transport.get(url) if method == "GET" else transport.post(url, body or {})
    except ModelNotReady:
        raise
    except ProviderError:
        return {}
    return answer if isinstance(answer, dict) else {}


def get_nested(found: Any, *names: str) -> Any:
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found
