"""Finds model servers of other programs on this machine, by GET requests to their usual ports.

Standard library only, because `start` looks before anything is installed. Nothing is chosen here.
"""

import json
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError

from .env import BadValue

# Seconds that a search takes at most, all programs together.
PATIENCE_SECONDS = 1.0
_MAX_BYTES = 1_000_000
_LONGEST_NAME = 200
# In the names of the architectures of models that compute embeddings, which cannot chat.
_EMBEDDING = "bert"
# Where Ollama runs its cloud models.
OLLAMA_CLOUD = "ollama.com"


@dataclass(frozen=True)
class Program:
    """A program that serves models: its name for `--use`, what people call it, and its usual port."""

    name: str
    title: str
    port: int

    @property
    def root(self) -> str:
        """The address of its usual port, without a path."""
        return f"http://127.0.0.1:{self.port}"


OLLAMA = Program("ollama", "Ollama", 11434)
LM_STUDIO = Program("lmstudio", "LM Studio", 1234)
LLAMA_SERVER = Program("llama-server", "llama-server", 8080)
JAN = Program("jan", "Jan", 1337)
VLLM = Program("vllm", "vLLM", 8000)
PROGRAMS = (OLLAMA, LM_STUDIO, LLAMA_SERVER, JAN, VLLM)
# Programs at ports that few others use.
_PORTS_OF_THEIR_OWN = (LM_STUDIO.name, JAN.name)


@dataclass(frozen=True)
class FoundModel:
    """A model of a found server. `leaves`: prompts for it leave this machine, as those of Ollama's cloud."""

    name: str
    leaves: bool = False


@dataclass(frozen=True)
class FoundServer:
    """A program that answers at its usual port, with its models.

    `needs_key`: it lists them only for a request with a key.
    """

    program: Program
    models: tuple[FoundModel, ...] = ()
    needs_key: bool = False


# What reading the answer of another program raises.
_NOT_ITS_ANSWER = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


class _Refused(Exception):
    """The server wants a key."""


def find_servers(own_port: int = 0) -> list[FoundServer]:
    """Return the servers that answer within a second and offer a model or ask for a key.

    `own_port` is not asked, because this program itself answers there; 0 asks all. Blocks for a second at
    most.
    """
    asked = [program for program in PROGRAMS if program.port != own_port]
    found: dict[Program, FoundServer] = {}

    def ask(program: Program) -> None:
        answer = look_at(program, program.root)
        if answer is not None and (answer.models or answer.needs_key):
            found[program] = answer

    # Daemons: a server that never ends its answer must not hold this process back.
    threads = [threading.Thread(target=ask, args=(program,), daemon=True) for program in asked]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + PATIENCE_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return [found[program] for program in asked if program in found]


def look_at(program: Program, root: str) -> FoundServer | None:
    """Return the server at an address without a path if it is this program, else None.

    Blocks for a second per answer at most, and longer where one comes in small pieces.
    """
    try:
        models = [model for model in _READERS[program.name](root) if _is_name(model.name)]
        return FoundServer(program, tuple(models))
    except _Refused:
        # Many programs ask for a key, so elsewhere a refusal tells nothing.
        return FoundServer(program, needs_key=True) if program.name in _PORTS_OF_THEIR_OWN else None
    except (OSError, HTTPException, *_NOT_ITS_ANSWER):
        return None


def is_other_program(program: Program, root: str) -> bool:
    """Return whether something else answers at an address; False where nothing does, or nothing in time.

    An answer that asks for a key tells too little, and counts as the program's own. Blocks as `look_at` does.
    """
    try:
        _READERS[program.name](root)
    except _NOT_ITS_ANSWER:
        return True
    except HTTPError as error:
        return error.code < HTTPStatus.INTERNAL_SERVER_ERROR
    except (OSError, HTTPException, _Refused):
        return False
    return False


def is_cloud_model(name: str) -> bool:
    """Return whether Ollama's name of a model, such as "gpt-oss:120b-cloud", is that of a cloud model."""
    return name.endswith(("-cloud", ":cloud"))


def find_program(name: str) -> Program | None:
    """Return the program with this name, None for an unknown one."""
    return next((program for program in PROGRAMS if program.name == name), None)


def parse_use(text: str) -> tuple[Program, str]:
    """Return the program and the model of `--use PROGRAM[:MODEL]`, "" for no model; raises BadValue."""
    name, _, model = text.strip().partition(":")
    program = find_program(name)
    if program is None:
        known = ", ".join(program.name for program in PROGRAMS)
        raise BadValue(f"--use {text} names no program that is known here. Known are: {known}.")
    return program, model


def choose_model(found: FoundServer | None, program: Program, wanted: str) -> FoundModel:
    """Return the wanted model of a found server, the only one for "". Raises BadValue with the reason."""
    if found is None:
        raise BadValue(
            f"{program.title} does not answer at {program.root}. Start it, or leave --use {program.name} out."
        )
    if found.needs_key:
        raise BadValue(
            f"{program.title} asks for a key. Start without --use, and give address and key in "
            "Settings → Model."
        )
    names = ", ".join(model.name for model in found.models)
    if not found.models:
        raise BadValue(f"{program.title} has no model for a chat. Fetch one there first.")
    if not wanted and len(found.models) > 1:
        raise BadValue(f"{program.title} has several models. Name one: --use {program.name}:MODEL. ({names})")
    for model in found.models:
        # Ollama completes a name without a tag by this tag.
        if not wanted or model.name in (wanted, f"{wanted}:latest"):
            return model
    raise BadValue(f"{program.title} has no model “{wanted}”. It has: {names}.")


def _is_name(text: str) -> bool:
    """Return whether a model's name can be shown: a program may call one anything."""
    return 0 < len(text) <= _LONGEST_NAME and text.isprintable()


def _read_ollama(root: str) -> list[FoundModel]:
    _get(f"{root}/api/version")["version"]
    return [
        FoundModel(name, leaves=bool(entry.get("remote_host")) or is_cloud_model(name))
        for entry in _get(f"{root}/api/tags")["models"] or ()
        for name in [str(entry["name"])]
        if _EMBEDDING not in str((entry.get("details") or {}).get("family"))
    ]


def _read_lm_studio(root: str) -> list[FoundModel]:
    return [
        FoundModel(str(entry["id"]))
        for entry in _get(f"{root}/api/v0/models")["data"]
        if entry["type"] in ("llm", "vlm")
    ]


def _read_owned_by(owner: str) -> Callable[[str], list[FoundModel]]:
    def read(root: str) -> list[FoundModel]:
        entries = _get(f"{root}/v1/models")["data"]
        if entries and not any(entry.get("owned_by") == owner for entry in entries):
            raise ValueError("it is another program")
        return [FoundModel(str(entry["id"])) for entry in entries]

    return read


def _read_jan(root: str) -> list[FoundModel]:
    return [FoundModel(str(entry["id"])) for entry in _get(f"{root}/v1/models")["data"]]


_READERS: dict[str, Callable[[str], list[FoundModel]]] = {
    OLLAMA.name: _read_ollama,
    LM_STUDIO.name: _read_lm_studio,
    LLAMA_SERVER.name: _read_owned_by("llamacpp"),
    JAN.name: _read_jan,
    VLLM.name: _read_owned_by("vllm"),
}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow no redirect: it could lead away from this machine."""


# Without the proxies of the environment, which could be on another machine.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)


def _get(url: str) -> Any:
    try:
        with _opener.open(url, timeout=PATIENCE_SECONDS) as answer:
            content = answer.read(_MAX_BYTES)
    except HTTPError as error:
        error.close()
        if error.code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise _Refused from error
        raise
    return json.loads(content)
