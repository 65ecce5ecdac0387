"""Runs a Redis server for tests in a temporary folder, on a free port of loopback."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redis import Redis, RedisError

from tests.page_client import free_port

_PATIENCE_SECONDS = 15.0


class RedisUnavailable(Exception):
    """No server can be started on this machine; the message is the reason."""


class RedisServer:
    """A server that keeps nothing on the disk: a restart loses everything.

    `certificate` is a file with its certificate and key, and with the authority; then it speaks TLS only.
    """

    def __init__(self, folder: Path, certificate: Path | None = None) -> None:
        found = shutil.which("redis-server")
        if found is None:
            raise RedisUnavailable("redis-server is not installed")
        self._program, self._folder, self.port = found, folder, free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._ports = ["--port", str(self.port)]
        if certificate is not None:
            self.url = f"rediss://127.0.0.1:{self.port}/0?ssl_ca_certs={certificate}"
            self._ports = ["--port", "0", "--tls-port", str(self.port), "--tls-auth-clients", "no"]
            self._ports += ["--tls-cert-file", str(certificate), "--tls-key-file", str(certificate)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server and wait until it answers."""
        command = [self._program, *self._ports, "--bind", "127.0.0.1", "--save", ""]
        command += ["--appendonly", "no", "--dir", str(self._folder), "--daemonize", "no"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self._is_answering():
            if time.monotonic() > deadline:
                raise RuntimeError("Redis does not answer")
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill the server, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def signal(self, number: int) -> None:
        """Send the server a signal."""
        if self._process is not None:
            self._process.send_signal(number)

    def connect(self) -> Redis:
        """Return a client."""
        return Redis.from_url(self.url, decode_responses=True)

    def find_text(self, text: str) -> list[str]:
        """Return the keys whose contents have a text."""
        with self.connect() as client:
            return [key for key in client.scan_iter() if text in str(read_key(client, key))]

    def _is_answering(self) -> bool:
        try:
            with self.connect() as client:
                return bool(client.ping())
        except (RedisError, OSError):
            return False


def read_key(client: Redis, key: str) -> object:
    """Return the contents of a key."""
    kind = client.type(key)
    if kind == "hash":
        return client.hgetall(key)
    return client.xrange(key) if kind == "stream" else client.get(key)


@contextmanager
def run_redis(certificate: Path | None = None) -> Iterator[RedisServer]:
    """Start a server and yield it; remove it at the end. Raises RedisUnavailable."""
    folder = Path(tempfile.mkdtemp(prefix="memoryapp-redis-"))
    try:
        server = RedisServer(folder, certificate)
        server.start()
        try:
            yield server
        finally:
            server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
