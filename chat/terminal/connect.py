"""Connects to the running server, or starts one for as long as the terminal is open."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from chat.actions.api_tokens import create_token, revoke_token
from chat.errors import Refused
from chat.management.engine_lock import EngineTaken, lock_engine
from chat.models import ApiToken, Scope, User
from memoryapp.base.encryption import dump_process_keys
from memoryapp.base.env import ROOT, engine_lock_path
from memoryapp.base.locking import hold_lock, read_lock_holder
from memoryapp.base.passphrase import hand_over, is_encrypted

_NAME = "Terminal, process "
_SCOPES = (Scope.CHAT, Scope.READ_CHATS, Scope.READ_MEMORY, Scope.WRITE_MEMORY)
_STARTING_SECONDS = 120.0
_ENDING_SECONDS = 20.0


@contextmanager
def connect_or_start(model: str) -> Iterator[str]:
    """Yield the address of a server that uses this machine's data. A server that was started here ends with
    the block.

    Raises CommandError where no server can be reached or started.
    """
    if (address := _find_running()) is not None:
        if model:
            raise CommandError(
                _("memoryapp is running at %s with the model that it was started with. Leave --model out.")
                % address
            )
        yield address
        return
    with hold_lock(Path(settings.DATA_DIR) / "migrate.lock"):
        call_command("migrate", interactive=False, verbosity=0)
    # The content that an earlier server left in the lock file.
    old = _read_lock_file()
    # A file and not a pipe: nothing reads it while the server runs, and a full pipe would block the server.
    with tempfile.TemporaryFile("w+") as errors:
        process = _start_server(model, errors)
        try:
            yield _await_server(process, old, errors)
        finally:
            _stop_server(process)


def _stop_server(process: subprocess.Popen[str]) -> None:
    """Stop the server; it saves unfinished replies and returns its jobs to the queue."""
    process.terminate()
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def _find_running() -> str | None:
    try:
        lock_engine(settings.DATA_DIR, "chat").close()
    except EngineTaken as taken:
        if taken.is_server:
            return taken.holder.rstrip("/")
        raise
    return None


def build_headers() -> dict[str, str]:
    """Return the HTTP headers for a server in server mode.

    Its ALLOWED_HOSTS do not contain 127.0.0.1, and it may expect a proxy that terminates TLS. With
    TRUSTED_PROXIES the server accepts X-Forwarded-Proto only if 127.0.0.1 is one of them.
    """
    if settings.MODE == "local":
        return {}
    names = [name for name in settings.ALLOWED_HOSTS if not name.startswith((".", "*"))]
    proxied = settings.TRUSTED_PROXIES or getattr(settings, "SECURE_PROXY_SSL_HEADER", None)
    return ({"Host": names[0]} if names else {}) | ({"X-Forwarded-Proto": "https"} if proxied else {})


def find_server() -> str:
    """Return the address of the running server, "" where none runs.

    A restarted server may have another port.
    """
    try:
        said = read_lock_holder(engine_lock_path())
    except OSError:
        return ""
    return said.rstrip("/") if said.startswith("http") else ""


def _accepts_connections(address: str) -> bool:
    """Return whether a server accepts connections at the address.

    It writes the address into its lock before it listens.
    """
    there = urlsplit(address)
    try:
        socket.create_connection((there.hostname, there.port), timeout=1).close()
    except OSError:
        return False
    return True


def _start_server(model: str, errors: IO[str]) -> subprocess.Popen[str]:
    command = [sys.executable, str(ROOT / "manage.py"), "serve", "--no-browser", "--port", "0", "--until-eof"]
    environment = dict(os.environ) | ({"MODEL": model} if model else {})
    environment.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
    # The server is used by this terminal over loopback, without TLS.
    environment["SSL_REDIRECT"] = "false"
    with _hand_over_keys() as (descriptors, variables):
        return _run(command, environment | variables, descriptors, errors)


@contextmanager
def _hand_over_keys() -> Iterator[tuple[list[int], dict[str, str]]]:
    """Yield what the server needs to open encrypted data without asking again."""
    if not is_encrypted(Path(settings.DATA_DIR)):
        yield [], {}
        return
    with hand_over(dump_process_keys()) as (descriptor, variables):
        yield [descriptor], variables


def _run(
    command: list[str], environment: dict[str, str], descriptors: list[int], errors: IO[str]
) -> subprocess.Popen[str]:
    # A new session: Ctrl-C in the terminal stops the reply and not the server.
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        pass_fds=descriptors,
        # Nothing is written to it. Its end, also when this process is killed, stops the server (--until-eof).
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        text=True,
        start_new_session=True,
    )


def _read_lock_file() -> str:
    """Return the content of the engine's lock file without taking the lock, which a starting server may need
    at this moment.
    """
    try:
        return engine_lock_path().read_text().strip()
    except OSError:
        return ""


def _await_server(process: subprocess.Popen[str], old: str, errors: IO[str]) -> str:
    deadline = time.monotonic() + _STARTING_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            if there := find_server():
                # Another terminal started a server first; use that one.
                return there
            errors.seek(0)
            said = errors.read().strip().splitlines()
            raise CommandError(said[-1] if said else _("The server ended at once."))
        signed = _read_lock_file()
        if signed.startswith("http") and signed != old and _accepts_connections(signed):
            return signed.rstrip("/")
        time.sleep(0.1)
    raise CommandError(_("The server did not start in time."))


@contextmanager
def issue_token(owner: User) -> Iterator[str]:
    """Yield a token for this terminal, which is revoked at the end.

    Tokens of terminals that have died are revoked too.
    """
    _revoke_stale_tokens(owner)
    name = f"{_NAME}{os.getpid()}"
    try:
        secret = create_token(owner, name, _SCOPES)
    except Refused as reason:
        raise CommandError(str(reason)) from reason
    try:
        yield secret
    finally:
        for mine in ApiToken.objects.for_owner(owner).unrevoked().filter(name=name):
            revoke_token(mine)


def _revoke_stale_tokens(owner: User) -> None:
    for left in ApiToken.objects.for_owner(owner).unrevoked().filter(name__startswith=_NAME):
        number = left.name.removeprefix(_NAME)
        if number.isdigit() and (int(number) == os.getpid() or not _is_alive(int(number))):
            revoke_token(left)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # A process of another user: it exists.
        return True
    return True
