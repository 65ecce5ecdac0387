"""An HTTP server with scripted responses, in place of model servers that tests cannot run."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from chat.llm.types import Turn

MODELS = {"data": [{"id": "m"}]}
STORY_TURNS = [Turn("system", "You tell stories."), Turn("user", "Tell a long story of a fox.")]

Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]


@dataclass
class FakeServer:
    """Responses by path, each a value or a function of the request's body; records all requests."""

    paths: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any], dict[str, str]]] = field(default_factory=list)
    gone: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def bodies(self, path: str) -> list[dict[str, Any]]:
        """Return the bodies of all requests to a path."""
        return [body for where, body, _headers in self.asked if where == path]


def chat_endpoint(
    reply: str | Callable[[dict[str, Any]], str], **message: Any
) -> Callable[[dict[str, Any]], Any]:
    """Return a chat endpoint that replies with this text, as a stream if the request asks for one."""

    def answer(body: dict[str, Any]) -> Any:
        text = reply(body) if callable(reply) else reply
        if not body.get("stream"):
            choice = {"message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}
            return {"model": "m", "choices": [choice]}
        words = [{"content": word} for word in text.replace(" ", " \0").split("\0")]
        deltas = [{"role": "assistant", **message}, *words]
        chunks = [{"model": "m", "choices": [{"delta": delta, "finish_reason": None}]} for delta in deltas]
        return iter([*chunks, {"model": "m", "choices": [{"delta": {}, "finish_reason": "stop"}]}])

    return answer


@contextmanager
def run_fake_server(
    *, tls: ssl.SSLContext | None = None, port: int = 0, **paths: Any
) -> Iterator[FakeServer]:
    """Serve these responses until the block ends; two underscores in a name stand for a slash.

    Without a `port` the system chooses one.
    """
    told = FakeServer({f"/{name.replace('__', '/')}": answer for name, answer in paths.items()})

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))

        def _answer(self, body: dict[str, Any]) -> None:
            told.asked.append((self.path, body, dict(self.headers)))
            found = told.paths.get(self.path, (404, {"error": "no such path"}))
            found = found(body) if callable(found) else found
            status, content, *more = found if isinstance(found, tuple) else (200, found)
            self.send_response(status)
            self.send_header("connection", "close")
            for name, value in (more[0] if more else {}).items():
                self.send_header(name, value)
            if hasattr(content, "__next__"):
                self._stream(content)
                return
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, events: Iterator[Any]) -> None:
            """Send texts and JSON values as the data of events, and bytes as they are."""
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            try:
                for event in events:
                    if event is None:
                        # The connection breaks: no [DONE] and no last chunk.
                        return
                    if not isinstance(event, bytes):
                        data = event if isinstance(event, str) else json.dumps(event)
                        event = f"data: {data}\n\n".encode()
                    self.wfile.write(event)
                    self.wfile.flush()
                self.wfile.write(b"data: [DONE]\n\n")
            except OSError:
                told.gone.set()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    told.url = f"http://127.0.0.1:{server.server_address[1]}"
    # It looks this often whether it should end; the default of half a second adds up in hundreds of tests.
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield told
    server.shutdown()
    server.server_close()
    thread.join(5)


def only_when_streamed(endpoint: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    """Return an endpoint that uses `endpoint` only for streams; probing a server never streams."""
    return lambda body: endpoint(body) if body.get("stream") else chat_endpoint("Hello.")(body)


def stream_pieces(*texts: str, then: Iterable[Any] = ()) -> Iterator[Any]:
    """Yield the chunks of a streamed reply, and then the values of `then`."""
    yield from ({"model": "m", "choices": [{"delta": {"content": text}}]} for text in texts)
    yield from then
