"""Fake programs that serve models on this machine, each at a free port instead of its usual one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from memoryapp.base import local_servers
from tests.llm.remote.fake_server import FakeServer, chat_endpoint, run_fake_server

CLOUD: dict[str, Any] = {"name": "gpt-oss:120b-cloud", "remote_host": "https://ollama.com:443"}
OLLAMA_TAGS: dict[str, Any] = {
    "models": [
        {"name": "qwen3:4b", "details": {"family": "qwen3"}},
        {"name": "nomic-embed-text:latest", "details": {"family": "nomic-bert"}},
        CLOUD,
    ]
}
ANSWERS: dict[str, dict[str, Any]] = {
    "ollama": {
        "api__version": {"version": "0.12.6"},
        "api__tags": OLLAMA_TAGS,
        "api__show": lambda body: CLOUD if body["model"] == CLOUD["name"] else {"model_info": {}},
        "v1__models": {"data": [{"id": name, "owned_by": "library"} for name in ("qwen3:4b", CLOUD["name"])]},
    },
    "lmstudio": {
        "api__v0__models": {
            "data": [{"id": "qwen3-4b", "type": "llm"}, {"id": "nomic", "type": "embeddings"}]
        },
        "v1__models": {"data": [{"id": "qwen3-4b", "owned_by": "organization_owner"}]},
    },
    "llama-server": {"v1__models": {"data": [{"id": "fox.gguf", "owned_by": "llamacpp"}]}},
    "jan": {"v1__models": {"data": [{"id": "jan-v3-4b", "object": "model"}]}},
    "vllm": {"v1__models": {"data": [{"id": "Qwen/Qwen3-4B", "owned_by": "vllm"}]}},
}
RunProgram = Callable[..., FakeServer]


def make_runner(monkeypatch: pytest.MonkeyPatch) -> Iterator[RunProgram]:
    """Yield a function that runs a program with its usual answers or others; the rest are not running."""
    programs = {program.name: replace(program, port=1) for program in local_servers.PROGRAMS}

    def publish() -> None:
        monkeypatch.setattr(local_servers, "PROGRAMS", tuple(programs.values()))

    publish()
    with ExitStack() as stack:

        def run(name: str, *, reply: str = "Hello.", **answers: Any) -> FakeServer:
            paths = {"v1__chat__completions": chat_endpoint(reply), **(answers or ANSWERS[name])}
            server = stack.enter_context(run_fake_server(**paths))
            programs[name] = replace(programs[name], port=urlsplit(server.url).port)
            publish()
            return server

        yield run
