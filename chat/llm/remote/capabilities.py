"""What a server can do, found out by asking it (design §4): what it claims is not relied on, but tried."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Literal

from chat.llm.types import ModelNotReady, ProviderError

from . import troubles
from .events import Json, choice_of, is_thought, message_of, number, text_of
from .manner import Manner
from .thinking import Thoughts
from .wire import Wire

logger = logging.getLogger(__name__)

# Where a server does not say: Ollama's own default, and what any server of the last years has.
_OLLAMA_WINDOW, _UNKNOWN_WINDOW = 4096, 8192
# Of a larger window only so much is used unless the owner asks for more: it is all read, and paid for, anew.
MOST_WINDOW = 32_768
# The model may have to be read from disk first.
_TRY_SECONDS = 300.0
_COLOUR = "violet"
_GREET = [{"role": "system", "content": "You answer briefly."}, {"role": "user", "content": "Say hello."}]
# Template marks that user text must not be taken for, whatever the model: all of the form <|…|>, and these.
_COMMON_MARKS = frozenset(
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
_MARK = re.compile(r"<\|[^|<>\s]{1,40}\|>|</?[a-z]+(?:_[a-z]+)+>|\[/?[A-Z_]{3,}\]")


class Binding(IntEnum):
    """How strictly an answer can be held to a form; each can do what the ones before it can."""

    NONE = 0
    SCHEMA = 1  # a JSON schema with a list of words
    PATTERN = 2  # one with regular expressions too
    GRAMMAR = 3  # GBNF, as llama.cpp has it


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the probe found; `window` is what is used, `offered` what the server has, 0 where it is silent."""

    kind: Literal["llama-server", "ollama", "vllm", "other"] = "other"
    model: str = ""
    window: int = _UNKNOWN_WINDOW
    offered: int = 0
    binding: Binding = Binding.NONE
    counts: bool = False
    embeddings: int = 0
    places: int = 2
    marks: frozenset[str] = _COMMON_MARKS
    thinks: bool = False
    opens_thought: bool = False
    takes_system: bool = True
    answers_as: str = ""
    manner: Manner = field(default_factory=Manner)


def probe(wire: Wire, model: str, window: int) -> Capabilities:
    """Ask a server all of it: `model` "" takes its first, `window` 0 what it offers. Raises ProviderError.

    Blocks for the length of some short answers, longer where the model has to be loaded first.
    """
    chosen, entry = _chosen(_listed(wire, named=bool(model)), model)
    found = _of_kind(wire, chosen, entry)
    found = replace(found, window=_window(found, window), counts=_counts(wire, found))
    found = _greeted(wire, found)
    return replace(found, binding=_binding(wire, found), embeddings=_embeddings(wire, found))


def _listed(wire: Wire, *, named: bool) -> list[Json]:
    """Return the models that a server lists; one whose model was named need not have a list."""
    try:
        answer = wire.get(f"{wire.address.api}/models")
    except troubles.Refusal as refusal:
        if refusal.status not in (404, 405, 501):
            raise
        if named:
            return []
        raise ProviderError(troubles.NO_SENSE) from refusal
    # Some send the bare list, and Ollama nothing at all for an empty one.
    entries = answer.get("data", 0) if isinstance(answer, dict) else answer
    entries = [] if entries is None else entries
    if not isinstance(entries, list):
        raise ProviderError(troubles.NO_SENSE)
    listed = [entry for entry in entries if isinstance(entry, dict) and "id" in entry]
    if entries and not listed:
        raise ProviderError(troubles.NO_SENSE)
    return listed


def _chosen(listed: list[Json], model: str) -> tuple[str, Json]:
    """Return the name of the model that is used and what the list says of it, {} where it says nothing."""
    if not model and not listed:
        raise ProviderError(troubles.NO_MODEL)
    # Ollama takes a name without its tag for the one with this tag.
    for name in (model, f"{model}:latest") if model else (listed[0]["id"],):
        for entry in listed:
            if entry["id"] == name:
                return str(name), entry
    if listed and not any(model in (entry.get("aliases") or ()) for entry in listed):
        raise ProviderError(troubles.NO_SUCH_MODEL)
    return model, {}


def _of_kind(wire: Wire, model: str, entry: Json) -> Capabilities:
    """Return what the server says of itself in its own tongue."""
    if entry.get("owned_by") == "llamacpp" or not entry:
        props = _asked(wire, "GET", f"{wire.address.root}/props")
        if isinstance(settings := props.get("default_generation_settings"), dict):
            offered = number(settings.get("n_ctx")) or number(_within(entry, "meta", "n_ctx"))
            marks = {str(props.get(name) or "") for name in ("bos_token", "eos_token")}
            marks |= set(_MARK.findall(str(props.get("chat_template", ""))))
            return Capabilities(
                "llama-server",
                model,
                offered=offered,
                places=max(1, number(props.get("total_slots"))),
                marks=_COMMON_MARKS | (marks - {""}),
            )
    if number(entry.get("max_model_len")):
        return Capabilities("vllm", model, offered=number(entry["max_model_len"]))
    if _asked(wire, "GET", f"{wire.address.root}/api/version").get("version") and wire.address.private:
        return Capabilities("ollama", model, offered=_ollama_window(wire, model))
    return Capabilities("other", model, offered=number(entry.get("context_length")))


def _ollama_window(wire: Wire, model: str) -> int:
    """Return the window that Ollama runs a model with: over /v1 it takes no `num_ctx` and cuts in silence."""
    shown = _asked(wire, "POST", f"{wire.address.root}/api/show", {"model": model})
    trained = [number(v) for k, v in (shown.get("model_info") or {}).items() if k.endswith(".context_length")]
    set_by_file = re.search(r"^num_ctx\s+(\d+)", str(shown.get("parameters") or ""), re.M)
    loaded = _asked(wire, "GET", f"{wire.address.root}/api/ps").get("models") or []
    runs = [number(m.get("context_length")) for m in loaded if m.get("model") == model]
    window = int(set_by_file[1]) if set_by_file else next(filter(None, runs), _OLLAMA_WINDOW)
    return min([window, *filter(None, trained)])


def _window(found: Capabilities, wanted: int) -> int:
    offered = found.offered or wanted or _UNKNOWN_WINDOW
    return min(offered, wanted or MOST_WINDOW)


def _counts(wire: Wire, found: Capabilities) -> bool:
    """Return whether the server counts tokens for us, template included."""
    if found.kind != "llama-server":
        return False
    rendered = _asked(wire, "POST", f"{wire.address.root}/apply-template", {"messages": _GREET[1:]})
    told = _asked(wire, "POST", f"{wire.address.root}/tokenize", {"content": "one two three"})
    return isinstance(rendered.get("prompt"), str) and bool(told.get("tokens"))


def _greeted(wire: Wire, found: Capabilities) -> Capabilities:
    """Have a few words written, to learn how requests must be worded and whether the model thinks aloud."""
    try:
        manner, answer = _try(wire, found, {"messages": _GREET, "max_tokens": 16})
    except troubles.Refusal as refusal:
        if "system" not in refusal.text.lower() and "role" not in refusal.text.lower():
            raise
        found = replace(found, takes_system=False)
        manner, answer = _try(wire, found, {"messages": _GREET[1:], "max_tokens": 16})
    message = message_of(answer)
    thoughts = Thoughts()
    text = text_of(message)
    thoughts.take(text)
    opens = "</think>" in text and not thoughts.any
    return replace(
        found,
        manner=manner,
        thinks=thoughts.any or opens or is_thought(message),
        opens_thought=opens,
        answers_as=str(answer.get("model", "")),
    )


def _binding(wire: Wire, found: Capabilities) -> Binding:
    """Return the strictest form that the server holds the model to, each tried with an unlikely word."""
    if found.kind == "llama-server" and _obeys(wire, found, {"grammar": f'root ::= "{_COLOUR}"'}, _COLOUR):
        return Binding.GRAMMAR
    for binding, kind in (
        (Binding.PATTERN, {"type": "string", "pattern": f"^({_COLOUR}|{_COLOUR}s)$"}),
        (Binding.SCHEMA, {"type": "string", "enum": [_COLOUR, f"{_COLOUR}s"]}),
    ):
        if _obeys(wire, found, {"response_format": schema(kind)}, f'{{"answer":"{_COLOUR}'):
            return binding
    return Binding.NONE


def schema(kind: Json) -> Json:
    """Return the response format of an object with one string `answer` of this kind."""
    return {
        "type": "json_schema",
        "json_schema": {
            "name": "answer",
            "strict": True,
            "schema": {
                "type": "object",
                "properties": {"answer": kind},
                "required": ["answer"],
                "additionalProperties": False,
            },
        },
    }


def _obeys(wire: Wire, found: Capabilities, bound: Json, begins: str) -> bool:
    room = 24 + (found.manner.thinking if found.thinks else 0)
    messages = _GREET if found.takes_system else _GREET[1:]
    try:
        _manner, answer = _try(wire, found, {"messages": messages, "max_tokens": room, **bound})
    except troubles.Refusal:
        return False
    text = text_of(message_of(answer))
    thoughts = Thoughts(opened=found.opens_thought)
    text = thoughts.take(text) + thoughts.rest()
    return re.sub(r"\s", "", text).startswith(begins)


def _try(wire: Wire, found: Capabilities, body: Json) -> tuple[Manner, Json]:
    """Return the answer to a request, worded anew where the server does not take a part of it."""
    manner = found.manner
    url = f"{wire.address.api}/chat/completions"
    while True:
        worded = manner.worded({"model": found.model, "temperature": 0, **body})
        try:
            answer = wire.post(url, worded, seconds=_TRY_SECONDS)
        except troubles.Refusal as refusal:
            changed = manner.after(refusal, worded)
            if changed is None:
                raise
            manner = changed
            continue
        if not isinstance(answer, dict) or not choice_of(answer):
            raise ProviderError(troubles.NO_SENSE)
        return manner, answer


def _embeddings(wire: Wire, found: Capabilities) -> int:
    """Return how many numbers the server's vectors have; 0 where it makes none. Memory uses its own."""
    body = {"model": found.model, "input": "hello"}
    data = _asked(wire, "POST", f"{wire.address.api}/embeddings", body).get("data")
    first = data[0] if isinstance(data, list) and data else None
    vector = first.get("embedding") if isinstance(first, dict) else None
    return len(vector) if isinstance(vector, list) else 0


def _asked(wire: Wire, method: str, url: str, body: Json | None = None) -> Json:
    """Return an answer that not every server has, {} where it has none."""
    try:
        answer = wire.get(url) if method == "GET" else wire.post(url, body or {})
    except ModelNotReady:
        raise
    except ProviderError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _within(found: Any, *names: str) -> Any:
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found
