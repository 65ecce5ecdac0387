"""A model server in a process of its own, for load: `python -m tests.benchmarks.scripted_model --port PORT`.

It answers like vLLM and streams every reply at a known speed, however many there are. It computes nothing, so
that it leaves the processor to what is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.page_client import ROOT, free_port

TOKENS_A_SECOND, TOKENS = 20.0, 40
MODEL = "scripted"
_MODELS = {"data": [{"id": MODEL, "owned_by": "vllm", "max_model_len": 32_768}]}
_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def build_event(delta: dict[str, str], finish: str | None = None) -> bytes:
    """Return one event of a stream."""
    event = {"model": MODEL, "choices": [{"delta": delta, "finish_reason": finish}]}
    return f"data: {json.dumps(event)}\n\n".encode()


_EVENTS = [build_event({"content": f"word{number} "}) for number in range(TOKENS)]
_END = build_event({}, "stop") + b"data: [DONE]\n\n"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    with suppress(OSError, asyncio.IncompleteReadError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split(b" ", 2)[1].decode()
            length = next((int(line[15:]) for line in head.lower().split(b"\r\n")
                           if line.startswith(b"content-length:")), 0)  # fmt: skip
            body = json.loads(await reader.readexactly(length)) if length else {}
            if body.get("stream"):
                await write_reply(writer)
                break
            await write_json(writer, path, body)
    writer.close()


async def write_reply(writer: asyncio.StreamWriter) -> None:
    """Stream one reply; the time of each token counts from the beginning, so that no delay adds up."""
    writer.write(_STREAM)
    began = time.monotonic()
    for number, event in enumerate(_EVENTS, start=1):
        await asyncio.sleep(max(0.0, began + number / TOKENS_A_SECOND - time.monotonic()))
        writer.write(event)
        await writer.drain()
    writer.write(_END)
    await writer.drain()


async def write_json(writer: asyncio.StreamWriter, path: str, body: dict[str, Any]) -> None:
    """Answer what a probe or background work asks."""
    message = {"role": "assistant", "content": "none"}
    chat = {"model": MODEL, "choices": [{"message": message, "finish_reason": "stop"}]}
    answers = {"/v1/models": _MODELS, "/version": {"version": "0.11.0"}, "/v1/chat/completions": chat}
    status, found = (200, answers[path]) if path in answers else (404, {"error": "no such path"})
    data = json.dumps(found).encode()
    writer.write(f"HTTP/1.1 {status} x\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    await writer.drain()


@contextmanager
def run_scripted_model() -> Iterator[tuple[str, int]]:
    """Run the server until the block ends; yields its URL and the id of its process."""
    port = free_port()
    command = [sys.executable, "-m", "tests.benchmarks.scripted_model", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait(10)


async def _serve(port: int) -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=1024)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(parser.parse_args().port))
