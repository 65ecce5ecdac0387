"""Finds the server that has this machine's engine, or starts one for as long as the terminal is open."""

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
from typing import IO, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from chat.actions.messages import Refused
from chat.actions.tokens import create_token, revoke_token
from chat.management.engine_lock import EngineTaken, lock_engine
from chat.models import ApiToken
from memoryapp.env import ROOT, engine_lock_path
from memoryapp.locking import holder, locked

_NAME = "Terminal, process "
_STARTING_SECONDS = 120.0
_ENDING_SECONDS = 20.0


@contextmanager
def server(model: str) -> Iterator[str]:
    """Give the address of a server on this machine's data; one that was started here ends with the block.

    Raises CommandError with a sentence where there can be none.
    """
    if (address := _running()) is not None:
        if model:
            raise CommandError(
                _("memoryapp is running at %s with the model that it was started with. Leave --model out.")
                % address
            )
        yield address
        return
    with locked(Path(settings.DATA_DIR) / "migrate.lock"):
        call_command("migrate", interactive=False, verbosity=0)
    # What another server left there, which is none of ours.
    old = _signature()
    # A file and no pipe: nobody reads it while the server runs, and a full pipe would hold the server up.
    with tempfile.TemporaryFile("w+") as errors:
        process = _started(model, errors)
        try:
            yield _awaited(process, old, errors)
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """End the server: it saves what it is writing and puts its work back."""
    process.terminate()
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def _running() -> str | None:
    try:
        lock_engine(settings.DATA_DIR, "chat").close()
    except EngineTaken as taken:
        if taken.is_server:
            return taken.holder.rstrip("/")
        raise
    return None


def headers() -> dict[str, str]:
    """Return with which headers a server lets this machine in that people reach by its name.

    It knows no 127.0.0.1, and expects that a proxy before it has spoken TLS.
    """
    if settings.MODE == "local":
        return {}
    names = [name for name in settings.ALLOWED_HOSTS if not name.startswith((".", "*"))]
    proxied = getattr(settings, "SECURE_PROXY_SSL_HEADER", None)
    return ({"Host": names[0]} if names else {}) | ({"X-Forwarded-Proto": "https"} if proxied else {})


def found() -> str:
    """Return where the server is now, "" where none runs: one that is started again is at another place."""
    try:
        said = holder(engine_lock_path())
    except OSError:
        return ""
    return said.rstrip("/") if said.startswith("http") else ""


def _listens(address: str) -> bool:
    """Return whether a server answers there: it says where it will listen before it does."""
    there = urlsplit(address)
    try:
        socket.create_connection((there.hostname, there.port), timeout=1).close()
    except OSError:
        return False
    return True


def _started(model: str, errors: IO[str]) -> subprocess.Popen[str]:
    command = [sys.executable, str(ROOT / "manage.py"), "serve", "--no-browser", "--port", "0", "--until-eof"]
    environment = dict(os.environ) | ({"MODEL": model} if model else {})
    environment.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
    # It is for this terminal alone, on this machine's own address: nobody speaks TLS with it.
    environment["SSL_REDIRECT"] = "false"
    # A session of its own: Ctrl-C here stops a reply and not the server.
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        # Nothing is written there: its end, also when this process is killed, ends the server.
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        text=True,
        start_new_session=True,
    )


def _signature() -> str:
    """Return who signed the engine's lock last, without touching the lock: a server may want it just now."""
    try:
        return engine_lock_path().read_text().strip()
    except OSError:
        return ""


def _awaited(process: subprocess.Popen[str], old: str, errors: IO[str]) -> str:
    deadline = time.monotonic() + _STARTING_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            if there := found():
                # Another terminal's server was quicker; that one is for both.
                return there
            errors.seek(0)
            said = errors.read().strip().splitlines()
            raise CommandError(said[-1] if said else _("The server ended at once."))
        signed = _signature()
        if signed.startswith("http") and signed != old and _listens(signed):
            return signed.rstrip("/")
        time.sleep(0.1)
    raise CommandError(_("The server did not start in time."))


@contextmanager
def token(owner: Any) -> Iterator[str]:
    """Give a token for this terminal alone, which is revoked at its end; those of dead terminals are too."""
    _revoke_what_was_left(owner)
    name = f"{_NAME}{os.getpid()}"
    try:
        secret = create_token(owner, name)
    except Refused as reason:
        raise CommandError(str(reason)) from reason
    try:
        yield secret
    finally:
        for mine in ApiToken.objects.for_owner(owner).standing().filter(name=name):
            revoke_token(mine)


def _revoke_what_was_left(owner: Any) -> None:
    for left in ApiToken.objects.for_owner(owner).standing().filter(name__startswith=_NAME):
        number = left.name.removeprefix(_NAME)
        if number.isdigit() and (int(number) == os.getpid() or not _lives(int(number))):
            revoke_token(left)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # It is somebody else's, so it lives.
        return True
    return True
