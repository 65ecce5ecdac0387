"""A client that posts forms and reads the WebSocket of a running server as a page does."""

from __future__ import annotations

import http.cookiejar
import json
import re
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from websockets.sync.client import connect
from websockets.typing import Origin

ROOT = Path(__file__).resolve().parents[1]
_PATIENCE = 300.0  # seconds to wait for an answer


@dataclass(frozen=True, slots=True)
class MeasuredReply:
    """One measured reply; `first` and `last` are seconds since just before the message was posted."""

    conversation: str
    id: str
    first: float
    last: float  # the last text arrived
    html: str


class PageClient:
    """A page with its cookies and its CSRF token; `base` is the server's URL."""

    def __init__(self, base: str) -> None:
        self.base = base
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._open = urllib.request.build_opener(jar).open
        found = re.search(r'X-CSRFToken": "([^"]+)', self.get("/"))
        if found is None:
            raise RuntimeError("the page has no CSRF token")
        self._token = found[1]

    def get(self, path: str) -> str:
        """Return the HTML of a page."""
        with self._open(self.base + path, timeout=_PATIENCE) as answer:
            return str(answer.read().decode())

    def post(self, path: str, *, htmx: bool = False, **fields: str) -> tuple[str, str]:
        """Post a form, plainly or as htmx does; return the final URL and the HTML there."""
        data = urllib.parse.urlencode({**fields, "csrfmiddlewaretoken": self._token}).encode()
        headers = {"Origin": self.base} | ({"HX-Request": "true"} if htmx else {})
        request = urllib.request.Request(self.base + path, data, headers)
        with self._open(request, timeout=_PATIENCE) as answer:
            return str(answer.geturl()), str(answer.read().decode())

    def socket(self, conversation: str) -> Any:
        """Open the WebSocket of a conversation's page."""
        address = f"{self.base.replace('http', 'ws')}/ws/?conversation={conversation}"
        return connect(address, origin=Origin(self.base), max_size=None)

    def say(self, text: str, conversation: str, *, stop_after: float | None = None) -> MeasuredReply:
        """Send a message with the socket open, as a page does, and wait for the end of the reply.

        Stops the reply `stop_after` seconds after its first text.
        """
        with self.socket(conversation) as ws:
            began = time.perf_counter()
            _, html = self.post("/send/", htmx=True, text=text, conversation=conversation)
            reply = re.findall(r'data-id="([^"]+)"', html)[-1]
            first = last = None
            while True:
                frame = json.loads(ws.recv(timeout=_PATIENCE))
                now = time.perf_counter() - began
                if frame["type"] in ("blocks", "snapshot") and _has_text(frame):
                    first, last = first or now, now
                if stop_after is not None and first is not None and now - first > stop_after:
                    ws.send(json.dumps({"type": "stop", "reply": reply}))
                    stop_after = None
                if frame["type"] == "done" and frame["reply"] == reply:
                    return MeasuredReply(
                        conversation, reply, first or now, last or now, self.get(f"/m/{reply}/")
                    )

    def begin(self, text: str) -> str:
        """Begin a conversation, wait for the end of its first reply, and return the conversation's id."""
        url, html = self.post("/send/", text=text)
        conversation = url.rstrip("/").rsplit("/", 1)[-1]
        reply = re.findall(r'data-id="([^"]+)"', html)[-1]
        with self.socket(conversation) as ws:
            ws.send(json.dumps({"type": "hello", "reply": reply, "seq": 0}))
            while json.loads(ws.recv(timeout=_PATIENCE)).get("type") != "done":
                pass
        return conversation


def _has_text(frame: dict[str, Any]) -> bool:
    return any(frame.get("html") or frame.get("blocks") or [])


def free_port() -> int:
    """Return a free loopback port; another process may take it before it is used."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_server_process(
    environment: dict[str, str], *arguments: str, port: int | None = None, descriptors: Sequence[int] = ()
) -> tuple[subprocess.Popen[bytes], str]:
    """Start a server process: Python with the given arguments and a port, by default a free one.

    The process inherits the `descriptors`. Returns the process and its URL once it responds. Raises
    RuntimeError after 60 s, or when the process ends before it responds, as it does where another process
    took the free port.
    """
    port = port or free_port()
    command = [sys.executable, *arguments, str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, pass_fds=descriptors)
    base = f"http://127.0.0.1:{port}"
    for _ in range(240):
        try:
            urllib.request.urlopen(base, timeout=1).close()
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.25)
        else:
            return process, base
    process.kill()
    raise RuntimeError("the server did not answer")
